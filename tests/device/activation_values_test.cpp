// Every activation of every 16-bit value, as stored: on a GPU with its approximate powers and reciprocals.
#include <gtest/gtest.h>

#include <cstring>

#include "base/sanitizers.h"
#include "base/text.h"
#include "common/activation_reference.h"
#include "quern/pointwise.h"
#include "support/device.h"
#include "support/stored_error.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

class ActivationValues : public DeviceTest {
 protected:
  // The kernel's results for all 65536 values of T.
  template <class T>
  std::vector<T> stored(const char* dtype, const char* activation) {
    const AnyProblem problem =
        runtime().parse(cat("pointwise rows=256 width=256 bias_spread=none dtype=", dtype, " activation=", activation));
    HostOperands host(problem.family(), problem.data());
    host.generate(1, false);
    std::vector<T> values(65536);
    for (unsigned bits = 0; bits < 65536; ++bits) values[bits] = common::bit_cast<T>(static_cast<unsigned short>(bits));
    std::memcpy(host.data(0), values.data(), values.size() * sizeof(T));
    DeviceOperands device(driver(), host);
    runtime()
        .prepare_any(problem.family(), problem.data())
        .launch(nullptr, device.args(AnyArgs(problem.family())).data());
    synchronize();
    device.download(host);
    std::memcpy(values.data(), host.data(kOut), values.size() * sizeof(T));
    return values;
  }

  template <class T>
  void check(const char* dtype) {
    for (const common::ActivationRow& row : common::kActivationRows) {
      double worst = 0;
      EXPECT_EQ(stored_worse_than_eager(row, stored<T>(dtype, row.name), worst), "") << dtype;
      std::printf("%s %s: largest error %.4f units\n", dtype, row.name, worst);
    }
  }

  static constexpr int kOut = 3;
};

TEST_F(ActivationValues, NoneInBf16IsWorseThanPyTorchs) { check<common::Bf16>("bf16"); }
#if !QUERN_ADDRESS_SANITIZER  // the same functions of fp32 again
TEST_F(ActivationValues, NoneInFp16IsWorseThanPyTorchs) { check<common::Fp16>("f16"); }
#endif

}  // namespace
}  // namespace quern::test
