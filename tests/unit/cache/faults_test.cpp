// Each file system call fails once: the caller gets its image, a counter is incremented, no file is left over.
#include <cerrno>
#include <utility>

#include "cache/transfer.h"
#include "support.h"

namespace quern::cache {
namespace {

void expect_no_staging(const std::string& dir) {
  for (const std::string& path : files_below(dir))
    EXPECT_EQ(path.find(std::string(kStagingPrefix)), std::string::npos) << path;
}

// Open descriptors of this process.
std::size_t open_files() {
  std::vector<std::string> names;
  EXPECT_EQ(real_file_system().list("/proc/self/fd", &names), 0);
  return names.size();
}

// Runs `scenario` with call 0 failing, then call 1, until a run makes fewer calls than that.
template <class Scenario>
void fail_each_call(int error, const Scenario& scenario) {
  const std::size_t open_before = open_files();
  for (int call = 0;; ++call) {
    FaultyFileSystem files;
    files.fail_at = call;
    files.error = error;
    scenario(files);
    if (files.failed.empty()) break;
    ASSERT_LT(call, 200);
  }
  EXPECT_EQ(open_files(), open_before);
}

class Faults : public ::testing::TestWithParam<int> {};

TEST_P(Faults, OfABuildOnAColdCache) {
  fail_each_call(GetParam(), [](FaultyFileSystem& files) {
    const Scratch scratch;
    Builder builder;
    Store store(in(scratch / "a/cache"), silent(), files);
    EXPECT_EQ(store.get_or_build(key_named("gather"), builder.build()).entry->cubin, "cubin");
    EXPECT_EQ(store.get_or_build(key_named("gather"), builder.build()).origin, Origin::memory);
    EXPECT_EQ(store.counters().failures > 0, !files.failed.empty()) << files.failed << " " << files.on;
    expect_no_staging(scratch.path());
    for (const Item& item : Store(in(scratch / "a/cache"), silent()).list()) EXPECT_EQ(item.damage, "") << files.failed;
  });
}

TEST_P(Faults, OfAHit) {
  const Scratch scratch;
  Store(in(scratch / "cache"), silent(), hasty_files()).put(key_named("gather"), image());
  fail_each_call(GetParam(), [&](FaultyFileSystem& files) {
    Builder builder;
    Store store(in(scratch / "cache"), silent(), files);
    EXPECT_EQ(store.get_or_build(key_named("gather"), builder.build()).entry->cubin, "cubin");
    EXPECT_EQ(store.counters().failures > 0, !files.failed.empty()) << files.failed << " " << files.on;
  });
  expect_no_staging(scratch.path());
}

TEST_P(Faults, OfAMatch) {
  const Scratch scratch;
  Store(in(scratch / "cache"), silent(), hasty_files()).put(key_named("gather", "13.0.48"), prewarmed("cubin"));
  fail_each_call(GetParam(), [&](FaultyFileSystem& files) {
    Builder builder;
    Store store(in(scratch / "cache"), silent(), files);
    EXPECT_EQ(store.get_or_build(key_named("gather", "13.0.88"), builder.build()).entry->cubin, "cubin");
    EXPECT_EQ(store.counters().failures > 0, !files.failed.empty()) << files.failed << " " << files.on;
    Store(in(scratch / "cache"), silent(), hasty_files()).reject(key_named("gather", "13.0.88"));
  });
}

TEST_P(Faults, OfForgettingAndClearing) {
  fail_each_call(GetParam(), [](FaultyFileSystem& files) {
    const Scratch scratch;
    const Key key = key_named("gather");
    Builder builder(image("good"));
    Store(in(scratch / "cache"), silent(), hasty_files()).put(key, image("bad"));
    Store store(in(scratch / "cache"), silent(), files);
    store.reject(key, store.find(key));
    EXPECT_EQ(store.get_or_build(key, builder.build()).entry->cubin, "good");
    store.clear();
    EXPECT_EQ(store.counters().failures > 0, !files.failed.empty()) << files.failed << " " << files.on;
  });
}

TEST_P(Faults, OfEvicting) {
  fail_each_call(GetParam(), [](FaultyFileSystem& files) {
    const Scratch scratch;
    StoreSettings settings = in(scratch / "cache");
    settings.writer.limits.entries = 2;
    for (const char* name : {"a", "b"}) Store(settings, silent(), hasty_files()).put(key_named(name), image());
    Builder builder;
    Store store(settings, silent(), files);
    EXPECT_EQ(store.get_or_build(key_named("c"), builder.build()).entry->cubin, "cubin");
    store.tidy({0, 0});
    EXPECT_EQ(store.counters().failures > 0, !files.failed.empty()) << files.failed << " " << files.on;
    EXPECT_LE(files_below(scratch / "cache").size(), 3U);
  });
}

TEST_P(Faults, OfACompileThatIsRemembered) {
  fail_each_call(GetParam(), [](FaultyFileSystem& files) {
    const Scratch scratch;
    const auto refuse = []() -> Entry {
      Error error(Code::compile, Stage::compile, "refused");
      error.lasting = true;
      throw error;
    };
    Store store(in(scratch / "cache"), silent(), files);
    EXPECT_THROW(store.get_or_build(key_named("a"), refuse), Error);
    EXPECT_THROW(store.get_or_build(key_named("a"), refuse), Error);
    EXPECT_EQ(store.counters().failures > 0, !files.failed.empty()) << files.failed << " " << files.on;
    expect_no_staging(scratch.path());
  });
}

TEST_P(Faults, OfAPack) {
  const Scratch scratch;
  {
    Store store(in(scratch / "cache"), silent(), hasty_files());
    store.put(key_named("a"), image("of the pack"));
    export_pack(store, scratch / "a.pack");
  }
  fail_each_call(GetParam(), [&](FaultyFileSystem& files) {
    Builder builder(image("of the pack"));
    StoreSettings settings = in(scratch / "own", CacheMode::read_only);
    settings.layers = {scratch / "a.pack"};
    Store store(settings, silent(), files);
    EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).entry->cubin, "of the pack");
    EXPECT_EQ(store.counters().failures > 0, !files.failed.empty()) << files.failed << " " << files.on;
  });
}

// A pack is complete or absent, and the caller gets the error.
TEST_P(Faults, OfAnExport) {
  const Scratch scratch;
  Store made(in(scratch / "cache"), silent(), hasty_files());
  for (const char* name : {"a", "b"}) made.put(key_named(name), image(name));
  const std::string path = scratch / "made.pack";
  fail_each_call(GetParam(), [&](FaultyFileSystem& files) {
    Store store(in(scratch / "cache"), silent(), files);
    std::filesystem::remove(path);
    bool thrown = false;
    Transfer done;
    try {
      done = export_pack(store, path, PackForm::plain, files);
    } catch (const Error& error) {
      thrown = true;
      EXPECT_NE(error.sentence.find(scratch.path()), std::string::npos) << error.sentence;
    }
    EXPECT_EQ(std::filesystem::exists(path) || thrown, true) << files.failed;
    const bool said = thrown || done.damaged + store.counters().failures > 0 || done.entries == 2;
    EXPECT_TRUE(said) << files.failed << " " << files.on << ": " << done.entries;
    EXPECT_FALSE(std::filesystem::exists(scratch / ".made.pack.staging")) << files.failed;
    if (thrown) return;
    Store other(in(scratch / "other"), silent(), hasty_files());
    EXPECT_EQ(import_pack(other, path).damaged, 0U);
  });
}

TEST_P(Faults, OfAnImport) {
  const Scratch scratch;
  {
    Store made(in(scratch / "made"), silent(), hasty_files());
    for (const char* name : {"a", "b"}) made.put(key_named(name), image(name));
    export_pack(made, scratch / "made.pack");
  }
  fail_each_call(GetParam(), [&](FaultyFileSystem& files) {
    const Scratch own;
    Store store(in(own / "cache"), silent(), files);
    try {
      const Transfer done = import_pack(store, scratch / "made.pack", false, files);
      const std::size_t there = Store(in(own / "cache"), silent()).list().size();
      EXPECT_TRUE(there == 2 || store.counters().failures + done.damaged > 0) << files.failed << " " << files.on;
    } catch (const Error& error) {
      EXPECT_NE(error.sentence.find("made.pack"), std::string::npos) << error.sentence;
    }
    expect_no_staging(own.path());
    for (const Item& item : Store(in(own / "cache"), silent()).list()) EXPECT_EQ(item.damage, "") << files.failed;
  });
}

INSTANTIATE_TEST_SUITE_P(Errors, Faults,
                         ::testing::Values(EIO, ENOSPC, EDQUOT, EROFS, EACCES, EMFILE, ESTALE, EBUSY, EINTR));

// As at the end of a quota, or after a signal.
TEST(FaultsOnce, ShortWritesAreContinuedEverywhere) {
  class ShortWrites : public ForwardingFileSystem {
   public:
    long write(int file, const void* from, std::size_t bytes) override {
      return ForwardingFileSystem::write(file, from, std::min<std::size_t>(bytes, 100));
    }
    long write_at(int file, const void* from, std::size_t bytes, std::uint64_t offset) override {
      return ForwardingFileSystem::write_at(file, from, std::min<std::size_t>(bytes, 7), offset);
    }
  } files;
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent(), files);
  store.put(key_named("a"), image(std::string(1000, 'x')));
  export_pack(store, scratch / "a.pack", PackForm::plain, files);
  Store other(in(scratch / "other"), silent(), files);
  EXPECT_EQ(import_pack(other, scratch / "a.pack", false, files).entries, 1U);
  for (const char* name : {"cache", "other"}) {
    EXPECT_EQ(Store(in(scratch / name), silent()).find(key_named("a"))->cubin, std::string(1000, 'x'));
    EXPECT_TRUE(parse_usage(read_file(scratch / name + "/.usage").value_or("")));
  }
}

TEST(FaultsOnce, OnlyTheFirstFailedWriteIsWarnedOf) {
  const Scratch scratch;
  class FullDisk : public ForwardingFileSystem {
    long write(int, const void*, std::size_t) override { return -ENOSPC; }
  } files;
  Warnings warnings;
  Builder builder;
  Store store(in(scratch / "cache"), warnings.log(), files);
  for (const char* name : {"a", "b", "c"}) store.get_or_build(key_named(name), builder.build());
  EXPECT_EQ(store.counters().failures, 3U);
  EXPECT_EQ(store.counters().not_stored, 3U);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find(": No space left on device"), std::string::npos) << warnings.lines()[0];
  EXPECT_NE(warnings.lines()[0].find(scratch / "cache"), std::string::npos) << warnings.lines()[0];
  EXPECT_TRUE(files_below(scratch / "cache").empty());
}

TEST(FaultsOnce, AFolderThatIsClearedAwayMeanwhileIsMadeAgain) {
  const Scratch scratch;
  class Cleared : public ForwardingFileSystem {
    long open(const std::string& path, int flags, std::uint32_t mode) override {
      const bool staging = path.find(kStagingPrefix) != std::string::npos;
      if (staging && std::exchange(first_, false)) std::filesystem::remove_all(parent_directory(path));
      return ForwardingFileSystem::open(path, flags, mode);
    }
    bool first_ = true;
  } files;
  Store store(in(scratch / "cache"), silent(), files);
  store.put(key_named("a"), image());
  EXPECT_EQ(store.counters().failures, 0U);
  EXPECT_EQ(store.list().size(), 1U);
}

TEST(FaultsOnce, ALogSinkThatThrowsHarmsNobody) {
  const Scratch scratch;
  overwrite(scratch / "cache", "");
  Builder builder;
  Store store(in(scratch / "cache"),
              Log(LogLevel::debug, [](LogLevel, std::string_view) { throw std::runtime_error("full"); }));
  EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).origin, Origin::built);
  EXPECT_GT(store.counters().failures, 0U);
}

}  // namespace
}  // namespace quern::cache
