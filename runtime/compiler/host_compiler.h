// The compiler for the target `host`: the system's C++ compiler, which makes a shared object that the host driver
// loads.
#ifndef QUERN_COMPILER_HOST_COMPILER_H_
#define QUERN_COMPILER_HOST_COMPILER_H_

#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/fork_barrier.h"
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

// Thread-safe; compiles of several threads run side by side. Every function may throw Error (io) where the compiler
// could not be asked for a reason that may pass; nothing is concluded from that, and the next call asks again.
class HostCompiler {
 public:
  HostCompiler(std::string explicit_path, Environment environment);

  // The option or QUERN_CXX, else c++, g++ and clang++ in the folders of PATH.
  std::vector<HostCandidate> candidates() { return found()->candidates; }
  // "" where there is none.
  std::string path() { return found()->path; }
  // "g++ (Debian 12.2.0) 12.2.0", as it says itself.
  std::string version() { return found()->version; }
  // The version and which file it is; "" where there is none.
  std::string identity() { return found()->identity; }

  static std::vector<std::string> options(const Target& target, bool lineinfo);
  static std::vector<std::string> prelude();

  // Throws Error (no_compiler) that lists each place tried.
  void require();
  // Writes the unit into a folder of its own under TMPDIR and removes it. Throws Error.
  Image compile(const Unit& unit, const std::string& kernel, const Target& target, bool lineinfo);

 private:
  struct Found {
    std::vector<HostCandidate> candidates;
    std::string path, version, identity;
    std::string file;  // its file's identity
  };
  Found look() const;
  std::shared_ptr<const Found> found();
  std::shared_ptr<const Found> found_unchanged();
  const std::string explicit_path_;
  const Environment environment_;
  ForkSafeMutex mutex_;
  std::shared_ptr<const Found> found_;
};

}  // namespace quern

#endif  // QUERN_COMPILER_HOST_COMPILER_H_
