// The work list of `quern prewarm`: a typed problem or a manifest's lines, each for one architecture.
#ifndef QUERN_TOOLS_COMMANDS_PREWARM_ITEMS_H_
#define QUERN_TOOLS_COMMANDS_PREWARM_ITEMS_H_

#include <string>
#include <vector>

#include "io/manifest.h"
#include "quern/runtime.h"

namespace quern::tool {

// As typed.
struct PrewarmRequest {
  std::vector<std::string> words;  // a problem
  std::string manifest;            // a file of problems instead; "-": stdin
  std::string arch;                // "sm_90a,sm_100a"
  std::string device_model;
  std::string config;
  bool keep_going = false;
};

// One problem for one architecture.
struct PrewarmItem {
  AnyProblem problem;
  std::string arch;
  std::string device_model;
  std::string config;
};

struct PrewarmItems {
  std::vector<PrewarmItem> items;
  std::vector<BadLine> bad;  // of the manifest, by number: of unknown families, and all others with `keep_going`
};

// Each item once. Everything is checked before anything is compiled. Throws Error (bad_input), for a manifest with all
// bad lines.
PrewarmItems prewarm_items(Runtime& runtime, const PrewarmRequest& request);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_PREWARM_ITEMS_H_
