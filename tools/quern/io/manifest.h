// Manifests: JSON lines of problems to prepare, as written by QUERN_MANIFEST.
#ifndef QUERN_TOOLS_IO_MANIFEST_H_
#define QUERN_TOOLS_IO_MANIFEST_H_

#include <string>
#include <string_view>
#include <vector>

namespace quern::tool {

// {"problem": "gather width=…", "arch" | "device_model": …, "config": …}
struct ManifestItem {
  int line = 0;  // from 1
  std::string problem;
  std::string arch;  // empty: that of the command line
  std::string device_model;
  std::string config;
};

struct BadLine {
  int line = 0;
  std::string reason;
};

struct Manifest {
  std::vector<ManifestItem> items;
  std::vector<BadLine> bad;
};

// Skips blank lines and lines that start with #. Returns each other line's item, or its error. The caller must check
// what the texts mean.
Manifest parse_manifest(std::string_view text);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_MANIFEST_H_
