// Shared by the tests of the store: a scratch directory, a recorded log, entries, and a file system that fails.
#ifndef QUERN_TESTS_UNIT_CACHE_SUPPORT_H_
#define QUERN_TESTS_UNIT_CACHE_SUPPORT_H_

#include <gtest/gtest.h>
#include <unistd.h>

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
#include "support/intercepted_files.h"
#include "support/scratch.h"

namespace quern::cache {

using test::Scratch;

inline constexpr std::int64_t kDay = std::int64_t{86400} * 1'000'000'000;
inline constexpr ::uid_t kNobody = 65534;

inline bool root() { return ::geteuid() == 0; }

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

inline Key numbered(int i) { return key_named(cat("key ", i)); }

// Of a key's entry, where the store's directory is "cache".
inline std::string path_of(const Scratch& scratch, const Key& key) { return scratch / "cache/" + key.path(); }

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

inline StoreSettings in(const std::string& dir, CacheMode mode = CacheMode::read_write,
                        CacheMatch match = CacheMatch::standard) {
  StoreSettings settings;
  settings.dir = dir;
  settings.mode = mode;
  settings.match = match;
  settings.write_behind = false;  // most tests look at the disk next
  return settings;
}

// Counts its builds.
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

// The store's own files next to the images.
inline bool is_account(const std::string& name) { return name == kUsageName || name == kTagName; }

inline std::vector<std::string> files_below(const std::string& dir) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir, ignored))
    if (!entry.is_directory(ignored) && !is_account(entry.path().filename())) found.push_back(entry.path().string());
  return found;
}

inline void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Skips syncs, which are most of the time of a write.
class HastyFiles : public ForwardingFileSystem {
 public:
  long sync(int) override { return 0; }
  long sync_all(const std::string&) override { return 0; }
};
inline FileSystem& hasty_files() {
  static HastyFiles files;
  return files;
}

// Makes one call fail.
class FaultyFileSystem : public test::InterceptedFiles {
 public:
  int fail_at = -1;  // the number of the call, from 0; -1: none
  int error = 5;
  std::string failed;  // its name, once reached
  std::string on;      // its path
  int calls = 0;

  FaultyFileSystem() : InterceptedFiles([this](const test::FileCall& call) { return stop(call); }, hasty_files()) {}

 private:
  long stop(const test::FileCall& call) {
    const std::lock_guard lock(mutex_);
    if (calls++ != fail_at) return 0;
    failed = call.name;
    on = call.path;
    return -error;
  }
  std::mutex mutex_;
};

}  // namespace quern::cache

#endif  // QUERN_TESTS_UNIT_CACHE_SUPPORT_H_
