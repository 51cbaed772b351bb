// What the family interface carries beyond what the library's own families use: operands, fields and sources that are
// lists, texts or generated, and plans of several steps. By families of the tests' own.
#include "base/text.h"
#include "plan/plan_state.h"
#include "support/check.h"
#include "support/device.h"
#include "support/joined/joined.h"
#include "support/two_stage/two_stage.h"

namespace quern::test {
namespace {

class InterfaceTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    runtime().add(Joined::family());
    runtime().add(TwoStage::family());
  }
  // What is wrong with the result of a problem; "" if it is right.
  std::string failure(const std::string& text, const std::string& config = {}, int offset = 0, bool open = false) {
    Case c;
    c.problem = text;
    c.config = config;
    c.offset = offset;
    CheckOptions options;
    options.open = open;
    options.guards = !on_host();
    return check_case(runtime(), driver(), c, options).failure;
  }
};

TEST_F(InterfaceTest, AnOperandIsAListOfUpTo64) {
  std::vector<std::string> widths;
  for (int i = 0; i < 64; ++i) widths.push_back(std::to_string(1 + 7 * i % 11));
  for (const std::string& list : {std::string("1"), std::string("3,1,8"), std::string("0,5,0"), join(widths, ",")}) {
    EXPECT_EQ(failure(cat("joined rows=5 widths=", list)), "") << list;
    EXPECT_EQ(failure(cat("joined rows=5 widths=", list), "", 0, true), "") << list << ", open rows";
  }
}

TEST_F(InterfaceTest, ATextBecomesAGeneratedSource) {
  EXPECT_EQ(failure("joined rows=3 widths=4,2 formula=\"x * x\""), "");
  EXPECT_EQ(failure("joined rows=3 widths=4,2 formula=\"x < 0 ? 0 : x + 1\""), "");
  const auto square = runtime().prepare_text("joined formula=\"x * x\"");
  const auto same = runtime().prepare_text("joined formula=x");
  EXPECT_NE(square.images()[0].key, same.images()[0].key) << "a generated source is part of the key";
  EXPECT_NE(square.source().find("return x * x;"), std::string::npos) << square.source();
}

TEST_F(InterfaceTest, APlanOfSeveralStepsRunsThemInOrder) {
  for (const int count : {1, 255, 256, 1000, 1001, 100000}) {
    for (const int stages : {1, 2}) {
      const std::string text = cat("two_stage count=", count, " stages=", stages);
      EXPECT_EQ(failure(text), "") << text;
      EXPECT_EQ(failure(text, "", 1), "") << text << ", misaligned";
      EXPECT_EQ(failure(text, "", 0, true), "") << text << ", open";
    }
  }
  EXPECT_EQ(failure("two_stage count=70000", "chunks.threads=32,total.vector=16"), "");
}

}  // namespace
}  // namespace quern::test
