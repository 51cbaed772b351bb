// rope's outputs with scales that are made: refusals, memory, and the scales and codes of the reference against those
// of its plain outputs, at places that are computed here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "common/host_types.h"
#include "rope/rope.h"
#include "unit/families/support.h"

namespace quern {
namespace {

std::string refusal_of(const std::string& fields) {
  return Rope::family().check(test::problem("rope " + fields).data());
}
bool contains(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(RopeScales, AreOfQuantizedOutputs) {
  const std::string k = "batch=2 seq=5 heads=4 kv_heads=2 head_dim=80 ";
  for (const char* scaling : {"row", "block128", "mx"}) {
    EXPECT_EQ(refusal_of(k + "element=e4m3 scaling=" + scaling), "");
    EXPECT_TRUE(contains(refusal_of(k + "scaling=" + scaling), "give element=e4m3 or e5m2 too"));
  }
  EXPECT_TRUE(contains(refusal_of(k + "element=e4m3 mode=floor"), "give scaling=row"));
  EXPECT_TRUE(contains(refusal_of(k + "element=e4m3 scaling=mx mode=exact"), "scaling=row or block128"));
  EXPECT_EQ(refusal_of(k + "element=e4m3 scaling=row mode=exact"), "");
  EXPECT_EQ(refusal_of(k + "element=e4m3 scaling=mx policy=te"), "");
  EXPECT_TRUE(contains(refusal_of(k + "element=e4m3 scaling=row policy=te"), "scaling=mx"));
  EXPECT_TRUE(contains(refusal_of("kv_heads=1 head_dim=1040 element=e4m3 scaling=row"), "head_dim=1040 is above 1024"));
}

TEST(RopeScales, HaveAnAxisOfTheirOwn) {
  const auto span = [](const std::string& fields, const char* operand) {
    return test::span("rope batch=2 seq=5 heads=4 kv_heads=2 head_dim=80 element=e4m3 " + fields, operand);
  };
  EXPECT_EQ(span("scaling=row", "k_scales"), 2 * 5 * 2 * 4);
  EXPECT_EQ(span("scaling=block128", "k_scales"), 2 * 5 * 2 * 4) << "the last block is shorter";
  EXPECT_EQ(span("scaling=mx", "k_scales"), 2 * 5 * 2 * 3);
  EXPECT_EQ(span("scaling=mx", "q_scales") + span("scaling=mx", "v_scales"), 0);
  EXPECT_EQ(span("scaling=mx quantized=all values=copied", "q_scales"), 2 * 5 * 4 * 3);
  EXPECT_EQ(span("scaling=mx values=copied", "v_scales"), 2 * 5 * 2 * 3);
  EXPECT_EQ(span("scaling=mx", "k_scale"), 0) << "none is given";
  EXPECT_EQ(span("scaling=row cache=slots cache_pages=7 page_size=9", "k_scales"), 7 * 9 * 2 * 4);
  EXPECT_EQ(span("scaling=row k_out_strides=4000,500,100", "k_scales"), 2 * 5 * 2 * 4) << "without gaps";
}

TEST(RopeScales, AThreadBlockHasWholeHeads) {
  const auto launched = [](const std::string& fields, std::size_t variant) {
    const AnyProblem p = test::problem("rope heads=8 kv_heads=2 element=e4m3 scaling=mx " + fields);
    Launch launch;
    const RopeArgs args;
    test::step_of(p).launch(p.data(), &args, generic_model(90), test::variants_of(p).at(variant).config, launch);
    return launch;
  };
  const Launch many = launched("batch=64 seq=512 head_dim=80", 0);
  EXPECT_EQ(many.block[0], 64U);
  EXPECT_EQ(many.grid[0], (64U * 512 * 5 + 11) / 12) << "twelve times five threads, with two heads each";
  EXPECT_EQ(many.shared_bytes, 12U * 2 * 3 * 4);
  const Launch element = launched("batch=64 seq=512 head_dim=1024", 1);
  EXPECT_EQ(element.block[0], 512U) << "a head in accesses of one element";
  EXPECT_EQ(element.grid[0], 64U * 512 * 5);
  EXPECT_EQ(launched("batch=1 seq=1 head_dim=128", 0).block[0], 32U) << "a few heads, in more blocks";
  EXPECT_TRUE(launched("batch=0 seq=512 head_dim=80", 0).empty);
}

constexpr int kScaledKeys = 12, kScaledDim = 80;  // keys of all tokens

struct Quantized {
  std::vector<float> q, k, cos, sin, plain;
  std::vector<std::uint8_t> codes, scales;

  // The plain keys, then the quantized ones.
  explicit Quantized(Rope p) {
    p.batch = 2;
    p.seq = 3;
    p.heads = 0;
    p.kv_heads = 2;
    p.head_dim = kScaledDim;
    p.dtype = f32;
    constexpr std::size_t kCount = std::size_t{kScaledKeys} * kScaledDim;
    for (int i = 0; i < static_cast<int>(kCount); ++i)
      k.push_back(std::ldexp(std::sin(1.0F + static_cast<float>(i)), i % 97 % 7));
    for (int i = 0; i < 3 * kScaledDim / 2; ++i) {
      cos.push_back(std::cos(static_cast<float>(i)));
      sin.push_back(std::sin(static_cast<float>(i)));
    }
    plain.resize(kCount);
    codes.resize(kCount);
    scales.resize(kCount);
    RopeArgs a;
    a.k = k.data();
    a.cos = cos.data();
    a.sin = sin.data();
    a.k_out = plain.data();
    Rope bare = p;
    bare.element = DType::none;
    bare.scaling = RopeScales::tensor;
    bare.mode = ScaleMode::rceil;
    EXPECT_EQ(Rope::family().check(&bare), "");
    Rope::family().reference(&bare, &a);
    a.k_out = codes.data();
    a.k_scales = scales.data();
    EXPECT_EQ(Rope::family().check(&p), "");
    Rope::family().reference(&p, &a);
  }

  // The largest magnitude of plain elements.
  float largest(int first, int end) const {
    float largest = 0;
    for (int i = first; i < end; ++i) largest = std::max(largest, std::abs(plain[static_cast<std::size_t>(i)]));
    return largest;
  }
};

TEST(RopeScales, ArePowersOfTwoAboveTheLargestOf32) {
  Rope p;
  p.element = e4m3;
  p.scaling = RopeScales::mx;
  p.layout = RopeLayout::sbhd;
  const Quantized run(p);
  for (int head = 0; head < kScaledKeys; ++head) {  // in the order of memory
    for (int block = 0; block < 3; ++block) {
      const int first = head * kScaledDim + block * 32,
                end = head * kScaledDim + (block == 2 ? kScaledDim : block * 32 + 32);
      const int exponent = static_cast<int>(std::ceil(std::log2(run.largest(first, end) / 448)));
      EXPECT_EQ(int{run.scales[static_cast<std::size_t>(head * 3 + block)]}, 127 + exponent) << head << " " << block;
      for (int i = first; i < end; ++i) {
        const float x = std::ldexp(run.plain[static_cast<std::size_t>(i)], -exponent);
        EXPECT_EQ(run.codes[static_cast<std::size_t>(i)], common::E4m3::encode(x)) << i;
      }
    }
  }
}

TEST(RopeScales, OfAHeadAreItsLargestByTheLargestCode) {
  Rope p;
  p.element = e5m2;
  p.scaling = RopeScales::row;
  p.mode = ScaleMode::exact;
  const Quantized run(p);
  for (int head = 0; head < kScaledKeys; ++head) {
    float scale = 0;
    std::memcpy(&scale, run.scales.data() + head * 4, 4);
    EXPECT_EQ(scale, run.largest(head * kScaledDim, (head + 1) * kScaledDim) / 57344) << head;
  }
}

}  // namespace
}  // namespace quern
