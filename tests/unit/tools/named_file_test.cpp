#include "io/named_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "support/scratch.h"

namespace quern::tool {
namespace {

using test::Scratch;
namespace fs = std::filesystem;

std::string content(const std::string& path) { return read_file(path).value_or("(none)"); }

std::string refusal(const std::string& path) {
  try {
    check_named_file("--out", path);
  } catch (const Error& error) {
    return error.sentence;
  }
  return "";
}

// Gone where a rename put a file in its place.
bool is_fifo(const std::string& path) { return fs::is_fifo(fs::symlink_status(path)); }

TEST(NamedFile, ANewNameAndARegularFileAreReplaced) {
  const Scratch scratch;
  write_named_file(scratch / "y", "one");
  const int old = ::open((scratch / "y").c_str(), O_RDONLY);
  write_named_file(scratch / "y", "two");
  EXPECT_EQ(content(scratch / "y"), "two");
  char before[4] = {};
  EXPECT_EQ(::read(old, before, 3), 3);
  EXPECT_STREQ(before, "one") << "a reader of the old file must keep it whole";
  ::close(old);
}

TEST(NamedFile, ALinkStaysAndItsTargetIsReplaced) {
  const Scratch scratch;
  fs::create_directory(scratch / "there");
  write_named_file(scratch / "there/file", "old");
  fs::create_symlink("there/second", scratch / "first");
  fs::create_symlink("file", scratch / "there/second");
  write_named_file(scratch / "first", "new");
  EXPECT_TRUE(fs::is_symlink(scratch / "first"));
  EXPECT_TRUE(fs::is_symlink(scratch / "there/second"));
  EXPECT_EQ(content(scratch / "there/file"), "new");
}

TEST(NamedFile, ALinkToNothingStaysAndItsTargetIsMade) {
  const Scratch scratch;
  fs::create_symlink(scratch / "file", scratch / "link");
  EXPECT_EQ(refusal(scratch / "link"), "");
  write_named_file(scratch / "link", "new");
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  EXPECT_EQ(content(scratch / "file"), "new");
}

TEST(NamedFile, AFifoIsWrittenInPlace) {
  const Scratch scratch;
  const std::string fifo = scratch / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refusal(fifo), "");
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  write_named_file(fifo, "through");
  char got[16] = {};
  EXPECT_EQ(::read(reader, got, sizeof(got)), 7);
  EXPECT_STREQ(got, "through");
  EXPECT_TRUE(is_fifo(fifo));
  ::close(reader);
}

// By its descriptor: in /proc nothing can be made or renamed either.
TEST(NamedFile, AFullDeviceIsAnError) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  try {
    write_named_file(cat("/proc/self/fd/", full), "lost");
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_NE(error.sentence.find("No space left on device"), std::string::npos) << error.sentence;
  }
  ::close(full);
}

// A terminal: in /dev/pts nothing can be made or renamed, so that no fault here can cost the machine a device.
TEST(NamedFile, ACharacterDeviceIsWrittenInPlace) {
  const Scratch scratch;
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const std::string device = ::ptsname(terminal);
  const int other_end = ::open(device.c_str(), O_RDWR | O_NOCTTY);  // keeps written data readable
  fs::create_symlink(device, scratch / "link");
  for (const std::string& path : {device, scratch / "link"}) {
    EXPECT_EQ(refusal(path), "");
    write_named_file(path, "seen");
    char got[16] = {};
    EXPECT_EQ(::read(terminal, got, sizeof(got)), 4);
    EXPECT_STREQ(got, "seen");
  }
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  EXPECT_TRUE(fs::is_character_file(device));
  ::close(other_end), ::close(terminal);
}

TEST(NamedFile, AnOpenFileBelowProcIsWrittenInPlace) {
  const Scratch scratch;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  fs::create_symlink("/proc/self/fd/" + std::to_string(ends[1]), scratch / "stdout");
  write_named_file(scratch / "stdout", "through");
  char got[16] = {};
  EXPECT_EQ(::read(ends[0], got, sizeof(got)), 7);
  EXPECT_STREQ(got, "through");
  ::close(ends[0]), ::close(ends[1]);
}

TEST(NamedFile, WhatCannotBeWrittenIsRefusedFirst) {
  const Scratch scratch;
  fs::create_symlink("loop", scratch / "loop");
  EXPECT_NE(refusal(scratch.path()).find("is a directory; name a file"), std::string::npos);
  EXPECT_NE(refusal(scratch / "no/file").find("does not exist"), std::string::npos);
  EXPECT_NE(refusal(scratch / "loop").find("cannot be written to"), std::string::npos);
  EXPECT_THROW(write_named_file(scratch / "loop", "x"), Error);
}

}  // namespace
}  // namespace quern::tool
