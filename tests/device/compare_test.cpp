// The family that the check compares with.
#include "compare/compare.h"

#include "driver/stream.h"
#include "support/device.h"

namespace quern {
namespace {

class CompareTest : public test::DeviceTest {
 protected:
  // Where two ranges of `bytes`, `shift` bytes behind an aligned address, are said to differ that do so in `changed`.
  std::int64_t first(std::int64_t bytes, std::int64_t shift, const std::vector<std::int64_t>& changed) {
    std::vector<unsigned char> data(static_cast<std::size_t>(shift + bytes), 7);
    const DeviceMemory a(driver(), data.size() + 1);
    const DeviceMemory b(driver(), data.size() + 1);
    upload(a, data);
    for (const std::int64_t i : changed) data[static_cast<std::size_t>(shift + i)] = 8;
    upload(b, data);
    const DeviceMemory found(driver(), sizeof(std::int64_t));
    std::int64_t result = -1;
    driver().check(driver()->MemcpyHtoD(found.get(), &result, sizeof(result)), Stage::tool, "cuMemcpyHtoD");
    CompareArgs args;
    args.a = static_cast<unsigned char*>(a.data()) + shift;
    args.b = static_cast<unsigned char*>(b.data()) + shift;
    args.first = found.data();
    args.bytes = bytes;
    runtime().prepare(Compare{}).launch(nullptr, args);
    synchronize();
    driver().check(driver()->MemcpyDtoH(&result, found.get(), sizeof(result)), Stage::tool, "cuMemcpyDtoH");
    return result;
  }

 private:
  void upload(const DeviceMemory& memory, const std::vector<unsigned char>& data) {
    if (data.empty()) return;
    driver().check(driver()->MemcpyHtoD(memory.get(), data.data(), data.size()), Stage::tool, "cuMemcpyHtoD");
  }
};

TEST_F(CompareTest, FindsTheFirstDifferenceAtAnySizeAndAddress) {
  for (const std::int64_t bytes : {1, 15, 16, 17, 1000, 16384, 16400, 70001}) {
    for (const std::int64_t shift : {0, 1, 8}) {
      EXPECT_EQ(first(bytes, shift, {}), -1) << bytes << " " << shift;
      for (const std::int64_t at : {std::int64_t{0}, bytes / 2, bytes - 1}) {
        EXPECT_EQ(first(bytes, shift, {at}), at) << bytes << " " << shift;
        EXPECT_EQ(first(bytes, shift, {bytes - 1, at}), at) << bytes << " " << shift;
      }
    }
  }
}

TEST_F(CompareTest, LooksAtNothingBehindTheEnd) { EXPECT_EQ(first(0, 0, {}), -1); }

}  // namespace
}  // namespace quern
