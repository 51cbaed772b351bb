// What a launch may ask of the driver: large parameters, more shared memory than a kernel has without asking, and
// attributes. By a family of the tests' own.
#include <vector>

#include "base/text.h"
#include "support/device.h"
#include "support/wide/wide.h"

namespace quern::test {
namespace {

class LaunchTest : public DeviceTest {
 protected:
  // The contents of `out`, initially -1, after a launch, and the number of blocks that arrived.
  std::vector<int> launched(const Wide& problem, int* arrived = nullptr) {
    if (runtime().state().families.count("wide") == 0) runtime().add(Wide::family());
    const auto plan = runtime().prepare(problem);
    std::vector<int> values(static_cast<std::size_t>(problem.blocks) + 1, -1);
    values.back() = 0;
    CUdeviceptr memory = 0;
    const std::size_t bytes = values.size() * sizeof(int);
    driver().check(driver()->MemAlloc(&memory, bytes), Stage::tool, "cuMemAlloc");
    driver().check(driver()->MemcpyHtoD(memory, values.data(), bytes), Stage::tool, "cuMemcpyHtoD");
    const auto result = plan.try_launch(nullptr, {reinterpret_cast<void*>(memory),
                                                  reinterpret_cast<void*>(memory + sizeof(int) * (values.size() - 1))});
    if (!result) said_ = result.error().what();
    synchronize();
    driver().check(driver()->MemcpyDtoH(values.data(), memory, bytes), Stage::tool, "cuMemcpyDtoH");
    driver()->MemFree(memory);
    if (arrived != nullptr) *arrived = values.back();
    values.pop_back();
    return values;
  }
  static std::vector<int> expected(std::int64_t blocks) {
    std::vector<int> values;
    for (int b = 0; b < blocks; ++b) values.push_back(7 * (b % 1000) + 1);
    return values;
  }
  std::string said_;
};

TEST_F(LaunchTest, ParametersOfFourThousandBytesArriveWhole) {
  EXPECT_EQ(launched({1500, 4000, WideLaunch::plain}), expected(1500));
}

TEST_F(LaunchTest, SharedMemoryThatMustBeAskedForIs) {
  for (const std::int64_t bytes : {48 << 10, (48 << 10) + 4, 100'000, 200'000, 60'000})
    EXPECT_EQ(launched({5, bytes, WideLaunch::plain}), expected(5)) << bytes;
}

TEST_F(LaunchTest, MoreSharedMemoryThanTheDeviceHasIsAnErrorWithTheDriversCode) {
  EXPECT_EQ(launched({5, 1 << 20, WideLaunch::plain}), std::vector<int>(5, -1));
  EXPECT_NE(said_.find("cuFuncSetAttribute"), std::string::npos) << said_;
}

TEST_F(LaunchTest, BlocksOfACooperativeLaunchMayWaitForEachOther) {
  int arrived = 0;
  EXPECT_EQ(launched({8, 4000, WideLaunch::cooperative}, &arrived), expected(8));
  EXPECT_EQ(arrived, 8);
  EXPECT_EQ(launched({1 << 20, 4000, WideLaunch::cooperative}).front(), -1) << "more blocks than can run at once";
  EXPECT_NE(said_.find("cuLaunchKernelEx"), std::string::npos) << said_;
}

TEST_F(LaunchTest, AProgrammaticLaunchGivesTheSameResult) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launched({8, 4000, WideLaunch::programmatic}), expected(8));
}

}  // namespace
}  // namespace quern::test
