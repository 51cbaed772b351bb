// One directory as two machines see it through a file server: with delays, and with separate locks.
#ifndef QUERN_TESTS_STORE_TWO_VIEWS_H_
#define QUERN_TESTS_STORE_TWO_VIEWS_H_

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/support.h"

namespace quern::cache {

// The state shared by both views. A name that one view creates stays hidden from the other for a time: it is not found,
// and is missing in lists. It appears early if that view tries to create it itself, because the server then reports
// that it exists. A name that one view removes stays visible in the other, where using it gives ESTALE. A file that one
// view replaces gives ESTALE once in the other.
class SharedDirectory {
 public:
  explicit SharedDirectory(std::chrono::milliseconds delay) : delay_(delay) {}

 private:
  friend class View;
  using Clock = std::chrono::steady_clock;
  struct Name {
    Clock::time_point hidden_until[2]{}, stale_until[2]{};
    bool stale_once[2]{};
  };
  bool hidden(const std::string& path, int view) const;
  long look_up(const std::string& path, int view);
  void made(const std::string& path, int view, bool was_there);
  void removed(const std::string& path, int view);

  const std::chrono::milliseconds delay_;
  std::recursive_mutex mutex_;
  std::map<std::string, Name> names_;
};

class View : public ForwardingFileSystem {
 public:
  // `scratch` is the path of a file that no other view uses: the name of its machine.
  View(SharedDirectory& shared, int number, const std::string& scratch);
  long open(const std::string& path, int flags, std::uint32_t mode) override;
  long close(int file) override;
  long try_lock(int file) override;
  long unlock(int file) override;
  using ForwardingFileSystem::set_modified;
  using ForwardingFileSystem::status;
  long status(const std::string& path, FileStatus* status) override;
  long set_modified(const std::string& path, std::int64_t unix_ns) override;
  long rename(const std::string& from, const std::string& to) override;
  long remove(const std::string& path) override;
  long make_directory(const std::string& path, std::uint32_t mode) override;
  long remove_directory(const std::string& path) override;
  long list(const std::string& path, std::vector<std::string>* names) override;

 private:
  using Base = ForwardingFileSystem;
  using Inode = std::pair<std::uint64_t, std::uint64_t>;
  long looked_up(const std::string& path) { return shared_.look_up(path, number_); }

  SharedDirectory& shared_;
  const int number_;
  const std::string boot_id_;
  std::map<Inode, int> locked_;  // by the open file of this view that holds it
};

}  // namespace quern::cache

#endif  // QUERN_TESTS_STORE_TWO_VIEWS_H_
