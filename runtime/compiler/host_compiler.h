// The compiler for the target `host`: the system's C++ compiler, which makes a shared object that the host driver
// loads.
#ifndef QUERN_COMPILER_HOST_COMPILER_H_
#define QUERN_COMPILER_HOST_COMPILER_H_

#include <mutex>
#include <string>
#include <vector>

#include "base/environment.h"
#include "compiler/image.h"
#include "compiler/source.h"
#include "quern/family.h"

namespace quern {

// A compiler that may be there, in the order of the search.
struct HostCandidate {
  std::string path;
  std::string why;      // which step of the search named it
  std::string verdict;  // "found", "no such file", …
  bool found = false;
};

// Thread-safe; compiles of several threads run side by side.
class HostCompiler {
 public:
  HostCompiler(std::string explicit_path, Environment environment);

  // The option or QUERN_CXX, else c++, g++ and clang++ in the folders of PATH.
  const std::vector<HostCandidate>& candidates();
  // "" where there is none.
  const std::string& path();
  // "g++ (Debian 12.2.0) 12.2.0", as it says itself.
  const std::string& version();
  // The version and which file it is; "" where there is none.
  const std::string& identity();

  static std::vector<std::string> options(const Target& target, bool lineinfo);
  static std::vector<std::string> prelude();

  // Throws Error (no_compiler) that lists each place tried.
  void require();
  // Writes the unit into a folder of its own under TMPDIR and removes it. Throws Error.
  Image compile(const Unit& unit, const std::string& kernel, const Target& target, bool lineinfo);

 private:
  void search();
  const std::string explicit_path_;
  const Environment environment_;
  std::once_flag searched_;
  std::vector<HostCandidate> candidates_;
  std::string path_;
  std::string version_;
  std::string identity_;
};

}  // namespace quern

#endif  // QUERN_COMPILER_HOST_COMPILER_H_
