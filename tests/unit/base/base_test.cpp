// Hashes, the log, loops over rows and the error type.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/log.h"
#include "base/parallel.h"
#include "quern/error.h"

namespace quern {
namespace {

// What `xxhsum -H2` prints.
TEST(Hash, IsXxh3InCanonicalForm) {
  EXPECT_EQ(hash128("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash128("abc").hex(), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(hash64("", 0), 0x2d06800538d394c2u);
}

TEST(Hash, EveryByteCounts) {
  const std::string text(300, 'a');
  for (std::size_t i = 0; i < text.size(); i += 13) {
    std::string other = text;
    other[i] = 'b';
    EXPECT_NE(hash128(other), hash128(text)) << i;
    EXPECT_NE(hash64(other.data(), other.size()), hash64(text.data(), text.size())) << i;
  }
}

class Lines {
 public:
  LogSink sink() {
    return [this](LogLevel level, std::string_view line) { lines_.emplace_back(level, line); };
  }
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

TEST(Log, PassesOnWhatIsAtTheLevelOrAbove) {
  Lines lines;
  const Log log(LogLevel::warning, lines.sink());
  log.debug("debug");
  log.info("info");
  log.warning("warning");
  log.write(LogLevel::error, "error");
  const std::vector<std::pair<LogLevel, std::string>> expected = {{LogLevel::warning, "warning"},
                                                                  {LogLevel::error, "error"}};
  EXPECT_EQ(lines.lines_, expected);
}

TEST(Log, OffIsSilent) {
  Lines lines;
  const Log log(LogLevel::off, lines.sink());
  log.write(LogLevel::error, "error");
  EXPECT_TRUE(lines.lines_.empty());
  EXPECT_FALSE(log.on(LogLevel::error));
}

TEST(Log, WithoutASinkItWritesToStandardError) {
  const Log log(LogLevel::info, {});
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  log.info("a line");
  log.debug("not this one");
  const std::string errors = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(errors.find("a line"), std::string::npos);
  EXPECT_EQ(errors.find("not this one"), std::string::npos);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(Parallel, CoversEachPositionOnce) {
  for (const std::int64_t count : {0, 1, 2, 3, 17, 1000, 100003}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    for (const auto& n : visits) ASSERT_EQ(n, 1) << count;
  }
}

TEST(Parallel, SmallWorkStaysOnTheCallersThread) {
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(100, 1000, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(Error, SaysStageSentenceProblemAndLog) {
  EXPECT_STREQ(Error(Code::compile, Stage::compile, "NVRTC refused it").what(), "compile: NVRTC refused it");
  Error error(Code::compile, Stage::compile, "NVRTC refused it");
  error.problem = "gather width=1";
  error.log = "gather.cu(3): error";
  EXPECT_STREQ(error.what(), "compile: NVRTC refused it [gather width=1]\ngather.cu(3): error");
}

TEST(Error, TravelsInAResult) {
  Result<int> good(3);
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(*good, 3);
  Result<int> bad(Error(Code::io, Stage::store, "no"));
  EXPECT_FALSE(static_cast<bool>(bad));
  EXPECT_EQ(bad.error().code, Code::io);
  EXPECT_THROW(bad.value(), Error);
}

}  // namespace
}  // namespace quern
