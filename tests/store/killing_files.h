// A file system that kills its process: before a chosen call, or in the middle of a write.
#ifndef QUERN_TESTS_STORE_KILLING_FILES_H_
#define QUERN_TESTS_STORE_KILLING_FILES_H_

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <string_view>

#include "support/intercepted_files.h"

namespace quern::cache {

enum class Moment { before_a_call, in_a_write };

// Kills this process at the n-th call, from 0. A write is then half done.
class KillingFiles : public test::InterceptedFiles {
 public:
  // A killed process loses nothing in the page cache: no need to wait for the disk.
  KillingFiles(int at, Moment moment, FileSystem& unsynced)
      : InterceptedFiles([this](const test::FileCall& call) { return look(call); }, unsynced),
        at_(at),
        moment_(moment) {}

 private:
  // InterceptedFiles does half of a failing write; the next call is then never made.
  long look(const test::FileCall& call) {
    const bool write = std::string_view(call.name).starts_with("write");
    if (half_made_) ::raise(SIGKILL);
    if (moment_ == Moment::in_a_write && !write) return 0;
    if (calls_++ != at_) return 0;
    if (moment_ == Moment::before_a_call) ::raise(SIGKILL);
    half_made_ = true;
    return -EIO;
  }
  const int at_;
  const Moment moment_;
  std::atomic<int> calls_{0};
  std::atomic<bool> half_made_{false};
};

}  // namespace quern::cache

#endif  // QUERN_TESTS_STORE_KILLING_FILES_H_
