// A saved tuning space: every legal config with its measured time, so that a search can be replayed without a device.
#ifndef QUERN_TUNER_SPACE_SAVED_SPACE_H_
#define QUERN_TUNER_SPACE_SAVED_SPACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tuner/space/space.h"

namespace quern {

struct SavedSpace {
  Space space;
  std::vector<double> us;  // time of each point in microseconds; infinity if it failed
  std::vector<int> first;  // points that a search measures first: the default config, if the file has it
  int failed = 0;
  int best = 0;  // the fastest point
};

// Reads Kernel Tuner's cache files (version 1: tune_params_keys, tune_params, cache) and quern's own sweep files (JSON
// lines) that have every legal point. A cache file may lack its closing braces, as while it is being written. `text` is
// the file, `name` is its name in errors. Throws Error (bad_input) with file and place for a damaged or truncated file,
// an incomplete sweep, a config outside the space, and where no config succeeded.
SavedSpace read_saved_space(std::string_view name, std::string_view text);

}  // namespace quern

#endif  // QUERN_TUNER_SPACE_SAVED_SPACE_H_
