#include "io/gunzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace quern::tool {
namespace {

namespace fs = std::filesystem;

class Gunzip : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  std::string packed(const std::string& text) const {
    const std::string path = (folder_ / "packed").string();
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string refusal(const std::string& path) {
    try {
      read_text_file(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::bad_input);
      EXPECT_NE(error.sentence.find(path), std::string::npos);
      return error.sentence;
    }
    return "";
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("gunzip" + std::to_string(getpid()));
};

// Longer than the buffer, and not too regular.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 250000; ++i) text += std::to_string(i * 7919 % 10007) + ",";
  return text;
}

TEST_F(Gunzip, ReadsPlainAndPackedFiles) {
  const std::string text = long_text();
  EXPECT_EQ(read_text_file(write("plain", text)), text);
  EXPECT_EQ(read_text_file(write("gz", packed(text))), text);
  EXPECT_EQ(read_text_file(write("two.gz", packed("one ") + packed("two"))), "one two");
  EXPECT_EQ(read_text_file(write("empty", "")), "");
}

TEST_F(Gunzip, RefusesTruncatedAndDamagedFiles) {
  const std::string whole = packed(long_text());
  for (const std::size_t cut : {std::size_t{1}, std::size_t{8}, whole.size() / 2, whole.size() - 30})
    EXPECT_NE(refusal(write("cut.gz", whole.substr(0, whole.size() - cut))).find("truncated"), std::string::npos)
        << cut;
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x10);
  EXPECT_NE(refusal(write("flipped.gz", flipped)).find("damaged"), std::string::npos);
}

TEST_F(Gunzip, RefusesWhatIsNoFile) {
  EXPECT_NE(refusal((folder_ / "none").string()).find("no such file"), std::string::npos);
  EXPECT_NE(refusal(folder_.string()).find("directory"), std::string::npos);
}

}  // namespace
}  // namespace quern::tool
