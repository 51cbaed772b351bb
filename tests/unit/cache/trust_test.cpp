// Hostile directories and entries: refused with a reason, and the caller still gets an image.
#include "cache/trust.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "support.h"

namespace quern::cache {
namespace {

// Created in another place and renamed: the name of a socket is at most 107 bytes long.
void make_socket(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = std::filesystem::temp_directory_path() / staging_name();
  name.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(socket, reinterpret_cast<::sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);
  EXPECT_EQ(::rename(name.c_str(), path.c_str()), 0) << path;
}

bool make_device(const std::string& path) {
  return root() && ::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
}

// Memory serves, the reason is one line, and it is logged once.
void expect_refused(const std::string& dir, const std::string& reason, FileSystem& files = real_file_system()) {
  Warnings warnings;
  Builder builder;
  Store store(in(dir), warnings.log(), files);
  EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).origin, Origin::built);
  EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).origin, Origin::memory);
  EXPECT_EQ(store.get_or_build(key_named("b"), builder.build()).origin, Origin::built);
  EXPECT_NE(store.unusable().find(reason), std::string::npos) << store.unusable();
  EXPECT_NE(store.unusable().find(dir), std::string::npos) << store.unusable();
  EXPECT_EQ(store.counters().refused, 1U);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find(store.unusable()), std::string::npos);
  EXPECT_TRUE(store.list().empty());
}

TEST(Trust, NewDirectoryIsForItsOwnerOnly) {
  const Scratch scratch;
  Store(in(scratch / "a/cache"), silent()).put(key_named("gather"), image());
  for (const std::string& path : {scratch / "a", scratch / "a/cache"}) {
    FileStatus status;
    ASSERT_EQ(real_file_system().status(path, &status), 0);
    EXPECT_EQ(status.mode, 0700U);
  }
  FileStatus status;
  ASSERT_EQ(real_file_system().status(files_below(scratch / "a").at(0), &status), 0);
  EXPECT_EQ(status.mode, 0600U);
}

TEST(Trust, DirectoryThatIsAFile) {
  const Scratch scratch;
  overwrite(scratch / "cache", "");
  expect_refused(scratch / "cache", "is a plain file, not a directory");
  expect_refused(scratch / "cache/below", "Not a directory");
}

TEST(Trust, DirectoryThatIsALink) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "real");
  ASSERT_EQ(::chmod((scratch / "real").c_str(), 0700), 0);
  std::filesystem::create_directory_symlink("real", scratch / "cache");
  expect_refused(scratch / "cache", "is a symbolic link");
  Store with_slashes(in(scratch / "cache//./"), silent());
  EXPECT_NE(with_slashes.unusable().find("is a symbolic link"), std::string::npos);
  EXPECT_TRUE(files_below(scratch / "real").empty());
}

TEST(Trust, DirectoryThatOthersMayWrite) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "cache");
  for (const ::mode_t mode : {0777U, 0720U, 0702U, 01777U}) {
    ASSERT_EQ(::chmod((scratch / "cache").c_str(), mode), 0);
    expect_refused(scratch / "cache", "lets others write there");
  }
  ASSERT_EQ(::chmod((scratch / "cache").c_str(), 0755), 0);
  EXPECT_EQ(Store(in(scratch / "cache"), silent()).unusable(), "");
}

TEST(Trust, TheOverflowUidIsTheKernels) {
  std::ifstream file("/proc/sys/kernel/overflowuid");
  std::uint32_t uid = 65534;
  file >> uid;
  EXPECT_EQ(overflow_uid(), uid);
}

// As in a user namespace without a map: every owner, and the process itself, have the overflow uid.
class Unmapped : public ForwardingFileSystem {
 public:
  std::uint32_t user() override { return overflow_uid(); }
  long status(const std::string& path, FileStatus* status) override {
    return shown(ForwardingFileSystem::status(path, status), status);
  }
  long status(int file, FileStatus* status) override {
    return shown(ForwardingFileSystem::status(file, status), status);
  }

 private:
  static long shown(long result, FileStatus* status) {
    if (result == 0) status->owner = overflow_uid();
    return result;
  }
};

TEST(Trust, DirectoryOfTheOverflowUidIsNobodysOwn) {
  const Scratch scratch;
  Unmapped files;
  Store(in(scratch / "cache"), silent()).put(key_named("a"), image());
  expect_refused(scratch / "cache", "QUERN_CACHE_TRUST=mode-only would accept it", files);
  StoreSettings settings = in(scratch / "cache");
  settings.trust = Trust{Trust::Owners::any, {}};
  Store store(settings, silent(), files);
  EXPECT_NE(store.find(key_named("a")), nullptr);
  EXPECT_EQ(store.unusable(), "");
  StoreSettings shipped = in(scratch / "own");
  shipped.layers = {scratch / "cache"};
  Store reader(shipped, silent(), files);
  EXPECT_EQ(reader.find(key_named("a")), nullptr) << "nor is a layer the user's by that";
}

TEST(Trust, DirectoryOfAnotherOwner) {
  if (!root()) GTEST_SKIP() << "needs root";
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "cache");
  ASSERT_EQ(::chmod((scratch / "cache").c_str(), 0700), 0);
  ASSERT_EQ(::chown((scratch / "cache").c_str(), kNobody, kNobody), 0);
  expect_refused(scratch / "cache", "belongs to uid 65534");
}

// Another user for a while, because root may do everything.
class AsNobody {
 public:
  AsNobody() : was_(::geteuid()) {
    if (root()) {
      EXPECT_EQ(::seteuid(kNobody), 0);
    }
  }
  ~AsNobody() { EXPECT_EQ(::seteuid(was_), 0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  ::uid_t was_;
};

TEST(Trust, DirectoryThatCannotBeMade) {
  const Scratch scratch;
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0555), 0);
  {
    const AsNobody nobody;
    expect_refused(scratch / "cache", "Permission denied");
  }
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0700), 0);
}

// Its entries still serve.
TEST(Trust, DirectoryThatMayOnlyBeRead) {
  const Scratch scratch;
  const std::string dir = scratch / "cache";
  Store(in(dir), silent()).put(key_named("a"), image());
  class ReadOnlyMount : public ForwardingFileSystem {
    long can_write(const std::string&) override { return -EROFS; }
    long open(const std::string& path, int flags, std::uint32_t mode) override {
      return (flags & O_CREAT) != 0 ? -EROFS : ForwardingFileSystem::open(path, flags, mode);
    }
  } files;
  Warnings warnings;
  Builder builder;
  Store store(in(dir), warnings.log(), files);
  EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).origin, Origin::disk);
  EXPECT_EQ(store.get_or_build(key_named("b"), builder.build()).origin, Origin::built);
  EXPECT_NE(store.unusable().find("not writable: Read-only file system"), std::string::npos) << store.unusable();
  EXPECT_EQ(warnings.lines().size(), 1U);
}

// ---- entries

class HostileEntry : public ::testing::Test {
 protected:
  void SetUp() override {
    Store(in(dir_), silent()).put(key_, image());
    entry_ = dir_ + "/" + key_.path();
  }
  // It is skipped as untrusted, and the build that follows does not change the link's target.
  void expect_passed_over() {
    Builder builder;
    Store store(in(dir_), silent());
    EXPECT_EQ(store.get_or_build(key_, builder.build()).origin, Origin::built);
    EXPECT_EQ(store.counters().untrusted, 1U);
  }
  void expect_healed() { EXPECT_NE(Store(in(dir_), silent()).find(key_), nullptr); }

  Scratch scratch_;
  std::string dir_ = scratch_ / "cache";
  Key key_ = key_named("gather");
  std::string entry_;
};

TEST_F(HostileEntry, Link) {
  std::filesystem::rename(entry_, scratch_ / "elsewhere");
  std::filesystem::create_symlink(scratch_ / "elsewhere", entry_);
  const auto before = read_file(scratch_ / "elsewhere");
  expect_passed_over();
  expect_healed();
  EXPECT_EQ(read_file(scratch_ / "elsewhere"), before);
}

TEST_F(HostileEntry, FifoDoesNotBlock) {
  std::filesystem::remove(entry_);
  ASSERT_EQ(::mkfifo(entry_.c_str(), 0600), 0);
  expect_passed_over();
  expect_healed();
}

TEST_F(HostileEntry, DirectoryInItsPlace) {
  std::filesystem::remove(entry_);
  std::filesystem::create_directory(entry_);
  expect_passed_over();
  expect_healed();
}

TEST_F(HostileEntry, DirectoryWithSomebodysFilesStays) {
  std::filesystem::remove(entry_);
  std::filesystem::create_directory(entry_);
  overwrite(entry_ + "/thesis", "text");
  expect_passed_over();
  EXPECT_EQ(read_file(entry_ + "/thesis"), "text");
}

TEST_F(HostileEntry, Socket) {
  std::filesystem::remove(entry_);
  make_socket(entry_);
  expect_passed_over();
  expect_healed();
}

TEST_F(HostileEntry, Device) {
  std::filesystem::remove(entry_);
  if (!make_device(entry_)) GTEST_SKIP() << "needs root";
  expect_passed_over();
  expect_healed();
}

TEST_F(HostileEntry, WritableByOthers) {
  ASSERT_EQ(::chmod(entry_.c_str(), 0666), 0);
  expect_passed_over();
  expect_healed();
}

TEST_F(HostileEntry, OfAnotherOwner) {
  if (!root()) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chown(entry_.c_str(), kNobody, kNobody), 0);
  expect_passed_over();
  expect_healed();
}

TEST_F(HostileEntry, FolderThatIsALink) {
  const std::string folder = parent_directory(entry_);
  std::filesystem::rename(folder, scratch_ / "elsewhere");
  std::filesystem::create_directory_symlink(scratch_ / "elsewhere", folder);
  Builder builder;
  Store store(in(dir_), silent());
  EXPECT_EQ(store.get_or_build(key_, builder.build()).origin, Origin::built);
  EXPECT_GE(store.counters().untrusted, 1U);
  EXPECT_EQ(store.counters().builds, 1U);
  EXPECT_EQ(files_below(scratch_ / "elsewhere").size(), 1U);
  EXPECT_FALSE(std::filesystem::is_symlink(folder)) << "the link went, what it led to did not";
  expect_healed();
}

// ---- below the top directory: finding A6

// Objects that may be in place of a folder of entries, of `.leases` or of `.usage`.
struct Intruder {
  const char* name;
  const char* why;
  bool (*put)(const std::string& path);
};
const Intruder kIntruders[] = {
    {"an empty file", "is a plain file", [](const std::string& path) { return overwrite(path, ""), true; }},
    {"a directory that others may write", "lets others write there",
     [](const std::string& path) {
       return std::filesystem::create_directory(path) && ::chmod(path.c_str(), 0775) == 0;
     }},
    {"a fifo", "is a special file", [](const std::string& path) { return ::mkfifo(path.c_str(), 0600) == 0; }},
    {"a socket", "is a special file", [](const std::string& path) { return make_socket(path), true; }},
    {"a device", "is a special file", make_device},
    {"a link", "is a symbolic link",
     [](const std::string& path) { return std::filesystem::create_directory_symlink("/tmp", path), true; }},
    {"a link to nothing", "is a symbolic link",
     [](const std::string& path) { return std::filesystem::create_symlink("nowhere", path), true; }},
    {"a directory of another owner", "belongs to uid 65534",
     [](const std::string& path) {
       return root() && std::filesystem::create_directory(path) && ::chmod(path.c_str(), 0700) == 0 &&
              ::chown(path.c_str(), kNobody, kNobody) == 0;
     }},
};

class BelowTheTop : public HostileEntry {
 protected:
  // Each intruder that can be created here, in place of `path`.
  template <class Check>
  void in_place_of(const std::string& path, const Check& check) {
    for (const Intruder& intruder : kIntruders) {
      SCOPED_TRACE(intruder.name);
      std::filesystem::remove_all(dir_);
      Store(in(dir_), silent()).put(key_, image());
      std::filesystem::remove_all(path);
      if (intruder.put(path)) check(intruder);
    }
  }
  void expect_nothing_untrusted() { EXPECT_TRUE(Store(in(dir_), silent()).untrusted().empty()); }
  std::string folder() const { return parent_directory(entry_); }
};

TEST_F(BelowTheTop, WhatIsInPlaceOfAFolderIsSaidAndReplacedByARebuild) {
  in_place_of(folder(), [&](const Intruder& intruder) {
    Warnings warnings;
    Builder builder;
    Store store(in(dir_), warnings.log());
    const auto found = store.untrusted();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].key, key_.what_hash.hex());
    EXPECT_NE(found[0].damage.find(intruder.why), std::string::npos) << found[0].damage;
    EXPECT_EQ(store.get_or_build(key_, builder.build()).origin, Origin::built);
    EXPECT_GE(store.counters().untrusted, 1U);
    EXPECT_EQ(store.counters().not_stored, 0U);
    ASSERT_EQ(warnings.lines().size(), 1U);
    EXPECT_NE(warnings.lines()[0].find(intruder.why), std::string::npos) << warnings.lines()[0];
    EXPECT_NE(warnings.lines()[0].find("`quern cache prune`"), std::string::npos) << warnings.lines()[0];
    expect_healed();
    expect_nothing_untrusted();
  });
}

TEST_F(BelowTheTop, WhatIsInPlaceOfAFolderIsCleared) {
  in_place_of(folder(), [&](const Intruder&) {
    Store(in(dir_), silent()).clear();
    EXPECT_FALSE(std::filesystem::is_symlink(folder()) || std::filesystem::exists(folder()));
  });
}

TEST_F(BelowTheTop, WhatIsInPlaceOfAFolderIsRemovedByName) {
  in_place_of(folder(), [&](const Intruder&) {
    Store store(in(dir_), silent());
    for (const Item& item : store.untrusted()) EXPECT_TRUE(store.remove(item.key));
    expect_nothing_untrusted();
  });
}

TEST_F(BelowTheTop, WhatIsInPlaceOfTheLeasesIsReplaced) {
  in_place_of(dir_ + "/.leases", [&](const Intruder&) {
    Builder builder;
    Warnings warnings;
    Store store(in(dir_), warnings.log());
    ASSERT_EQ(store.untrusted().size(), 1U);
    EXPECT_EQ(store.get_or_build(key_named("b"), builder.build()).origin, Origin::built);
    EXPECT_EQ(warnings.lines().size(), 1U);
    expect_nothing_untrusted();
  });
}

TEST_F(BelowTheTop, WhatIsInPlaceOfTheUsageIsReplaced) {
  in_place_of(dir_ + "/.usage", [&](const Intruder& intruder) {
    if (std::string(intruder.name) == "an empty file") return;  // valid, except for its bytes
    Builder builder;
    Store store(in(dir_), silent());
    ASSERT_EQ(store.untrusted().size(), 1U);
    EXPECT_EQ(store.get_or_build(key_named("b"), builder.build()).origin, Origin::built);
    EXPECT_EQ(store.counters().not_stored, 0U);
    expect_nothing_untrusted();
  });
}

// A cache that was restored with umask 002.
TEST_F(BelowTheTop, FoldersThatOthersMayWriteAreClearedWithTheirImages) {
  ASSERT_EQ(::chmod(folder().c_str(), 0775), 0);
  overwrite(folder() + "/notes.txt", "somebody's");
  Store store(in(dir_), silent());
  EXPECT_EQ(store.clear(), 1U);
  EXPECT_EQ(files_below(dir_), std::vector<std::string>{folder() + "/notes.txt"});
}

TEST_F(BelowTheTop, AFolderThatCannotBeReplacedSaysWhy) {
  ASSERT_EQ(::chmod(folder().c_str(), 0775), 0);
  overwrite(folder() + "/notes.txt", "somebody's");
  Warnings warnings;
  Builder builder;
  Store store(in(dir_), warnings.log());
  EXPECT_EQ(store.get_or_build(key_, builder.build()).origin, Origin::built);
  EXPECT_EQ(store.counters().not_stored, 1U);
  ASSERT_EQ(warnings.lines().size(), 2U);
  EXPECT_NE(warnings.lines()[1].find("mode 0775"), std::string::npos) << warnings.lines()[1];
  EXPECT_NE(warnings.lines()[1].find("move it elsewhere"), std::string::npos) << warnings.lines()[1];
  EXPECT_EQ(warnings.lines()[1].find("Permission denied"), std::string::npos) << warnings.lines()[1];
}

TEST_F(BelowTheTop, ALayerWithFoldersThatOthersMayWriteSaysSo) {
  ASSERT_EQ(::chmod(folder().c_str(), 0775), 0);
  Warnings warnings;
  Builder builder;
  StoreSettings settings = in(scratch_ / "own");
  settings.layers = {dir_};
  Store store(settings, warnings.log());
  EXPECT_EQ(store.get_or_build(key_, builder.build()).origin, Origin::built);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("mode 0775"), std::string::npos);
  EXPECT_NE(warnings.lines()[0].find(cat("chmod -R go-w ", dir_)), std::string::npos) << warnings.lines()[0];
  ASSERT_EQ(store.untrusted().size(), 1U);
  EXPECT_EQ(store.untrusted()[0].layer, dir_);
}

}  // namespace
}  // namespace quern::cache
