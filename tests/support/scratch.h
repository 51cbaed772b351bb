// A temporary folder of one test, removed at the end.
#ifndef QUERN_TESTS_SUPPORT_SCRATCH_H_
#define QUERN_TESTS_SUPPORT_SCRATCH_H_

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace quern::test {

class Scratch {
 public:
  Scratch() : path_((std::filesystem::temp_directory_path() / "quern-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no scratch directory");
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_SCRATCH_H_
