// Plans with the one image that a launch takes, as conformance has them on the host: what whole plans would launch.
#include "support/taken.h"

#include "base/text.h"
#include "support/check.h"
#include "support/device.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

class TakenVariants : public HostTest {
 protected:
  // The variants of the plan's images, "vectors elements".
  static std::string variants(const AnyPlan& plan) {
    std::string names;
    for (const ImageInfo& image : plan.images()) names += cat(names.empty() ? "" : " ", image.variant);
    return names;
  }
  AnyPlan whole(const AnyProblem& closed) {
    const AnyProblem open = opened(closed);
    return runtime().prepare_any(open.family(), open.data());
  }
  AnyPlan taken(const AnyProblem& closed, int offset) {
    const AnyProblem open = opened(closed);
    return runtime().prepare_any(with_taken_variants(open, closed, offset, describe_device(driver(), 0), ""),
                                 open.data());
  }
};

TEST_F(TakenVariants, FollowFromAddressesAndExtents) {
  const AnyProblem even = runtime().parse("gather rows=9 count=5 width=64"),
                   odd = runtime().parse("gather rows=9 count=5 width=63");
  const std::string both = variants(whole(even));
  const std::size_t blank = both.find(' ');
  ASSERT_NE(blank, std::string::npos) << both;
  EXPECT_EQ(variants(taken(even, 0)), both.substr(0, blank));
  EXPECT_EQ(variants(taken(even, 1)), both.substr(blank + 1));
  EXPECT_EQ(variants(taken(odd, 0)), both.substr(blank + 1)) << "the first does not fit";
}

TEST_F(TakenVariants, TakeNoLaunchAtOtherAddresses) {
  const AnyProblem closed = runtime().parse("gather rows=9 count=5 width=64");
  const HostOperands host(closed.family(), closed.data());
  const DeviceOperands aligned(driver(), host), shifted(driver(), host, 1);
  const AnyPlan plan = taken(closed, 0);
  plan.launch(nullptr, aligned.args(AnyArgs(closed.family())).data());
  synchronize();
  EXPECT_THROW(plan.launch(nullptr, shifted.args(AnyArgs(closed.family())).data()), Error);
}

TEST_F(TakenVariants, LeaveAConfigOfAnotherVariantToBeChecked) {
  const AnyProblem closed = runtime().parse("gather rows=9 count=5 width=64");
  const Device device = describe_device(driver(), 0);
  EXPECT_EQ(&with_taken_variants(closed, closed, 1, device, "unroll=1"), &closed.family());
  EXPECT_NE(&with_taken_variants(closed, closed, 0, device, "unroll=1"), &closed.family());
}

}  // namespace
}  // namespace quern::test
