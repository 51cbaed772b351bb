// Manifests: JSON lines of problems to prepare, as QUERN_MANIFEST writes them.
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
  std::string arch;  // empty: what the command line says
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

// Blank lines and lines that start with # are passed over. Says what each other line means, or what is wrong with it;
// what its texts mean is for the caller to check.
Manifest parse_manifest(std::string_view text);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_MANIFEST_H_
