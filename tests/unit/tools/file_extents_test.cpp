#include "io/file_fields.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "plan/problem.h"

namespace quern::tool {
namespace {

using Shape = std::vector<std::int64_t>;

class FileExtents : public ::testing::Test {
 protected:
  static std::vector<InFile> file(const Family& family, const char* operand, const Shape& shape) {
    std::vector<InFile> files;
    for (int i = 0; i < family.operands.count; ++i) {
      if (std::string_view(operand) != family.operands[i].name) continue;
      files.push_back({{i, 0}, {}});
      files.back().header.shape = shape;
    }
    return files;
  }

  std::string inferred(const std::string& problem, const char* operand, const Shape& shape) const {
    AnyProblem parsed = runtime_.parse(problem);
    std::set<std::string> typed;
    for (const std::string_view word : split(problem, ' ')) typed.emplace(word.substr(0, word.find('=')));
    return join(infer_extents(parsed, file(parsed.family(), operand, shape), typed), " ");
  }

  std::int64_t said(const std::string& problem, const char* field, const char* operand, const Shape& shape) const {
    const AnyProblem parsed = runtime_.parse(problem);
    return extent_of_files(parsed, *find_field(parsed.family(), field), file(parsed.family(), operand, shape))
        .value_or(-1);
  }

  Runtime runtime_;
};

TEST_F(FileExtents, AFileOfThreeDimensionsSaysExpertsRowsAndCols) {
  const Shape shape = {2, 96, 416};
  EXPECT_EQ(inferred("mxfp8", "source", shape), "cols=416 experts=2");
  EXPECT_EQ(said("mxfp8", "rows", "source", shape), 96);
  EXPECT_EQ(said("mxfp8 experts=2", "rows", "source", shape), 96);
  EXPECT_EQ(said("mxfp8 experts=open", "experts", "source", shape), 2);
  EXPECT_EQ(inferred("mxfp8 source_order=rows", "source", shape), "cols=96 experts=2");
  EXPECT_EQ(inferred("mxfp8 prologue=gated", "source", shape), "cols=208 experts=2");
}

// The finding: rows were made up as 1024, and then the file was refused.
TEST_F(FileExtents, OfTwoDimensionsTheRowsAreThoseOfAllExperts) {
  EXPECT_EQ(said("mxfp8 experts=2", "rows", "source", {192, 416}), 96);
  EXPECT_EQ(said("mxfp8", "rows", "source", {192, 416}), 192);
  EXPECT_EQ(inferred("mxfp8 rows=96", "source", {192, 416}), "cols=416") << "experts are not guessed";
}

TEST_F(FileExtents, WhatWasNotTypedIsTheFilesAndWhatWasStays) {
  EXPECT_EQ(inferred("gather", "source", {4, 8}), "width=8");
  EXPECT_EQ(inferred("gather width=16", "source", {4, 8}), "");
  EXPECT_EQ(inferred("row_pad", "offsets", {5}), "groups=5");
  EXPECT_EQ(said("gather", "rows", "source", {4, 8}), 4);
  EXPECT_EQ(said("gather", "count", "source", {4, 8}), -1);
  EXPECT_EQ(said("gather", "rows", "source", {4, 8, 2, 1}), -1);
}

}  // namespace
}  // namespace quern::tool
