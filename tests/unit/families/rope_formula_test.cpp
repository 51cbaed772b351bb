// rope's formula: against double precision, its gradient and its inverse, and the angles that it computes.
#include "rope/rope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "common/host_types.h"
#include "rope/problem.h"
#include "rope/turns.cuh"

namespace quern {
namespace {

constexpr int kTokens = 6, kHeads = 3, kDim = 12;
constexpr std::size_t kElements = kTokens * kHeads * kDim;
using Values = std::vector<float>;

struct Angles {
  Values cos, sin;
};

Rope problem_of(RopeStyle style, RopePass pass) {
  Rope p;
  p.seq = kTokens;
  p.heads = kHeads;
  p.head_dim = kDim;
  p.rotary_dim = 8;
  p.rotary_offset = 2;
  p.dtype = f32;
  p.style = style;
  p.pass = pass;
  return p;
}

Values run(const Rope& p, const Values& x, const Angles& angles, const std::int32_t* cu_seqlens = nullptr,
           std::int64_t cp_rank = 0) {
  Values out(x.size());
  RopeArgs a;
  a.q = x.data();
  a.q_out = out.data();
  a.cos = angles.cos.data();
  a.sin = angles.sin.data();
  a.cu_seqlens = cu_seqlens;
  a.cp_rank = cp_rank;
  Rope::family().reference(&p, &a);
  return out;
}

Values random_values(std::uint64_t seed, std::size_t count = kElements) {
  Random random(seed);
  Values values(count);
  for (float& value : values) value = static_cast<float>(8 * random.unit() - 4);
  return values;
}

// Entry j of token t: `times` times its angle.
Angles table(double times) {
  Angles angles;
  for (int t = 0; t < kTokens; ++t) {
    for (int j = 0; j < 4; ++j) {
      const double angle = times * t * std::pow(10000.0, -j / 4.0);
      angles.cos.push_back(static_cast<float>(std::cos(angle)));
      angles.sin.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return angles;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

double largest_difference(const Values& a, const Values& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  return largest;
}

constexpr RopeStyle kStyles[] = {RopeStyle::half, RopeStyle::interleaved};

// The product x1 * s is rounded once, and the result once.
TEST(RopeFormula, IsWithinItsRoundingsOfDoublePrecision) {
  const Values x = random_values(1);
  const Angles angles = table(1);
  for (const RopeStyle style : kStyles) {
    const Values out = run(problem_of(style, RopePass::forward), x, angles);
    for (std::size_t i = 0; i < kElements; ++i) {
      const int token = static_cast<int>(i) / (kHeads * kDim), element = static_cast<int>(i) % kDim - 2;
      if (element < 0 || element >= 8) {
        EXPECT_EQ(out[i], x[i]);
        continue;
      }
      const bool half = style == RopeStyle::half, second = half ? element >= 4 : element % 2 == 1;
      const std::size_t apart = half ? 4 : 1, j = static_cast<std::size_t>(half ? element % 4 : element / 2);
      const double x0 = x[second ? i - apart : i], x1 = x[second ? i : i + apart];
      const std::size_t entry = static_cast<std::size_t>(token) * 4 + j;
      const double c = angles.cos[entry], s = angles.sin[entry];
      const double exact = second ? x1 * c + x0 * s : x0 * c - x1 * s, product = second ? x0 * s : x1 * s;
      EXPECT_LE(std::abs(out[i] - exact), 0x1p-24 * (std::abs(exact) + 1.001 * std::abs(product))) << i;
    }
  }
}

// <rope(x), y> = <x, backward(y)>: the derivative of a linear map is its adjoint.
TEST(RopeFormula, BackwardIsTheAdjoint) {
  const Values x = random_values(2), y = random_values(3);
  const Angles angles = table(1);
  for (const RopeStyle style : kStyles) {
    const Values forward = run(problem_of(style, RopePass::forward), x, angles);
    const Values backward = run(problem_of(style, RopePass::backward), y, angles);
    EXPECT_NEAR(dot(forward, y), dot(x, backward), 1e-3) << "of numbers of some " << dot(x, x);
    EXPECT_GT(std::abs(dot(x, y) - dot(forward, y)), 1.0) << "the rotation does something";
  }
}

// Differences of a linear map are exact but for roundings, at any distance.
TEST(RopeFormula, BackwardAgreesWithFiniteDifferences) {
  const Values x = random_values(4), y = random_values(5);
  const Angles angles = table(1);
  for (const RopeStyle style : kStyles) {
    const Values gradient = run(problem_of(style, RopePass::backward), y, angles);
    for (std::size_t i = 0; i < kElements; ++i) {
      Values above = x, below = x;
      above[i] += 1;
      below[i] -= 1;
      const Rope forward = problem_of(style, RopePass::forward);
      EXPECT_NEAR((dot(run(forward, above, angles), y) - dot(run(forward, below, angles), y)) / 2, gradient[i], 1e-4);
    }
  }
}

TEST(RopeFormula, RotationsAddUpAndTheInverseUndoesThem) {
  const Values x = random_values(6);
  for (const RopeStyle style : kStyles) {
    const Rope forward = problem_of(style, RopePass::forward), inverse = problem_of(style, RopePass::inverse);
    const Values twice = run(forward, run(forward, x, table(2)), table(3));
    EXPECT_LT(largest_difference(twice, run(forward, x, table(5))), 4e-6);
    EXPECT_LT(largest_difference(run(inverse, run(forward, x, table(2)), table(2)), x), 2e-6);
  }
}

// Each element with an angle of its own: not a rotation, but linear.
TEST(RopeFormula, BackwardIsTheAdjointWhereAPairHasTwoAngles) {
  const Values x = random_values(12), y = random_values(13), radians = random_values(14, kTokens * 8);
  for (const RopeStyle style : kStyles) {
    const auto run_pass = [&](RopePass pass, const Values& values) {
      Rope p = problem_of(style, pass);
      p.table = RopeTable::angles;
      Values out(kElements);
      RopeArgs a;
      a.q = values.data();
      a.q_out = out.data();
      a.angles = radians.data();
      Rope::family().reference(&p, &a);
      return out;
    };
    const Values forward = run_pass(RopePass::forward, x), backward = run_pass(RopePass::backward, y);
    EXPECT_NEAR(dot(forward, y), dot(x, backward), 1e-3);
    EXPECT_GT(std::abs(dot(x, y) - dot(forward, y)), 1.0);
    EXPECT_GT(largest_difference(run_pass(RopePass::backward, forward), x), 0.1) << "not the inverse";
    const std::size_t first = 2, second = style == RopeStyle::half ? 6 : 3;  // of token 0
    const std::size_t other = style == RopeStyle::half ? 4 : 1;              // the second element's angle
    EXPECT_NEAR(forward[first], x[first] * std::cos(radians[0]) - x[second] * std::sin(radians[0]), 1e-5);
    EXPECT_NEAR(forward[second], x[second] * std::cos(radians[other]) + x[first] * std::sin(radians[other]), 1e-5);
  }
}

// Tokens 2 and 3 have a page that the cache has not.
TEST(RopeFormula, ACacheHasKeysAndValuesByPage) {
  const Values k = random_values(16), v = random_values(17);
  const Angles angles = table(1);
  Rope p = problem_of(RopeStyle::half, RopePass::forward);
  const Values rotated = run(p, k, angles);
  p.heads = 0;
  p.kv_heads = kHeads;
  p.values = RopeValues::copied;
  p.cache = RopeCache::pages;
  p.cache_pages = 4;
  p.page_size = 2;
  p.max_pages = 3;
  const std::int32_t pages[] = {3, -1, 1};
  constexpr std::size_t kPage = std::size_t{2} * kHeads * kDim;
  Values k_cache(4 * kPage, 77), v_cache(4 * kPage, 78), expected_k = k_cache, expected_v = v_cache;
  for (const std::size_t number : {0, 2}) {
    const auto from = static_cast<std::ptrdiff_t>(number * kPage),
               to = static_cast<std::ptrdiff_t>(pages[number] * kPage);
    std::copy_n(rotated.begin() + from, kPage, expected_k.begin() + to);
    std::copy_n(v.begin() + from, kPage, expected_v.begin() + to);
  }
  RopeArgs a;
  a.k = k.data();
  a.v = v.data();
  a.k_out = k_cache.data();
  a.v_out = v_cache.data();
  a.cos = angles.cos.data();
  a.sin = angles.sin.data();
  a.pages = pages;
  Rope::family().reference(&p, &a);
  EXPECT_EQ(k_cache, expected_k);
  EXPECT_EQ(v_cache, expected_v);
}

// Copied elements, and elements that are rotated by no angle, are multiplied by the reciprocal of the scale.
TEST(RopeFormula, QuantizesTheResultOnce) {
  Values x = random_values(18);
  x[0] = 1e6F;
  x[1] = NAN;
  Rope p = problem_of(RopeStyle::half, RopePass::forward);
  p.element = DType::e4m3;
  p.quantized = RopeQuantized::all;
  const float scale = 0.125F;
  const Angles angles = table(1);
  const Values rotated = run(problem_of(RopeStyle::half, RopePass::forward), x, angles);
  std::vector<common::E4m3> out(kElements);
  RopeArgs a;
  a.q = x.data();
  a.q_out = out.data();
  a.cos = angles.cos.data();
  a.sin = angles.sin.data();
  a.q_scale = &scale;
  Rope::family().reference(&p, &a);
  EXPECT_EQ(common::to_float(out[0]), 448.0F) << "the largest";
  EXPECT_TRUE(std::isnan(common::to_float(out[1])));
  for (std::size_t i = 2; i < kElements; ++i)
    EXPECT_NEAR(common::to_float(out[i]), 8 * rotated[i], std::abs(8 * rotated[i]) / 16 + 0x1p-10) << i;
}

// Three sequences of two tokens, one after the other, are a batch of three.
TEST(RopeFormula, SequencesOneAfterTheOtherAreABatch) {
  const Values x = random_values(9);
  const Angles angles = table(1);
  Rope batch = problem_of(RopeStyle::half, RopePass::forward), packed = batch;
  batch.batch = packed.batch = 3;
  batch.seq = kTokens / 3;
  packed.layout = RopeLayout::thd;
  const std::int32_t cu_seqlens[] = {0, 2, 4, 6};
  EXPECT_EQ(run(packed, x, angles, cu_seqlens), run(batch, x, angles));
}

// The chunks of a rank are rotated as in the whole sequence: of 3 ranks, 1 has the chunks 1 and 4 of 6.
TEST(RopeFormula, ARankHasItsChunksOfTheSequence) {
  const Values x = random_values(11);
  const Angles angles = table(1);
  constexpr std::size_t kToken = kHeads * kDim;
  Rope shared = problem_of(RopeStyle::half, RopePass::forward);
  const Values whole = run(shared, x, angles);
  shared.cp_size = 3;
  shared.seq = 2;
  for (const std::int64_t rank : {0, 1, 2}) {
    Values here, expected;
    for (const std::int64_t chunk : {rank, 5 - rank}) {
      const auto at = static_cast<std::ptrdiff_t>(kToken) * chunk;
      here.insert(here.end(), x.begin() + at, x.begin() + at + kToken);
      expected.insert(expected.end(), whole.begin() + at, whole.begin() + at + kToken);
    }
    EXPECT_EQ(run(shared, here, angles, nullptr, rank), expected) << rank;
    Rope packed = shared;
    packed.layout = RopeLayout::thd;
    const std::int32_t cu_seqlens[] = {0, kTokens};
    EXPECT_EQ(run(packed, here, angles, cu_seqlens, rank), expected) << rank;
  }
}

// ---- Angles without a table

Rope computed(double theta, RopeScaling scaling) {
  Rope p;
  p.table = RopeTable::computed;
  p.theta = theta;
  p.rope_scaling = scaling;
  return p;
}

double radians(const Rope& p, std::int64_t j) {
  return static_cast<double>(rope::frequency(p, j)) * 0x1p-64 * 6.283185307179586;
}

TEST(RopeAngles, HaveTheFrequenciesOfTheFormula) {
  const Rope p = computed(10000, RopeScaling::none);
  for (const int j : {0, 1, 32, 63}) EXPECT_NEAR(radians(p, j) * std::pow(10000.0, j / 64.0), 1.0, 1e-15) << j;
  Rope linear = computed(500000, RopeScaling::linear);
  linear.factor = 4;
  EXPECT_NEAR(radians(linear, 10) * 4 * std::pow(500000.0, 10 / 64.0), 1.0, 1e-15);
}

// 8192 positions are 1304, 4.01, 3.27, 1.43 and 0.18 turns of these pairs; from 4 on they stay, up to 1 they are
// divided.
TEST(RopeAngles, HaveTheScalingOfLlama) {
  const Rope plain = computed(500000, RopeScaling::none), scaled = computed(500000, RopeScaling::llama3);
  const auto ratio = [&](std::int64_t j) { return radians(scaled, j) / radians(plain, j); };
  const auto turns = [&](std::int64_t j) { return 8192 * radians(plain, j) / 6.283185307179586; };
  EXPECT_EQ(ratio(0), 1);
  for (const std::int64_t j : {29, 31, 34}) {
    const double weight = std::clamp((turns(j) - 1) / 3, 0.0, 1.0);
    EXPECT_NEAR(ratio(j), weight + (1 - weight) / 8, 1e-12) << turns(j);
  }
  EXPECT_LT(turns(36), 1);
  EXPECT_NEAR(ratio(36), 0.125, 1e-12);
  EXPECT_NEAR(ratio(63), 0.125, 1e-12);
}

// Linear and Llama's, in double precision: FlashInfer's rope_scale, low_freq_factor and high_freq_factor are such
// numbers.
TEST(RopeAngles, HaveScalingsByAnyNumber) {
  Rope linear = computed(500000.25, RopeScaling::linear);
  for (const double factor : {2.5, 1.0, 1.1, 1.0000000000000002, 3.75e5}) {
    linear.factor = factor;
    for (const int j : {0, 1, 10, 63}) {
      // A frequency is rounded to 2^-64 turns.
      const double exact = std::pow(500000.25, -j / 64.0) / factor;
      EXPECT_NEAR(radians(linear, j) / exact, 1.0, 4e-15 + 0x1p-61 / exact) << factor << " " << j;
    }
  }
  Rope llama = computed(10000.5, RopeScaling::llama3);
  llama.factor = 2.5;
  int between = 0;
  for (const double low : {1.5, 0.25, 0.1}) {
    for (const double high : {1.75, 32.125}) {
      llama.low_factor = low;
      llama.high_factor = high;
      for (int j = 0; j < 64; ++j) {
        const double plain = std::pow(10000.5, -j / 64.0), turns = 8192 * plain / 6.283185307179586;
        const double weight = std::clamp((turns - low) / (high - low), 0.0, 1.0);
        EXPECT_NEAR(radians(llama, j) / (plain * (weight + (1 - weight) / 2.5)), 1.0, 1e-12) << low << " " << j;
        between += weight > 0 && weight < 1 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(between, 40);
}

// Digits of exact arithmetic, rounded. Long double of the host is not in them: it is not the same on all hosts.
TEST(RopeAngles, HaveFrequenciesThatAreRoundedOnce) {
  struct Exact {
    double theta;
    std::int64_t j, head_dim;
    std::uint64_t turns;
  };
  for (const Exact& e : {Exact{10000, 0, 128, 2935890503282001226}, Exact{10000, 1, 128, 2542376433133839919},
                         Exact{10000, 63, 128, 339031346221092}, Exact{500000, 10, 128, 377812037553223154},
                         Exact{1, 5, 14, 2935890503282001226}, Exact{16, 1, 8, 1467945251641000613},
                         Exact{0x1p40, 8191, 16384, 2679229}, Exact{1000000, 17, 82, 9548496122833753}}) {
    Rope p = computed(e.theta, RopeScaling::none);
    p.head_dim = e.head_dim;
    EXPECT_EQ(rope::frequency(p, e.j), e.turns) << e.theta << " " << e.j << " of " << e.head_dim;
  }
  Rope p = computed(500000, RopeScaling::linear);
  p.factor = 4;
  EXPECT_EQ(rope::frequency(p, 10), 94453009388305788U);
  p = computed(500000, RopeScaling::llama3);
  EXPECT_EQ(rope::frequency(p, 29), 6360814529257945U);
  EXPECT_EQ(rope::frequency(p, 31), 2515328336864184U);
  EXPECT_EQ(rope::frequency(p, 34), 524079392267202U);
  EXPECT_EQ(rope::frequency(p, 36), 228548954900624U);
  EXPECT_EQ(rope::frequency(p, 63), 901003066613U);
}

// Also where an fp32 product of position and frequency has lost all of the angle.
TEST(RopeAngles, AreExactAtEveryPositionBelow2To36) {
  const Rope p = computed(10000, RopeScaling::none);
  Random random(8);
  for (const std::int64_t most : {std::int64_t{1} << 8, std::int64_t{1} << 24, std::int64_t{1} << 36}) {
    for (int i = 0; i < 20000; ++i) {
      const auto position = static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(most));
      const int j = random.below(64);
      float cosine = 0, sine = 0;
      rope::cosine_and_sine(static_cast<std::uint64_t>(position) * rope::frequency(p, j), cosine, sine);
      // In turns, so that long double has bits left: 36 of its 64 are whole turns at most.
      const long double turns = std::pow(10000.0L, -j / 64.0L) / 6.283185307179586476925286766559L;
      const long double all = turns * static_cast<long double>(position), rest = all - std::floor(all);
      const long double angle = rest * 6.283185307179586476925286766559L;
      ASSERT_NEAR(cosine, static_cast<double>(std::cos(angle)), 0x1p-23) << position << " " << j;
      ASSERT_NEAR(sine, static_cast<double>(std::sin(angle)), 0x1p-23) << position << " " << j;
    }
  }
}

// Every exponent. glibc's double precision reduces any angle by as many bits of pi as it takes.
TEST(RopeAngles, OfRadiansAreExactHoweverLarge) {
  Random random(15);
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    const float radians = common::bit_cast<float>(bits);
    float cosine = 0, sine = 0;
    rope::cosine_and_sine_of(radians, cosine, sine);
    if (!std::isfinite(radians)) {
      ASSERT_TRUE(std::isnan(cosine) && std::isnan(sine)) << radians;
      continue;
    }
    ASSERT_NEAR(cosine, std::cos(double{radians}), 0x1p-23) << radians;
    ASSERT_NEAR(sine, std::sin(double{radians}), 0x1p-23) << radians;
  }
}

TEST(RopeAngles, OfNoNumberAreNoNumber) {
  for (const float radians : {INFINITY, -INFINITY, NAN}) {
    float cosine = 0, sine = 0;
    rope::cosine_and_sine_of(radians, cosine, sine);
    EXPECT_TRUE(std::isnan(cosine) && std::isnan(sine)) << radians;
  }
}

}  // namespace
}  // namespace quern
