// Leftovers of failed writes and killed processes, and when they are removed.
#include "support.h"

namespace quern::cache {
namespace {

std::string folder_of_first(const Scratch& scratch) {
  return parent_directory(scratch / "cache/" + numbered(0).path());
}

// Two staging files in a folder that were never renamed.
struct LeftOver {
  explicit LeftOver(const std::string& folder)
      : young(folder + "/" + staging_name()), old(folder + "/" + staging_name()) {
    overwrite(young, "x");
    overwrite(old, "x");
    real_file_system().set_modified(old, real_file_system().now_unix_ns() - kDay);
  }
  const std::string young, old;
};

TEST(LeftBehind, NoFolderByAFailedWrite) {
  const Scratch scratch;
  test::InterceptedFiles files(
      [](const test::FileCall& call) { return call.name == std::string("write") ? long{-EIO} : 0L; });
  Store store(in(scratch / "cache"), silent(), files);
  store.put(numbered(0), image());
  EXPECT_EQ(store.counters().not_stored, 1U);
  EXPECT_FALSE(std::filesystem::exists(folder_of_first(scratch)));
}

TEST(LeftBehind, LeasesOfKilledProcessesGoWithALookAtEverything) {
  const Scratch scratch;
  Store(in(scratch / "cache"), silent()).get_or_build(numbered(0), [] { return image(); });
  std::string lease;
  test::InterceptedFiles files([&](const test::FileCall& call) {
    const bool of_lease = call.path.find("/.leases/") != std::string::npos;
    if (of_lease && call.name == std::string("open")) lease = call.path;
    return of_lease && call.name == std::string("remove") ? long{-EIO} : 0L;  // as if it were killed before that
  });
  Store(in(scratch / "cache"), silent(), files).get_or_build(numbered(1), [] { return image(); });
  ASSERT_TRUE(std::filesystem::exists(lease)) << lease;
  Store(in(scratch / "cache"), silent()).put(numbered(2), image());
  EXPECT_TRUE(std::filesystem::exists(lease)) << "not with every image";
  std::filesystem::remove(scratch / "cache/.usage");
  Store(in(scratch / "cache"), silent()).put(numbered(3), image());
  EXPECT_TRUE(std::filesystem::exists(lease)) << "its owner may be about to lock it";
  std::filesystem::remove(scratch / "cache/.usage");
  real_file_system().set_modified(lease, real_file_system().now_unix_ns() - kDay);
  Store(in(scratch / "cache"), silent()).put(numbered(4), image());
  EXPECT_FALSE(std::filesystem::exists(lease));
}

TEST(LeftBehind, FilesGoWithTheNextLook) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  store.put(numbered(0), image());
  const LeftOver left(folder_of_first(scratch));
  EXPECT_EQ(store.tidy(store.limits()), 1U);
  EXPECT_EQ(store.counters().swept, 1U);
  EXPECT_TRUE(std::filesystem::exists(left.young)) << "another process may be writing it";
  EXPECT_NE(Store(in(scratch / "cache"), silent()).find(numbered(0)), nullptr);
}

// A process that is killed at each start leaves a file for one image: they are removed before the next full scan.
TEST(LeftBehind, FilesGoWithTheNextImageOfTheirFolder) {
  const Scratch scratch;
  Store(in(scratch / "cache"), silent()).put(numbered(0), image());
  const LeftOver left(folder_of_first(scratch));
  Store store(in(scratch / "cache"), silent());
  store.put(numbered(0), image());
  EXPECT_EQ(store.counters().swept, 1U);
  EXPECT_FALSE(std::filesystem::exists(left.old));
  EXPECT_TRUE(std::filesystem::exists(left.young));
}

}  // namespace
}  // namespace quern::cache
