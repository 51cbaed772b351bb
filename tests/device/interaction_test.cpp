// interaction on a device: sums that are exact in each order to the last bit, the same bits from every config, and
// batches that change between replays of a graph.
#include <gtest/gtest.h>

#include <cstring>

#include "base/text.h"
#include "quern/interaction.h"
#include "support/replay.h"

namespace quern::test {
namespace {

class InteractionOnDevice : public ReplayTest {
 protected:
  HostOperands generated(const std::string& text, std::uint64_t seed) {
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    host.generate(seed, false);
    return host;
  }
};

// Numbers that differ in bits: neither is NaN.
int different(const HostOperands& a, const HostOperands& b) {
  int count = 0;
  for (int i = 0; i < a.size(); ++i) {
    for (std::int64_t at = 0; at < a.bytes(i); at += 2) {
      std::uint16_t x = 0, y = 0;
      std::memcpy(&x, a.data(i) + at, 2), std::memcpy(&y, b.data(i) + at, 2);
      const auto is_nan = [](std::uint16_t bits) { return (bits & 0x7fffU) > 0x7f80U; };  // of bf16
      count += x != y && !(is_nan(x) && is_nan(y)) && ((x | y) & 0x7fffU) != 0 ? 1 : 0;
    }
  }
  return count;
}

// The tolerance is for other numbers than these. Denormals are among them only where nothing is added to them.
TEST_F(InteractionOnDevice, TensorCoresGiveExactSumsToTheLastBit) {
  for (const char* shape : {"features=27 dim=128 dense=128", "features=5 dim=33 diagonal=1", "features=40 dim=64",
                            "features=128 dim=2040 diagonal=1", "features=16 dim=8"}) {
    const HostOperands host = generated(cat("interaction batch=6 ", shape), 5);
    EXPECT_EQ(different(launched(host), host.reference(AnyArgs(host.family()))), 0) << shape;
  }
}

TEST_F(InteractionOnDevice, EveryConfigHasTheSameBits) {
  for (const char* text : {"interaction batch=9 features=27 dim=128 dense=128",
                           "interaction batch=9 features=27 dim=128 dense=128 pass=backward diagonal=1"}) {
    const HostOperands host = generated(text, 5), expected = launched(host);
    for (const char* config : {"whole=0", "unroll=1", "whole=0,unroll=4", "band=16", "threads=32", "band=16,unroll=4"})
      EXPECT_EQ(different(launched(host, config), expected), 0) << text << " " << config;
  }
}

TEST_F(InteractionOnDevice, ReplaysOtherNumbers) {
  for (const char* rest : {"dense=16", "dense=16 dtype=f32", "pass=backward", "pass=backward dtype=f32", "form=outer",
                           "form=outer pass=backward"})
    expect_replays(cat("interaction batch=9 features=5 dim=16 ", rest));
}

}  // namespace
}  // namespace quern::test
