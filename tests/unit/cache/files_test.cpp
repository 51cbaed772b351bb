#include "base/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "support.h"

namespace quern::cache {
namespace {

TEST(Files, ParentDirectory) {
  EXPECT_EQ(parent_directory("a/b"), "a");
  EXPECT_EQ(parent_directory("a//b//"), "a");
  EXPECT_EQ(parent_directory("a"), ".");
  EXPECT_EQ(parent_directory("/a"), "/");
  EXPECT_EQ(parent_directory("/"), "/");
  EXPECT_EQ(parent_directory(""), ".");
}

TEST(Files, WritesAndReadsBack) {
  const Scratch scratch;
  std::string why;
  const std::string bytes = std::string(1 << 20, 'x') + '\0' + "end";
  ASSERT_TRUE(write_file_atomically(scratch / "file", bytes, &why)) << why;
  EXPECT_EQ(read_file(scratch / "file"), bytes);
  ASSERT_TRUE(write_file_atomically(scratch / "file", "", &why)) << why;
  EXPECT_EQ(read_file(scratch / "file"), "");
  EXPECT_EQ(files_below(scratch.path()).size(), 1U);
}

TEST(Files, FailureNamesThePathAndTheReason) {
  const Scratch scratch;
  std::string why;
  EXPECT_FALSE(write_file_atomically(scratch / "missing/file", "x", &why));
  EXPECT_NE(why.find("missing/file: No such file or directory"), std::string::npos) << why;
  EXPECT_EQ(read_file(scratch / "missing"), std::nullopt);
  EXPECT_EQ(read_file(scratch.path()), std::nullopt);
}

TEST(Files, ReadsFilesThatDoNotKnowTheirSize) {
  const auto maps = read_file("/proc/self/maps");
  ASSERT_TRUE(maps);
  EXPECT_GT(maps->size(), 100U);
}

TEST(Files, ReadRefusesWhatIsNoPlainFile) {
  const Scratch scratch;
  FileSystem& files = real_file_system();
  std::string bytes;
  FileStatus status;
  overwrite(scratch / "file", "12345");
  std::filesystem::create_symlink("file", scratch / "link");
  ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_whole(files, scratch / "file", 5, &bytes, &status), 0);
  EXPECT_EQ(read_whole(files, scratch / "file", 4, &bytes, &status), EFBIG);
  EXPECT_EQ(read_whole(files, scratch / "link", 5, &bytes, &status), ELOOP);
  EXPECT_EQ(read_whole(files, scratch / "fifo", 5, &bytes, &status), EINVAL);
  EXPECT_EQ(read_whole(files, scratch.path(), 5, &bytes, &status), EINVAL);
  EXPECT_EQ(read_file(scratch / "link"), "12345");
}

// The real file system, except that one call is repeatedly interrupted or does half of its work.
class HalfHearted : public ForwardingFileSystem {
 public:
  long open(const std::string& path, int flags, std::uint32_t mode) override {
    return interrupted() ? -EINTR : ForwardingFileSystem::open(path, flags, mode);
  }
  long read(int file, void* to, std::size_t bytes) override {
    return interrupted() ? -EINTR : ForwardingFileSystem::read(file, to, std::min<std::size_t>(bytes, 7));
  }
  long write(int file, const void* from, std::size_t bytes) override {
    return interrupted() ? -EINTR : ForwardingFileSystem::write(file, from, std::min<std::size_t>(bytes, 5));
  }
  long sync(int file) override { return interrupted() ? -EINTR : ForwardingFileSystem::sync(file); }

 private:
  bool interrupted() { return ++calls_ % 2 == 0; }
  int calls_ = 0;
};

TEST(Files, ShortAndInterruptedCallsAreTakenUpAgain) {
  const Scratch scratch;
  HalfHearted files;
  const std::string text(1000, 'x');
  StagedFile file(files, scratch / "file");
  ASSERT_EQ(file.write(text, 0600), 0);
  ASSERT_EQ(file.place(), 0);
  ASSERT_EQ(file.settle(), 0);
  std::string bytes;
  FileStatus status;
  ASSERT_EQ(read_whole(files, scratch / "file", 1000, &bytes, &status), 0);
  EXPECT_EQ(bytes, text);
}

TEST(Files, AStagedFileThatIsNotPlacedIsGone) {
  const Scratch scratch;
  {
    StagedFile file(real_file_system(), scratch / "file");
    ASSERT_EQ(file.write("x", 0600), 0);
    EXPECT_EQ(files_below(scratch.path()).size(), 1U);
  }
  EXPECT_TRUE(files_below(scratch.path()).empty());
}

TEST(Files, MakesTheDirectoriesThatAreMissing) {
  const Scratch scratch;
  EXPECT_EQ(make_directories(real_file_system(), scratch / "a/b/c", 0700), 0);
  EXPECT_EQ(make_directories(real_file_system(), scratch / "a/b/c", 0700), 0);
  FileStatus status;
  ASSERT_EQ(real_file_system().status(scratch / "a", &status), 0);
  EXPECT_EQ(status.kind, FileKind::directory);
  EXPECT_EQ(status.mode, 0700U);
  overwrite(scratch / "file", "");
  EXPECT_EQ(make_directories(real_file_system(), scratch / "file/x", 0700), ENOTDIR);
}

TEST(Files, StagingNamesAreNeverTheSame) {
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) names.insert(staging_name());
  EXPECT_EQ(names.size(), 1000U);
}

}  // namespace
}  // namespace quern::cache
