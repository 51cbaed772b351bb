// Shared by all parts of a store: the file system interface, the log, the counters.
#ifndef QUERN_CACHE_SERVICES_H_
#define QUERN_CACHE_SERVICES_H_

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "cache/counters.h"

namespace quern::cache {

// Counts failed calls, except for expected results: not found, already exists, locked by another process. Calls by name
// are retried after a transient error of a file server.
class CountedFiles final : public ForwardingFileSystem {
 public:
  CountedFiles(FileSystem& to, std::atomic<std::uint64_t>& failures) : ForwardingFileSystem(to), failures_(failures) {}

  using ForwardingFileSystem::set_modified;
  using ForwardingFileSystem::status;
  // A read is retried as a whole; see read_whole.
  long open(const std::string& path, int flags, std::uint32_t mode) override {
    if ((flags & O_CREAT) == 0) return Base::open(path, flags, mode);
    return patiently([&] { return Base::open(path, flags, mode); });
  }
  long status(const std::string& path, FileStatus* status) override {
    return patiently([&] { return Base::status(path, status); });
  }
  long set_modified(const std::string& path, std::int64_t unix_ns) override {
    return patiently([&] { return Base::set_modified(path, unix_ns); });
  }
  long rename(const std::string& from, const std::string& to) override {
    return patiently([&] { return Base::rename(from, to); });
  }
  long remove(const std::string& path) override {
    return patiently([&] { return Base::remove(path); });
  }
  long make_directory(const std::string& path, std::uint32_t mode) override {
    return patiently([&] { return Base::make_directory(path, mode); });
  }
  long remove_directory(const std::string& path) override {
    return patiently([&] { return Base::remove_directory(path); });
  }
  long list(const std::string& path, std::vector<std::string>* names) override {
    return patiently([&] {
      names->clear();
      return Base::list(path, names);
    });
  }
  long can_write(const std::string& path) override {
    return patiently([&] { return Base::can_write(path); });
  }
  long resolve(const std::string& path, std::string* canonical) override {
    return patiently([&] { return Base::resolve(path, canonical); });
  }

 private:
  using Base = ForwardingFileSystem;
  long seen(long result) override {
    if (result < 0 && !expected(static_cast<int>(-result))) ++failures_;
    return result;
  }
  static bool expected(int error) {
    return error == ENOENT || error == EEXIST || error == ENOTEMPTY || error == EWOULDBLOCK || error == ELOOP;
  }
  std::atomic<std::uint64_t>& failures_;
};

struct Services {
  Services(FileSystem& file_system, Log to) : log(std::move(to)), files(file_system, counters.failures) {}

  // Counts a failed file operation that is otherwise ignored. The first logs a warning (a full disk, say), the others
  // are not logged as warnings.
  void failed(const std::string& why) {
    log.write(warned_.exchange(true) ? LogLevel::debug : LogLevel::warning, cat("cache: ", why));
  }

  const Log log;
  AtomicCounters counters;
  CountedFiles files;

 private:
  std::atomic<bool> warned_{false};
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_SERVICES_H_
