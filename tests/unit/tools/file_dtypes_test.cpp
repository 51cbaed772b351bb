#include "io/file_fields.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace quern::tool {
namespace {

class FileDtypes : public ::testing::Test {
 protected:
  // "source:<f2", a file a word.
  static std::vector<InFile> files(const Family& family, const std::vector<std::string>& words) {
    std::vector<InFile> files;
    for (const std::string& word : words) {
      const std::size_t colon = word.find(':');
      for (int i = 0; i < family.operands.count; ++i) {
        if (word.substr(0, colon) != family.operands[i].name) continue;
        files.push_back({{i, 0}, {}});
        files.back().header.type = word.substr(colon + 1);
      }
    }
    EXPECT_EQ(files.size(), words.size());
    return files;
  }

  std::string inferred(const std::string& problem, const std::vector<std::string>& words) const {
    AnyProblem parsed = runtime_.parse(problem);
    std::set<std::string> typed;
    for (const std::string_view word : split(problem, ' ')) typed.emplace(word.substr(0, word.find('=')));
    return join(infer_dtypes(parsed, files(parsed.family(), words), typed), " ");
  }

  std::string fitting(const std::string& problem, const std::string& word) const {
    const AnyProblem parsed = runtime_.parse(problem);
    return join(fitting_dtypes(parsed, files(parsed.family(), {word}).front()), " ");
  }

  Runtime runtime_;
};

TEST_F(FileDtypes, AreThoseOfTheFiles) {
  EXPECT_EQ(inferred("gather width=8", {"source:<f2"}), "dtype=f16");
  EXPECT_EQ(inferred("gather width=8", {"source:<f8", "index:<i4"}), "dtype=f64 index=i32");
  EXPECT_EQ(inferred("gather width=8", {"index:<i2"}), "index=i16");
  EXPECT_EQ(inferred("pointwise", {"x:<f4"}), "dtype=f32") << "the bias and the output follow";
  EXPECT_EQ(inferred("pointwise op=add_mul_act", {"x:<f4", "y:<f2"}), "dtype=f32 y_dtype=f16");
}

TEST_F(FileDtypes, AnOperandThatIsNotThereIsMadeByItsFile) {
  EXPECT_EQ(inferred("gather width=8 dtype=f32", {"scale:<f4"}), "scale=f32");
}

TEST_F(FileDtypes, WhatWasTypedStays) {
  EXPECT_EQ(inferred("gather width=8 dtype=bf16", {"source:<f2"}), "");
  EXPECT_EQ(inferred("gather width=8 dtype=bf16 index=i64", {"source:<f2", "index:<i4"}), "");
}

TEST_F(FileDtypes, WhatFitsAsItIsStays) {
  EXPECT_EQ(inferred("gather width=8", {"source:<u2", "index:<i8"}), "") << "bf16 lies in uint16";
  EXPECT_EQ(inferred("gather width=8", {"source:|V2"}), "");
  EXPECT_EQ(inferred("gather width=8 dtype=e4m3", {"source:|u1"}), "");
}

// A byte of NumPy's is u8; a raw byte may be any of three types.
TEST_F(FileDtypes, NumPysOwnTypeIsMeantAndNothingIsGuessed) {
  EXPECT_EQ(inferred("gather width=8", {"source:|u1"}), "dtype=u8");
  EXPECT_EQ(inferred("gather width=8", {"source:|V1"}), "");
  EXPECT_EQ(fitting("gather width=8", "source:|V1"), "dtype=e4m3 dtype=e5m2 dtype=e8m0");
}

TEST_F(FileDtypes, WhatNoDtypeHoldsIsLeft) {
  EXPECT_EQ(inferred("pointwise", {"x:<f8"}), "");
  EXPECT_EQ(fitting("pointwise", "x:<f8"), "");
  EXPECT_EQ(fitting("gather width=8 index=i64", "index:<i4"), "index=i32");
}

}  // namespace
}  // namespace quern::tool
