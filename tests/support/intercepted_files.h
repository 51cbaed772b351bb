// The real file system with a hook before every call, for tests that fail, kill, delay or count calls.
#ifndef QUERN_TESTS_SUPPORT_INTERCEPTED_FILES_H_
#define QUERN_TESTS_SUPPORT_INTERCEPTED_FILES_H_

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace quern::test {

// The next call: "open", "write", …; `path` is empty for calls on an open file.
struct FileCall {
  const char* name;
  const std::string& path;
};

class InterceptedFiles : public ForwardingFileSystem {
 public:
  // 0: continue. Otherwise the call is not made and returns this value, except a write, of which half is done first
  // (-EINTR means that nothing was written).
  using Hook = std::function<long(const FileCall&)>;
  explicit InterceptedFiles(Hook hook = {}, FileSystem& to = real_file_system())
      : ForwardingFileSystem(to), hook_(std::move(hook)) {}
  void set_hook(Hook hook) { hook_ = std::move(hook); }

  long open(const std::string& path, int flags, std::uint32_t mode) override {
    const long stop = ask("open", path);
    return stop != 0 ? stop : Base::open(path, flags, mode);
  }
  // The file is closed even if the hook fails the call; otherwise it would leak.
  long close(int file) override {
    const long stop = ask("close");
    const long result = Base::close(file);
    return stop != 0 ? stop : result;
  }
  long read(int file, void* to, std::size_t bytes) override {
    const long stop = ask("read");
    return stop != 0 ? stop : Base::read(file, to, bytes);
  }
  long read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) override {
    const long stop = ask("read_at");
    return stop != 0 ? stop : Base::read_at(file, to, bytes, offset);
  }
  long write(int file, const void* from, std::size_t bytes) override {
    const long stop = ask("write");
    if (stop != 0 && stop != -EINTR) Base::write(file, from, bytes / 2);
    return stop != 0 ? stop : Base::write(file, from, bytes);
  }
  long write_at(int file, const void* from, std::size_t bytes, std::uint64_t offset) override {
    const long stop = ask("write_at");
    if (stop != 0 && stop != -EINTR) Base::write_at(file, from, bytes / 2, offset);
    return stop != 0 ? stop : Base::write_at(file, from, bytes, offset);
  }
  long truncate(int file, std::uint64_t bytes) override {
    const long stop = ask("truncate");
    return stop != 0 ? stop : Base::truncate(file, bytes);
  }
  long sync(int file) override {
    const long stop = ask("sync");
    return stop != 0 ? stop : Base::sync(file);
  }
  long sync_all(const std::string& directory) override {
    const long stop = ask("sync_all", directory);
    return stop != 0 ? stop : Base::sync_all(directory);
  }
  long try_lock(int file) override {
    const long stop = ask("try_lock");
    return stop != 0 ? stop : Base::try_lock(file);
  }
  long unlock(int file) override {
    const long stop = ask("unlock");
    return stop != 0 ? stop : Base::unlock(file);
  }
  long status(int file, FileStatus* out) override {
    const long stop = ask("fstatus");
    return stop != 0 ? stop : Base::status(file, out);
  }
  long status(const std::string& path, FileStatus* out) override {
    const long stop = ask("status", path);
    return stop != 0 ? stop : Base::status(path, out);
  }
  long set_modified(int file, std::int64_t unix_ns) override {
    const long stop = ask("fset_modified");
    return stop != 0 ? stop : Base::set_modified(file, unix_ns);
  }
  long set_modified(const std::string& path, std::int64_t unix_ns) override {
    const long stop = ask("set_modified", path);
    return stop != 0 ? stop : Base::set_modified(path, unix_ns);
  }
  long rename(const std::string& from, const std::string& to) override {
    const long stop = ask("rename", from);
    return stop != 0 ? stop : Base::rename(from, to);
  }
  long remove(const std::string& path) override {
    const long stop = ask("remove", path);
    return stop != 0 ? stop : Base::remove(path);
  }
  long make_directory(const std::string& path, std::uint32_t mode) override {
    const long stop = ask("make_directory", path);
    return stop != 0 ? stop : Base::make_directory(path, mode);
  }
  long remove_directory(const std::string& path) override {
    const long stop = ask("remove_directory", path);
    return stop != 0 ? stop : Base::remove_directory(path);
  }
  long list(const std::string& path, std::vector<std::string>* names) override {
    const long stop = ask("list", path);
    return stop != 0 ? stop : Base::list(path, names);
  }
  long can_write(const std::string& path) override {
    const long stop = ask("can_write", path);
    return stop != 0 ? stop : Base::can_write(path);
  }
  long resolve(const std::string& path, std::string* canonical) override {
    const long stop = ask("resolve", path);
    return stop != 0 ? stop : Base::resolve(path, canonical);
  }

 private:
  using Base = ForwardingFileSystem;
  long ask(const char* name, const std::string& path = {}) { return hook_ ? hook_({name, path}) : 0; }
  Hook hook_;
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_INTERCEPTED_FILES_H_
