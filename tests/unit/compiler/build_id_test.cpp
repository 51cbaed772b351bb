#include "compiler/build_id.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "compiler/nvrtc.h"
#include "quern/error.h"
#include "support/no_descriptors.h"
#include "unit/api/fake_nvrtc.h"
#include "unit/cache/support.h"

namespace quern {
namespace {

using cache::overwrite;
using cache::Scratch;

class BuildId : public ::testing::Test {
 protected:
  // Builds an empty shared library with the linker's `flags`.
  void build(const std::string& path, const std::string& flags) {
    const std::string source = scratch_ / "empty.cpp";
    overwrite(source, "int quern_empty() { return 0; }\n");
    std::string words;
    if (!test::run_compiler("-shared -fPIC " + flags + " -o " + path + " " + source, &words)) GTEST_SKIP() << words;
  }
  const Scratch scratch_;
};

TEST_F(BuildId, IsReadFromTheNoteOfTheFile) {
  const std::string path = scratch_ / "libempty.so";
  build(path, "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567");
  if (IsSkipped()) return;
  EXPECT_EQ(elf_build_id(path), "0123456789abcdef0123456789abcdef01234567");
  EXPECT_EQ(file_identity(path), elf_build_id(path));
}

TEST_F(BuildId, AFileWithoutOneIsKnownByItsBytes) {
  const std::string path = scratch_ / "libempty.so";
  build(path, "-Wl,--build-id=none");
  if (IsSkipped()) return;
  EXPECT_EQ(elf_build_id(path), "");
  EXPECT_EQ(file_identity(path).rfind("xxh3:", 0), 0u) << file_identity(path);
}

TEST_F(BuildId, ATruncatedFileIsNoTrap) {
  const std::string path = scratch_ / "libempty.so";
  build(path, "-Wl,--build-id=0xabcd");
  if (IsSkipped()) return;
  const std::string bytes = *read_file(path);
  for (std::size_t length = 0; length < 1024; length += 7) {
    overwrite(path, bytes.substr(0, length));
    const std::string id = elf_build_id(path);
    EXPECT_TRUE(id.empty() || id == "abcd") << length << ": " << id;
  }
  overwrite(path, bytes.substr(0, 100));
  EXPECT_EQ(elf_build_id(path), "");
  EXPECT_EQ(file_identity(path).rfind("xxh3:", 0), 0u);
}

TEST_F(BuildId, OtherFilesHaveNone) {
  const std::string path = scratch_ / "text";
  overwrite(path, "not an ELF file, but long enough to hold the header of one, which takes 64 bytes or so");
  EXPECT_EQ(elf_build_id(path), "");
  const std::string identity = file_identity(path);
  EXPECT_EQ(identity.rfind("xxh3:", 0), 0u);
  overwrite(path, "another text");
  EXPECT_NE(file_identity(path), identity);
  EXPECT_EQ(file_identity(scratch_ / "missing"), "");
}

// "Could not look" is different from "has none".
TEST_F(BuildId, AMomentWithoutDescriptorsIsAnError) {
  const std::string path = scratch_ / "libempty.so";
  build(path, "-Wl,--build-id=none");
  const test::NoDescriptors none;
  EXPECT_THROW(elf_build_id(path), Error);
  EXPECT_THROW(file_identity(path), Error);
}

TEST_F(BuildId, ADirectoryIsReadWithoutAnException) { EXPECT_EQ(file_identity(scratch_ / "."), ""); }

TEST_F(BuildId, TheCompilersIdentityCountsItsBuiltinsToo) {
  const std::string path = scratch_ / "libnvrtc.so.13";
  overwrite(path, "the compiler");
  const std::string alone = nvrtc_identity(path).text();
  EXPECT_NE(alone.find("builtins none"), std::string::npos) << alone;
  overwrite(scratch_ / "libnvrtc-builtins.alt.so.13.0", "a decoy");
  overwrite(scratch_ / "libnvrtc-builtins.so.12.9", "another decoy");
  EXPECT_EQ(nvrtc_identity(path).text(), alone);
  overwrite(scratch_ / "libnvrtc-builtins.so.13.0", "the builtins");
  const std::string both = nvrtc_identity(path).text();
  EXPECT_NE(both, alone);
  overwrite(scratch_ / "libnvrtc-builtins.so.13.0", "other builtins");
  EXPECT_NE(nvrtc_identity(path).text(), both);
}

}  // namespace
}  // namespace quern
