// Uses up all file descriptors, as on a busy server.
#ifndef QUERN_TESTS_SUPPORT_NO_DESCRIPTORS_H_
#define QUERN_TESTS_SUPPORT_NO_DESCRIPTORS_H_

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

namespace quern::test {

class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit small = before_;
    small.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &small);
    for (int file; (file = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) files_.push_back(file);
  }
  ~NoDescriptors() {
    for (const int file : files_) close(file);
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> files_;
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_NO_DESCRIPTORS_H_
