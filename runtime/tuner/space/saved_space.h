// A saved tuning space: every legal config with its measured time, for searches that cost nothing.
#ifndef QUERN_TUNER_SPACE_SAVED_SPACE_H_
#define QUERN_TUNER_SPACE_SAVED_SPACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tuner/space/space.h"

namespace quern {

struct SavedSpace {
  Space space;
  std::vector<double> us;  // a point's time in microseconds; infinity: it failed
  std::vector<int> first;  // what a search measures first: the default config, where the file names it
  int failed = 0;
  int best = 0;  // the fastest point
};

// Reads Kernel Tuner's cache files (version 1: tune_params_keys, tune_params, cache), which may lack the closing
// braces at their end, as they do while they grow, and quern's own sweep files (JSON lines) if every legal point is in
// them. `text` is the file, `name` is what errors call it. Throws Error (bad_input) that names file and place for a
// damaged or truncated file, an incomplete sweep, a config outside the space, and where no config succeeded.
SavedSpace read_saved_space(std::string_view name, std::string_view text);

}  // namespace quern

#endif  // QUERN_TUNER_SPACE_SAVED_SPACE_H_
