// The compiler for the target `host`: the system's C++ compiler, which builds a shared object for the host driver.
#ifndef QUERN_COMPILER_HOST_COMPILER_H_
#define QUERN_COMPILER_HOST_COMPILER_H_

#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/fork_barrier.h"
#include "compiler/compilation.h"
#include "quern/family.h"

namespace quern {

// A possible compiler, in search order.
struct HostCandidate {
  std::string path;
  std::string why;      // the search step that named it
  std::string verdict;  // "found", "no such file", …
  bool found = false;
};

// Thread-safe; several threads can compile concurrently. Every function may throw Error (io) on a transient failure to
// run the compiler; such a failure is not cached, and the next call tries again.
class HostCompiler {
 public:
  HostCompiler(std::string explicit_path, Environment environment);

  // The option or QUERN_CXX, else c++, g++ and clang++ in the folders of PATH.
  std::vector<HostCandidate> candidates() { return found()->candidates; }
  // "" if there is none.
  std::string path() { return found()->path; }
  // "g++ (Debian 12.2.0) 12.2.0", the first line of --version.
  std::string version() { return found()->version; }
  // The version and the file's identity; "" if there is none.
  std::string identity() { return found()->identity; }

  static std::vector<std::string> options(const Target& target, bool lineinfo);
  static std::vector<std::string> prelude();

  // Throws Error (no_compiler) that lists each place tried.
  void require();
  // Writes the unit into a temporary folder under TMPDIR and removes it. Throws Error.
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
