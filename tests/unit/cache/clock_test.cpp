// Times read from a disk may have any value.
#include "base/clock.h"

#include <sys/stat.h>

#include "support.h"
#include "support/memory_files.h"

namespace quern::cache {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000'000'000;
constexpr std::int64_t kEnds[] = {kFarPast, kFarFuture};

TEST(Clock, StopsAtTheEnds) {
  EXPECT_EQ(elapsed(3, 5), 2);
  EXPECT_EQ(elapsed(5, 3), -2);
  EXPECT_EQ(elapsed(kFarPast, kNow), kFarFuture);
  EXPECT_EQ(elapsed(kNow, kFarPast), kFarPast);
  EXPECT_EQ(apart(kFarPast, kNow), kFarFuture);
  EXPECT_EQ(apart(kNow, kFarPast), kFarFuture);
  EXPECT_EQ(apart(7, 3), 4);
  EXPECT_EQ(just_after(7), 8);
  EXPECT_EQ(just_after(kFarFuture), kFarFuture);
  EXPECT_EQ(nanoseconds(2, 3), 2'000'000'003);
  EXPECT_EQ(nanoseconds(-1, 5), -999'999'995);
  EXPECT_EQ(nanoseconds(9'223'372'036, 999'999'999), kFarFuture);
  EXPECT_EQ(nanoseconds(-10'000'000'000, 0), kFarPast);
}

// A store that builds in the directory `files`, evicts, and is destroyed.
void use(test::MemoryFiles& files, const Key& key) {
  Store store(in("/store"), silent(), files);
  Builder builder;
  store.get_or_build(key, builder.build());
  store.tidy({});
}

TEST(Clock, AFileOfAnyTimeOverflowsNothing) {
  const Key key = key_named("gather");
  for (const std::int64_t time : kEnds) {
    test::MemoryFiles files(kNow);
    use(files, key);
    files.set_modified("/store/" + key.path(), time);
    files.put(cat("/store/", key.what_hash.hex(), "/.staging.1"), FileKind::regular, "half").modified_ns = time;
    use(files, key);
    std::vector<std::string> names;
    files.list("/store/" + key.what_hash.hex(), &names);
    EXPECT_EQ(names, std::vector<std::string>{key.who_hash.hex()}) << time;
  }
}

TEST(Clock, AnAccountOfAnyTimeOverflowsNothing) {
  for (const std::int64_t time : kEnds) {
    test::MemoryFiles files(kNow);
    files.put("/store/.usage", FileKind::regular, serialize(Usage{1, 1, time, time, 1}));
    use(files, key_named("gather"));
    EXPECT_EQ(Store(in("/store"), silent(), files).list().size(), 1U) << time;
  }
}

TEST(Clock, AFailureOfAnyTimeIsNotBelieved) {
  const Key key = key_named("gather");
  for (const std::int64_t time : kEnds) {
    test::MemoryFiles files(kNow);
    const Failure failure{key.what, key.who, "refused", "log", time};
    files.put(cat("/store/", key.path(), kFailureSuffix), FileKind::regular, serialize(failure));
    EXPECT_NO_THROW(use(files, key)) << time;
  }
}

// In the year 2400, if the file system can represent it: more nanoseconds than a number holds.
TEST(Clock, AFileFromTheFarFutureHasATime) {
  const Scratch scratch;
  const std::string path = scratch / "file";
  overwrite(path, "bytes");
  const ::timespec times[2] = {{0, UTIME_OMIT}, {13'570'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  FileStatus status;
  ASSERT_EQ(real_file_system().status(path, &status), 0);
  EXPECT_GT(status.modified_ns, kNow);
}

}  // namespace
}  // namespace quern::cache
