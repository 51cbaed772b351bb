// glu on a device: the same bits from every config, the bits of two launches from one that quantizes, and counts that
// change between replays of a graph.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "driver/stream.h"
#include "quern/glu.h"
#include "quern/mxfp8.h"
#include "support/replay.h"

namespace quern::test {
namespace {

class GluOnDevice : public ReplayTest {
 protected:
  HostOperands generated(const std::string& text) {
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    host.generate(3, false);
    return host;
  }
  static int operand(const HostOperands& of, std::string_view name) {
    for (int i = 0; i < of.size(); ++i) {
      if (of.operand(i).name == name) return i;
    }
    ADD_FAILURE() << "no operand " << name;
    return 0;
  }
  // Of a bias gradient of f32, with one number for NaN, which has many bits.
  static std::vector<float> sums_of(const HostOperands& of) {
    const int i = operand(of, "bias_gradient");
    std::vector<float> sums(static_cast<std::size_t>(of.bytes(i)) / sizeof(float));
    std::memcpy(sums.data(), of.data(i), sums.size() * sizeof(float));
    for (float& sum : sums) sum = std::isnan(sum) ? 0x1p120F : sum;
    return sums;
  }
  // What a plan without other operands than x and out makes of the host's x, which is at this address.
  std::string out_of(const AnyPlan& plan, const HostOperands& host, std::size_t offset) {
    const auto bytes = static_cast<std::size_t>(host.bytes(0));
    std::string out = text_of(host, "out");
    const DeviceMemory x(driver(), bytes + offset), made(driver(), out.size());
    driver().check(driver()->MemcpyHtoD(x.get() + offset, host.data(0), bytes), Stage::tool, "cuMemcpyHtoD");
    GluArgs args;
    args.x = static_cast<const unsigned char*>(x.data()) + offset;
    args.out = made.data();
    plan.launch(nullptr, &args);
    synchronize();
    driver().check(driver()->MemcpyDtoH(out.data(), made.get(), out.size()), Stage::tool, "cuMemcpyDtoH");
    return out;
  }
  static std::string text_of(const HostOperands& of, const char* name) {
    const int i = operand(of, name);
    return {reinterpret_cast<const char*>(of.data(i)), static_cast<std::size_t>(of.bytes(i))};
  }
};

TEST_F(GluOnDevice, EveryConfigHasTheSameBits) {
  for (const char* rest :
       {"activation=gelu", "activation=mish pass=backward recompute=out layout=interleaved",
        "pass=backward bias=f32 bias_gradient=f32 scale=f32", "scaling=mx mode=floor", "scaling=row pass=backward",
        "pass=backward scale=f32 layout=interleaved dtype=f32", "scaling=block128 mode=exact dtype=f32"}) {
    const HostOperands host = generated(cat("glu rows=150 width=640 ", rest));
    const HostOperands first = launched(host);
    for (const char* config : {"form=0,vector=8,unroll=1", "form=0,vector=16,unroll=1", "form=1,unroll=1",
                               "form=1,unroll=2", "form=1,unroll=4,load_stream=1"}) {
      // Configs that a problem does not have are refused.
      try {
        const HostOperands other = launched(host, config);
        for (const char* name : {"out", "x_gradient", "bias_gradient", "scale_gradient", "scales", "workspace"})
          EXPECT_EQ(text_of(other, name), text_of(first, name)) << rest << " " << config << " " << name;
      } catch (const Error& error) {
        EXPECT_EQ(error.code, Code::bad_input) << rest << " " << config << ": " << error.what();
      }
    }
  }
}

// Where no vector divides a row. Each address of x has its own aligned blocks, in which the first and the last of x's
// numbers begin and end; 128 windows hold 31 rows, 1238 hold 300.
TEST_F(GluOnDevice, PackedRowsHaveTheSameBitsAtEveryAddress) {
  for (const int rows : {31, 300}) {
    const std::string text = cat("glu rows=", rows, " width=33 activation=gelu");
    const HostOperands host = generated(text);
    const std::string expected = text_of(launched(host, "form=1,unroll=4"), "out");
    const AnyProblem problem = runtime().parse(text);
    for (const char* config : {"form=3,unroll=1", "form=3,unroll=2"}) {
      PrepareOptions changed;
      changed.config = config;
      const AnyPlan plan = runtime().prepare_any(problem.family(), problem.data(), changed);
      for (std::size_t offset = 0; offset < 16; offset += 2)
        EXPECT_EQ(out_of(plan, host, offset), expected) << rows << " rows, " << config << " at " << offset;
    }
  }
}

TEST_F(GluOnDevice, SoHaveGradientsOfPointwise) {
  for (const char* rest : {"activation=gelu op=add_mul_act", "activation=silu bias_gradient=f32",
                           "op=add_mul_act activation=mish bias_gradient=f32 multiplier_gradient=f32"}) {
    const HostOperands host = generated(cat("pointwise rows=300 width=640 pass=backward ", rest));
    const HostOperands first = launched(host);
    for (const char* config :
         {"form=0,vector=8,unroll=1", "form=0,vector=16,unroll=1", "form=2,unroll=1", "form=2,unroll=2"}) {
      const HostOperands other = launched(host, config);
      for (const char* name : {"x_gradient", "y_gradient", "bias_gradient", "multiplier_gradient", "workspace"})
        EXPECT_EQ(text_of(other, name), text_of(first, name)) << rest << " " << config << " " << name;
    }
  }
}

// Of an activation whose last bits differ between devices, here between what is stored and what is quantized.
TEST_F(GluOnDevice, QuantizedResultsAreThoseOfTwoLaunches) {
  for (const char* rest : {"", "activation=gelu layout=interleaved", "activation=gelu_tanh dtype=f16 gating=clamped",
                           "activation=silu dtype=f32"}) {
    for (const char* scaling : {"scaling=mx", "scaling=mx scale_layout=blocked mode=even", "scaling=row mode=exact",
                                "scaling=block128 element=e5m2"}) {
      const bool tail = std::string_view(scaling).find("row") == std::string_view::npos;
      const HostOperands plain = launched(generated(cat("glu rows=70 width=200 ", rest)));
      HostOperands in = generated(cat("glu rows=70 width=200 ", rest, " ", scaling));
      std::memcpy(in.data(0), plain.data(0), static_cast<std::size_t>(in.bytes(0)));
      const HostOperands one = launched(in);
      const auto type = static_cast<const Glu*>(plain.problem())->dtype;
      HostOperands second = generated(cat("mxfp8 rows=70 cols=200 ", tail ? "tail=pad " : "", "dtype=",
                                          type == f32   ? "f32 "
                                          : type == f16 ? "f16 "
                                                        : "bf16 ",
                                          scaling));
      std::memcpy(second.data(0), plain.data(operand(plain, "out")), static_cast<std::size_t>(second.bytes(0)));
      const HostOperands two = launched(second);
      EXPECT_EQ(text_of(one, "out"), text_of(two, "out")) << rest << " " << scaling;
      EXPECT_EQ(text_of(one, "scales"), text_of(two, "scales")) << rest << " " << scaling;
    }
  }
}

// Found in review: tiles write several scales at once, and any address of theirs was taken for aligned.
TEST_F(GluOnDevice, ScalesOfColumnsMayLieAnywhere) {
  for (const char* rest : {"scaling=mx", "scaling=mx scale_layout=blocked", "scaling=block128"}) {
    const HostOperands host = generated(cat("glu rows=128 width=256 direction=both ", rest));
    const HostOperands expected = launched(host);
    const AnyPlan plan = runtime().prepare_any(host.family(), host.problem(), {});
    const std::int64_t odd = std::string_view(rest).find("mx") == std::string_view::npos ? 4 : 1;
    for (const char* name : {"scales", "scales_col"}) {
      DeviceOperands device(driver(), host);
      device.upload(host);
      const int number = operand(host, name);
      const auto bytes = static_cast<std::size_t>(host.bytes(number));
      const DeviceMemory moved(driver(), bytes + 16);
      GluArgs args;
      std::memcpy(static_cast<void*>(&args), device.args(AnyArgs(host.family())).data(), sizeof(args));
      Out& scales = *name == 's' && name[6] == 0 ? args.scales : args.scales_col;
      scales.data = static_cast<std::uint8_t*>(moved.data()) + odd;
      plan.launch(nullptr, &args);
      synchronize();
      std::string got(bytes, 0);
      driver().check(driver()->MemcpyDtoH(got.data(), moved.get() + static_cast<std::size_t>(odd), bytes), Stage::tool,
                     "cuMemcpyDtoH");
      EXPECT_EQ(got, text_of(expected, name)) << rest << " " << name;
    }
  }
}

TEST_F(GluOnDevice, BothWaysTheBitsAreThoseOfTwoLaunches) {
  for (const char* pass : {"", "pass=backward layout=swapped activation=gelu"}) {
    for (const char* scaling : {"scaling=mx", "scaling=mx scale_layout=blocked mode=even", "scaling=block128"}) {
      const bool backward = *pass != 0;
      const int rows = *scaling == 's' && scaling[8] == 'm' ? 128 : 70;
      const char* const made = backward ? "x_gradient" : "out";
      HostOperands in = generated(cat("glu rows=", rows, " width=256 ", pass, " direction=both ", scaling));
      HostOperands plain_in = generated(cat("glu rows=", rows, " width=256 ", pass));
      for (const char* name : {"x", "gradient"}) {
        const int i = operand(in, name);
        if (in.bytes(i) > 0) std::memcpy(plain_in.data(i), in.data(i), static_cast<std::size_t>(in.bytes(i)));
      }
      const HostOperands one = launched(in), plain = launched(plain_in);
      HostOperands second =
          generated(cat("mxfp8 rows=", rows, " cols=", backward ? 512 : 256, " tail=pad direction=both ", scaling));
      std::memcpy(second.data(0), plain.data(operand(plain, made)), static_cast<std::size_t>(second.bytes(0)));
      const HostOperands two = launched(second);
      EXPECT_EQ(text_of(one, made), text_of(two, "out")) << pass << " " << scaling;
      EXPECT_EQ(text_of(one, backward ? "x_gradient_col" : "out_col"), text_of(two, "out_col"))
          << pass << " " << scaling;
      for (const char* scales : {"scales", "scales_col"}) EXPECT_EQ(text_of(one, scales), text_of(two, scales)) << pass;
    }
  }
}

// The tiles that make the sums quantize as what quantizes rows alone, and add up as what adds up alone.
TEST_F(GluOnDevice, ABiasGradientBesideAScalingChangesNoBitOfEither) {
  struct Kind {
    const char* scaling;
    const char* rest;
  };
  for (const Kind& kind : {Kind{"mx", ""}, Kind{"mx scale_layout=blocked", "layout=swapped activation=gelu"},
                           Kind{"mx policy=te element=e5m2", "layout=interleaved"}, Kind{"tensor", "dtype=f16"},
                           Kind{"block128 mode=exact", "layout=blocks block=128"}, Kind{"block128", "dtype=f32"}}) {
    const std::string plain = cat("glu rows=300 width=256 pass=backward ", kind.rest);
    const std::string scaling = cat(" scaling=", kind.scaling), sums = " bias_gradient=f32";
    const HostOperands in = generated(cat(plain, scaling, sums));
    const auto made_alone = [&](const std::string& which) {
      HostOperands other = generated(cat(plain, which));
      for (const char* name : {"x", "gradient", "given_scale"}) {
        const int i = operand(in, name);
        if (other.bytes(i) > 0) std::memcpy(other.data(i), in.data(i), static_cast<std::size_t>(in.bytes(i)));
      }
      return launched(other);
    };
    const HostOperands both = launched(in), quantized = made_alone(scaling), summed = made_alone(sums);
    for (const char* name : {"x_gradient", "scales"})
      EXPECT_EQ(text_of(both, name), text_of(quantized, name)) << plain << scaling << " " << name;
    EXPECT_EQ(sums_of(both), sums_of(summed)) << plain << scaling;
  }
}

TEST_F(GluOnDevice, AReplayHasOtherCountsAndSums) {
  expect_replays("glu rows=40 width=96 groups=7 counts=i32");
  expect_replays("glu rows=40 width=96 groups=7 counts=i64 pass=backward bias_gradient=f32 scale=f32");
  expect_replays("glu rows=5000 width=40 pass=backward bias_gradient=f32 dtype=f32 activation=relu");
  expect_replays("glu rows=5000 width=32 pass=backward bias_gradient=f32 scaling=mx");
}

// ptr + 4 bytes and the like; x, gradient and outputs apart.
TEST_F(GluOnDevice, AnyElementAlignedAddressGivesTheSameBits) {
  const HostOperands host = generated("glu rows=37 width=256 pass=backward recompute=out");
  const HostOperands expected = launched(host);
  const AnyPlan plan = runtime().prepare_any(host.family(), host.problem(), {});
  for (const int offset : {1, 2, 4, 7}) {
    DeviceOperands device(driver(), host, offset);
    device.upload(host);
    plan.launch(nullptr, device.args(AnyArgs(host.family())).data());
    synchronize();
    HostOperands got = host;
    device.download(got);
    EXPECT_EQ(device.damage(host), "") << offset;
    for (const char* name : {"out", "x_gradient"}) EXPECT_EQ(text_of(got, name), text_of(expected, name)) << offset;
  }
}

}  // namespace
}  // namespace quern::test
