// What the tests of the store share: a scratch directory, a log that is kept, entries, and a file system that fails.
#ifndef QUERN_TESTS_UNIT_CACHE_SUPPORT_H_
#define QUERN_TESTS_UNIT_CACHE_SUPPORT_H_

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "cache/store.h"
#include "support/scratch.h"

namespace quern::cache {

using test::Scratch;

// Keeps the warnings.
class Warnings {
 public:
  Log log() {
    return {LogLevel::warning, [this](LogLevel, std::string_view line) {
              const std::lock_guard lock(mutex_);
              lines_.emplace_back(line);
            }};
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

inline Log silent() { return {LogLevel::off, {}}; }

inline Key key_named(const std::string& what, const std::string& who = "nvrtc 13.0.88") {
  return make_key(KeyText().field("family", what).text(), who.empty() ? "" : KeyText().field("compiler", who).text());
}

inline Entry image(const std::string& cubin = "cubin", std::uint64_t order = 13000088) {
  Entry entry;
  entry.compiler = "nvrtc 13.0.88";
  entry.compiler_order = order;
  entry.kernel = "quern_gather";
  entry.numbers = {{"registers", 32}, {"shared_bytes", 0}};
  entry.cubin = cubin;
  entry.ptx = ".version 9.0";
  entry.source = "extern \"C\" __global__ void quern_gather() {}";
  entry.created_unix_ns = 1'700'000'000'000'000'000;
  entry.compile_ms = 12.5;
  return entry;
}

inline Entry prewarmed(const std::string& cubin, std::uint64_t order = 13000088) {
  Entry entry = image(cubin, order);
  entry.prewarmed = true;
  return entry;
}

inline Store::Settings in(const std::string& dir, CacheMode mode = CacheMode::read_write,
                          CacheMatch match = CacheMatch::standard) {
  return {dir, mode, match};
}

// Counts how often it was asked to build.
class Builder {
 public:
  explicit Builder(Entry entry = image()) : entry_(std::move(entry)) {}
  Store::Build build() {
    return [this] {
      ++runs_;
      return entry_;
    };
  }
  int runs() const { return runs_; }

 private:
  Entry entry_;
  std::atomic<int> runs_{0};
};

inline std::vector<std::string> files_below(const std::string& dir) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir, ignored))
    if (!entry.is_directory(ignored)) found.push_back(entry.path().string());
  return found;
}

inline void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Passes every call on but one, which fails.
class FaultyFileSystem : public FileSystem {
 public:
  int fail_at = -1;  // the number of the call, from 0; -1: none
  int error = 5;
  std::string failed;  // its name, once it was reached
  int calls = 0;

  int status(const std::string& path, FileStatus* out) override {
    return fails("status") ? error : real_.status(path, out);
  }
  int read(const std::string& path, std::uint64_t limit, std::string* bytes, FileStatus* out) override {
    return fails("read") ? error : real_.read(path, limit, bytes, out);
  }
  int list(const std::string& path, std::vector<std::string>* names) override {
    return fails("list") ? error : real_.list(path, names);
  }
  int can_write(const std::string& path) override { return fails("can_write") ? error : real_.can_write(path); }
  int create(const std::string& path, std::uint32_t mode, int* file) override {
    return fails("create") ? error : real_.create(path, mode, file);
  }
  // Half of it is written before it fails.
  int write(int file, std::string_view bytes) override {
    if (!fails("write")) return real_.write(file, bytes);
    real_.write(file, bytes.substr(0, bytes.size() / 2));
    return error;
  }
  int sync(int file) override { return fails("sync") ? error : real_.sync(file); }
  int close(int file) override {
    const int result = real_.close(file);
    return fails("close") ? error : result;
  }
  int rename(const std::string& from, const std::string& to) override {
    return fails("rename") ? error : real_.rename(from, to);
  }
  int remove(const std::string& path) override { return fails("remove") ? error : real_.remove(path); }
  int make_directory(const std::string& path, std::uint32_t mode) override {
    return fails("make_directory") ? error : real_.make_directory(path, mode);
  }
  int remove_directory(const std::string& path) override {
    return fails("remove_directory") ? error : real_.remove_directory(path);
  }
  int sync_directory(const std::string& path) override {
    return fails("sync_directory") ? error : real_.sync_directory(path);
  }
  std::uint32_t user() override { return real_.user(); }

 private:
  bool fails(const char* name) {
    if (calls++ != fail_at) return false;
    failed = name;
    return true;
  }

  FileSystem& real_ = real_file_system();
};

}  // namespace quern::cache

#endif  // QUERN_TESTS_UNIT_CACHE_SUPPORT_H_
