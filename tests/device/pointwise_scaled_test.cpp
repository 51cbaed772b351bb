// Programs whose outputs are quantized on a device: the bits of mxfp8, which has the same words for it, with every
// config and at every address.
#include <gtest/gtest.h>

#include <cstring>

#include "base/text.h"
#include "quern/pointwise.h"
#include "support/replay.h"

namespace quern::test {
namespace {

class PointwiseScales : public ReplayTest {
 protected:
  HostOperands generated(const std::string& text) {
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    host.generate(11, false);
    return host;
  }
  // Of the operand of that name, or of that list's first entry.
  static int find(const HostOperands& of, const std::string& name) {
    for (int i = 0; i < of.size(); ++i) {
      if (of.operand(i).name == name) return i;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  static std::string bytes_of(const HostOperands& of, const std::string& name) {
    const int i = find(of, name);
    return {reinterpret_cast<const char*>(of.data(i)), static_cast<std::size_t>(of.bytes(i))};
  }
};

TEST_F(PointwiseScales, HaveTheBitsOfMxfp8) {
  const char* const settings[] = {"scaling=mx",
                                  "scaling=mx scale_layout=blocked mode=floor",
                                  "scaling=mx policy=te",
                                  "scaling=mx mode=even",
                                  "scaling=block128 mode=exact",
                                  "scaling=row mode=exact",
                                  "scaling=row mode=ceil"};
  for (const char* scaling : settings) {
    const HostOperands host = generated(cat("pointwise rows=70 width=1408 ", scaling, " expr=\"y: e4m3; y = x\""));
    const HostOperands got = launched(host);
    HostOperands other = generated(cat("mxfp8 rows=70 cols=1408 direction=row ", scaling));
    const int source = find(other, "source");
    ASSERT_EQ(other.bytes(source), host.bytes(find(host, "inputs")));
    std::memcpy(other.data(source), host.data(find(host, "inputs")), static_cast<std::size_t>(other.bytes(source)));
    const HostOperands expected = launched(other);
    EXPECT_EQ(bytes_of(got, "outputs"), bytes_of(expected, "out")) << scaling;
    EXPECT_EQ(bytes_of(got, "scales"), bytes_of(expected, "scales")) << scaling;
  }
}

TEST_F(PointwiseScales, NoConfigAndNoAddressChangesABit) {
  for (const char* scaling : {"scaling=mx", "scaling=block128", "scaling=row mode=exact"}) {
    for (const int width : {200, 2600}) {
      const HostOperands host = generated(cat("pointwise rows=13 width=", width, " ", scaling,
                                              " expr=\"w: row; y: e4m3; let e = x * w; ", "y = e / sum(abs(e))\""));
      const HostOperands first = launched(host);
      const auto expect_same = [&](const HostOperands& got, const char* how) {
        EXPECT_EQ(bytes_of(got, "outputs"), bytes_of(first, "outputs")) << scaling << width << how;
        EXPECT_EQ(bytes_of(got, "scales"), bytes_of(first, "scales")) << scaling << width << how;
      };
      for (const char* config : {"vector=8", "unroll=2", "form=2"}) expect_same(launched(host, config), config);
      DeviceOperands shifted(driver(), host, 1);
      expect_same(launched_on(shifted, host), "misaligned");
    }
  }
}

}  // namespace
}  // namespace quern::test
