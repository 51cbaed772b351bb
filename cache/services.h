// What every part of a store shares: the file layer, the log, the counters.
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

// Counts the calls that failed, but for answers that are to be expected: not there, there already, somebody else's
// turn. What is asked for by name is asked for again where a file server's answer passes.
class CountedFiles final : public ForwardingFileSystem {
 public:
  CountedFiles(FileSystem& to, std::atomic<std::uint64_t>& failures) : ForwardingFileSystem(to), failures_(failures) {}

  using ForwardingFileSystem::set_modified;
  using ForwardingFileSystem::status;
  // What is only read is taken up again as a whole; see read_whole.
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

  // A file operation failed and is passed over. The first is worth a warning (a full disk, say), the others would be
  // noise.
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
