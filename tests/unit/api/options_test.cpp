// Effects of options and environment: cache directories, dumps, manifests, libraries.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

using RuntimeOptions = ApiTest;

TEST_F(RuntimeOptions, ARuntimeOpensNothing) {
  Options given;
  given.cache.directory = scratch_ / "cache";
  given.compiler.nvrtc = scratch_ / "missing";
  given.libcuda = scratch_ / "missing";
  const Runtime runtime(given);
  EXPECT_GE(runtime.families().size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "cache"));
}

TEST_F(RuntimeOptions, WithoutADriverEachPlaceIsListed) {
  Options given = options();
  given.driver = nullptr;
  given.libcuda = scratch_ / "libcuda.so.1";
  Runtime runtime(given);
  for (int i = 0; i < 2; ++i) {
    const Error error = refusal([&] { runtime.prepare(Gather{}); });
    EXPECT_EQ(error.code, Code::no_driver);
    EXPECT_TRUE(has(error.sentence, scratch_ / "libcuda.so.1")) << error.sentence;
    EXPECT_TRUE(has(error.sentence, "QUERN_LIBCUDA")) << error.sentence;
  }
  EXPECT_EQ(compiles(), 0);
}

TEST_F(RuntimeOptions, AnUnwritableCacheCostsAWarningAndNothingElse) {
  cache::overwrite(scratch_ / "file", "");
  Runtime runtime(options(scratch_ / "file/cache"));
  EXPECT_EQ(runtime.prepare(Gather{}).images().size(), 2u);
  runtime.prepare(Gather{.dtype = f32});
  EXPECT_EQ(log_.count(LogLevel::warning, scratch_ / "file"), 1) << log_.all();
}

TEST_F(RuntimeOptions, AReadOnlyCacheIsReadAndNotWritten) {
  Options given = options(scratch_ / "cache");
  given.cache.mode = CacheMode::read_only;
  { Runtime(given).prepare(Gather{}); }
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "cache"));
  { Runtime(options(scratch_ / "cache")).prepare(Gather{}); }
  const auto files = cache::files_below(scratch_ / "cache");
  EXPECT_EQ(compiles(), 4);
  Runtime runtime(given);
  runtime.prepare(Gather{});
  EXPECT_EQ(compiles(), 4);
  EXPECT_EQ(runtime.statistics().hits.disk, 2u);
  runtime.prepare(Gather{.dtype = f32});
  EXPECT_EQ(cache::files_below(scratch_ / "cache"), files);
}

TEST_F(RuntimeOptions, ADamagedEntryIsAMiss) {
  { Runtime(options(scratch_ / "cache")).prepare(Gather{}); }
  for (const std::string& file : cache::files_below(scratch_ / "cache")) cache::overwrite(file, "damaged");
  Runtime(options(scratch_ / "cache")).prepare(Gather{});
  EXPECT_EQ(compiles(), 4);
}

std::vector<std::string> suffixes(const std::string& folder) {
  std::vector<std::string> found;
  for (const std::string& file : cache::files_below(folder))
    found.push_back(std::filesystem::path(file).extension().string());
  std::sort(found.begin(), found.end());
  return found;
}

TEST_F(RuntimeOptions, ADumpHoldsEachImageMadeAndNoHit) {
  Options given = options(scratch_ / "cache");
  given.compiler.dump_dir = scratch_ / "dump/deep";
  Runtime runtime(given);
  runtime.prepare(Gather{});
  EXPECT_EQ(suffixes(given.compiler.dump_dir),
            std::vector<std::string>({".cu", ".cu", ".cubin", ".cubin", ".ptx", ".ptx"}));
  for (const std::string& file : cache::files_below(given.compiler.dump_dir)) {
    EXPECT_TRUE(has(file, "/gather-")) << file;
    const std::string bytes = *read_file(file);
    if (file.ends_with(".cu")) {
      EXPECT_TRUE(has(bytes, "namespace quern::spec"));
    }
    if (file.ends_with(".ptx")) {
      EXPECT_TRUE(has(bytes, "ptx sm_90a"));
    }
    if (file.ends_with(".cubin")) {
      EXPECT_TRUE(has(bytes, "cubin sm_90a"));
    }
  }
  given.compiler.dump_dir = scratch_ / "dump2";
  Runtime(given).prepare(Gather{});
  EXPECT_EQ(suffixes(given.compiler.dump_dir), std::vector<std::string>());
}

TEST_F(RuntimeOptions, ADumpThatCannotBeWrittenCostsWarningsOnly) {
  cache::overwrite(scratch_ / "file", "");
  Options given = options();
  given.compiler.dump_dir = scratch_ / "file/dump";
  Runtime(given).prepare(Gather{});
  EXPECT_GE(log_.count(LogLevel::warning, "QUERN_DUMP"), 1) << log_.all();
}

TEST_F(RuntimeOptions, TheManifestHasEachProblemOnce) {
  Options given = options();
  given.manifest = scratch_ / "manifest";
  for (int i = 0; i < 2; ++i) {
    Runtime runtime(given);
    runtime.prepare(Gather{});
    runtime.prepare(Gather{});
    runtime.prepare(Gather{.width = 512});
    PrepareOptions changed;
    changed.config = "unroll=2";
    runtime.prepare(Gather{}, changed);
    runtime.prepare(Gather{}, changed);
  }
  EXPECT_EQ(*read_file(given.manifest),
            "{\"problem\":\"gather\",\"arch\":\"sm_90a\"}\n"
            "{\"problem\":\"gather width=512\",\"arch\":\"sm_90a\"}\n"
            "{\"problem\":\"gather\",\"arch\":\"sm_90a\",\"config\":\"unroll=2\"}\n");
}

TEST_F(RuntimeOptions, AManifestThatCannotBeWrittenCostsAWarning) {
  Options given = options();
  given.manifest = scratch_ / "no/such/folder/manifest";
  Runtime(given).prepare(Gather{});
  EXPECT_EQ(log_.count(LogLevel::warning, "QUERN_MANIFEST"), 1) << log_.all();
}

TEST_F(RuntimeOptions, AFifoAsManifestIsRefusedAndDoesNotHang) {
  Options given = options();
  given.manifest = scratch_ / "fifo";
  ASSERT_EQ(::mkfifo(given.manifest.c_str(), 0600), 0);
  Runtime runtime(given);
  runtime.prepare(Gather{});
  runtime.prepare(Gather{.dtype = f32});
  EXPECT_EQ(log_.count(LogLevel::warning, "QUERN_MANIFEST"), 1) << log_.all();
  const OpenFile reader(real_file_system(), given.manifest, O_RDONLY | O_NONBLOCK);  // and with a reader at its end
  runtime.prepare(Gather{.dtype = f16});
  EXPECT_EQ(log_.count(LogLevel::warning, "it is not a regular file"), 1) << log_.all();
}

TEST_F(RuntimeOptions, ALineThatCouldNotBeWrittenIsWrittenWithTheNext) {
  Options given = options();
  given.manifest = scratch_ / "later/manifest";
  Runtime runtime(given);
  runtime.prepare(Gather{});
  std::filesystem::create_directories(scratch_ / "later");
  runtime.prepare(Gather{.width = 512});
  EXPECT_EQ(*read_file(given.manifest),
            "{\"problem\":\"gather\",\"arch\":\"sm_90a\"}\n"
            "{\"problem\":\"gather width=512\",\"arch\":\"sm_90a\"}\n");
}

TEST_F(RuntimeOptions, TheCompilerIsWarmedInTheBackgroundOnlyWhenAsked) {
  { const Runtime runtime(options()); }
  EXPECT_EQ(compiles(), 0);
  Options given = options();
  given.compiler.warm = true;
  { const Runtime runtime(given); }
  EXPECT_EQ(compiles(), 1);
  EXPECT_STREQ(control().last_program, "warm.cu");
}

TEST_F(RuntimeOptions, WarmingWithoutACompilerIsNoError) {
  Options given = options();
  given.compiler.warm = true;
  given.compiler.nvrtc = scratch_ / "missing";
  { const Runtime runtime(given); }
  EXPECT_EQ(log_.count(LogLevel::warning), 0) << log_.all();
}

// An operator may set QUERN_TUNE for a program without a tuner.
TEST_F(RuntimeOptions, ModesThatTuneWithoutATunerLookRecordsUpAndWarnOnce) {
  for (const Tuning mode : {Tuning::on_prepare, Tuning::background}) {
    Options given = options();
    given.tuning.mode = mode;
    Runtime runtime(given);
    const int before = log_.count(LogLevel::warning, "Options::tuning.tuner to quern::make_tuner()");
    EXPECT_EQ(before, mode == Tuning::on_prepare ? 1 : 2) << log_.all();
    runtime.prepare(Gather{.rows = 8, .count = 8, .width = 8});
    runtime.prepare(Gather{.rows = 8, .count = 8, .width = 16});
    EXPECT_EQ(log_.count(LogLevel::warning, "tuner"), before) << log_.all();
    EXPECT_EQ(runtime.statistics().tuning.sweeps, 0U);
  }
}

}  // namespace
}  // namespace quern::test
