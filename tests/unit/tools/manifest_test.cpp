#include "io/manifest.h"

#include <gtest/gtest.h>

namespace quern::tool {
namespace {

std::string reason_of(std::string_view line) {
  const Manifest manifest = parse_manifest(line);
  return manifest.bad.empty() ? "" : manifest.bad.front().reason;
}

TEST(Manifest, ReadsItemsWithTheirLines) {
  const Manifest manifest = parse_manifest(
      "# what was prepared\n"
      "\n"
      "{\"problem\": \"gather width=8\", \"arch\": \"sm_90a\", \"config\": \"threads=128\"}\r\n"
      "   \n"
      "  {\"problem\": \"pointwise\", \"device_model\": \"NVIDIA H200\"}\n"
      "{\"problem\": \"gather\"}");
  EXPECT_TRUE(manifest.bad.empty());
  ASSERT_EQ(manifest.items.size(), 3U);
  EXPECT_EQ(manifest.items[0].line, 3);
  EXPECT_EQ(manifest.items[0].problem, "gather width=8");
  EXPECT_EQ(manifest.items[0].arch, "sm_90a");
  EXPECT_EQ(manifest.items[0].config, "threads=128");
  EXPECT_EQ(manifest.items[1].device_model, "NVIDIA H200");
  EXPECT_EQ(manifest.items[2].line, 6);
  EXPECT_EQ(manifest.items[2].arch, "");
}

TEST(Manifest, NamesEachBadLine) {
  const Manifest manifest = parse_manifest("nope\n{\"problem\": \"gather\"}\n{\"problem\": 3}\n");
  ASSERT_EQ(manifest.bad.size(), 2U);
  EXPECT_EQ(manifest.bad[0].line, 1);
  EXPECT_EQ(manifest.bad[1].line, 3);
  EXPECT_EQ(manifest.items.size(), 1U);
}

TEST(Manifest, AMemberGivenTwiceIsWrong) {
  EXPECT_EQ(reason_of("{\"problem\": \"gather\", \"arch\": \"sm_80\", \"arch\": \"sm_90a\"}"), "it has arch twice");
  EXPECT_EQ(reason_of("{\"problem\": \"gather\", \"problem\": \"gather\"}"), "it has problem twice");
}

// Regression: an error quotes its line, and a gigabyte of it was printed.
TEST(Manifest, ALongLineIsWrongAndNotShown) {
  const std::string reason = reason_of("{\"problem\": \"gather " + std::string(20000, 'x') + "\"}");
  EXPECT_EQ(reason, "it has 20022 bytes, and 16384 are the most; give each problem a line");
}

TEST(Manifest, SaysWhatIsWrong) {
  EXPECT_NE(reason_of("{\"problem\": \"gather\""), "");
  EXPECT_NE(reason_of("[1, 2]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(reason_of("{}").find("problem is missing"), std::string::npos);
  EXPECT_NE(reason_of("{\"problem\": \"\"}").find("empty"), std::string::npos);
  EXPECT_NE(reason_of("{\"problem\": \"gather\", \"arhc\": \"sm_90a\"}").find("arhc"), std::string::npos);
  EXPECT_NE(reason_of("{\"problem\": \"g\", \"arch\": \"a\", \"device_model\": \"b\"}").find("both"),
            std::string::npos);
  EXPECT_NE(reason_of("{\"problem\": \"\xff\"}"), "");
  EXPECT_NE(reason_of(std::string(100000, '[')), "");
  EXPECT_NE(reason_of("{\"problem\": 1e999}").find("too large"), std::string::npos);
}

TEST(Manifest, EmptyIsNoError) {
  EXPECT_TRUE(parse_manifest("").items.empty());
  EXPECT_TRUE(parse_manifest("\n\n# nothing\n").bad.empty());
}

}  // namespace
}  // namespace quern::tool
