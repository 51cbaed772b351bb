// rope's layouts, groups and caches, against places in memory that are written out here.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "rope/rope.h"

namespace quern {
namespace {

constexpr int kBatches = 2, kSeq = 3, kQueryHeads = 4, kKeys = 2, kHeadDim = 12, kRotated = 8, kOffset = 2;
constexpr float kGap = 77;

// Where an element is.
using At = std::function<int(int batch, int token, int head, int element)>;

float random_value(int batch, int token, int head, int element) {
  Random random(static_cast<std::uint64_t>(((batch * kSeq + token) * kQueryHeads + head) * kHeadDim + element));
  return static_cast<float>(8 * random.unit() - 4);
}

float angle(int token, int pair) { return static_cast<float>(token + 1) / static_cast<float>(pair + 1); }

// Of style=half.
float rotated(int batch, int token, int head, int element) {
  const int number = element - kOffset, pair = number % (kRotated / 2);
  if (number < 0 || number >= kRotated) return random_value(batch, token, head, element);
  const float x0 = random_value(batch, token, head, kOffset + pair);
  const float x1 = random_value(batch, token, head, kOffset + pair + kRotated / 2);
  const float c = std::cos(angle(token, pair)), s = std::sin(angle(token, pair));
  return number == pair ? std::fma(x0, c, -(x1 * s)) : std::fma(x1, c, x0 * s);
}

template <class Visit>
void for_each(int heads, Visit visit) {
  for (int b = 0; b < kBatches; ++b) {
    for (int s = 0; s < kSeq; ++s) {
      for (int h = 0; h < heads; ++h) {
        for (int e = 0; e < kHeadDim; ++e) visit(b, s, h, e);
      }
    }
  }
}

std::vector<float> laid_out(int heads, const At& at) {
  std::vector<float> memory(4096, kGap);
  for_each(heads, [&](int b, int s, int h, int e) {
    memory[static_cast<std::size_t>(at(b, s, h, e))] = random_value(b, s, h, e);
  });
  return memory;
}

// Elements at `at`, and nothing in the gaps.
void expect_rotated(const std::vector<float>& out, int heads, const At& at) {
  std::vector<float> expected(out.size(), kGap);
  for_each(heads, [&](int b, int s, int h, int e) {
    if (const int where = at(b, s, h, e); where >= 0) expected[static_cast<std::size_t>(where)] = rotated(b, s, h, e);
  });
  EXPECT_EQ(out, expected);
}

Rope rope_problem() {
  Rope p;
  p.batch = kBatches;
  p.seq = kSeq;
  p.heads = kQueryHeads;
  p.head_dim = kHeadDim;
  p.rotary_dim = kRotated;
  p.rotary_offset = kOffset;
  p.dtype = f32;
  return p;
}

// Operands, after the reference has run.
struct RopeOperands {
  std::vector<float> q, k, cos, sin, q_out = std::vector<float>(4096, kGap), k_out = q_out;
  RopeArgs args;

  RopeOperands(const Rope& p, const At& q_at, const At& k_at, const std::int32_t* cu_seqlens, const std::int32_t* pages)
      : q(laid_out(kQueryHeads, q_at)), k(laid_out(kKeys, k_at)) {
    for (int token = 0; token < kSeq * kBatches; ++token) {
      for (int pair = 0; pair < kRotated / 2; ++pair) {
        cos.push_back(std::cos(angle(token, pair)));
        sin.push_back(std::sin(angle(token, pair)));
      }
    }
    args.q = q.data();
    args.k = k.data();
    args.q_out = q_out.data();
    args.k_out = k_out.data();
    args.cos = cos.data();
    args.sin = sin.data();
    args.cu_seqlens = cu_seqlens;
    args.pages = pages;
    EXPECT_EQ(Rope::family().check(&p), "");
    Rope::family().reference(&p, &args);
  }
};

int bshd(int b, int s, int h, int e) { return ((b * kSeq + s) * kKeys + h) * kHeadDim + e; }

TEST(RopeLayouts, HaveTheirElementsWhereTheyShould) {
  Rope p = rope_problem();
  p.layout = RopeLayout::sbhd;
  const At sbhd = [](int b, int s, int h, int e) { return ((s * kBatches + b) * kQueryHeads + h) * kHeadDim + e; };
  expect_rotated(RopeOperands(p, sbhd, bshd, nullptr, nullptr).q_out, kQueryHeads, sbhd);
  p.layout = RopeLayout::bhsd;
  const At bhsd = [](int b, int s, int h, int e) { return ((b * kQueryHeads + h) * kSeq + s) * kHeadDim + e; };
  expect_rotated(RopeOperands(p, bhsd, bshd, nullptr, nullptr).q_out, kQueryHeads, bhsd);
}

TEST(RopeLayouts, HaveSequencesOneAfterTheOther) {
  Rope p = rope_problem();
  p.layout = RopeLayout::thd;
  p.seq = kBatches * kSeq;
  const std::int32_t cu_seqlens[] = {0, kSeq, 2 * kSeq};
  const At thd = [](int b, int s, int h, int e) { return ((b * kSeq + s) * kQueryHeads + h) * kHeadDim + e; };
  expect_rotated(RopeOperands(p, thd, bshd, cu_seqlens, nullptr).q_out, kQueryHeads, thd);
}

TEST(RopeLayouts, HaveGroupsOfQueriesAtADistanceOfTheirOwn) {
  Rope p = rope_problem();
  p.kv_heads = kKeys;
  p.q_strides = {1000, 300, 20, 100};
  p.q_out_strides = {1100, 350, 15, 120};
  p.k_strides = {500, 60, 30};
  const At q = [](int b, int s, int h, int e) { return 1000 * b + 300 * s + 20 * (h % 2) + 100 * (h / 2) + e; };
  const At q_out = [](int b, int s, int h, int e) { return 1100 * b + 350 * s + 15 * (h % 2) + 120 * (h / 2) + e; };
  const At k = [](int b, int s, int h, int e) { return 500 * b + 60 * s + 30 * h + e; };
  const RopeOperands after(p, q, k, nullptr, nullptr);
  expect_rotated(after.q_out, kQueryHeads, q_out);
  expect_rotated(after.k_out, kKeys, bshd);
}

// The second batch has one page, so that its last token is placed nowhere.
TEST(RopeLayouts, HaveHeadsBeforeTokensInPages) {
  constexpr int kPage = 2;
  Rope p = rope_problem();
  p.layout = RopeLayout::bhsd;
  p.kv_heads = kKeys;
  p.cache = RopeCache::pages;
  p.cache_pages = 4;
  p.page_size = kPage;
  p.max_pages = 2;
  static constexpr std::int32_t kPages[] = {3, 0, 2, -1};
  const At q = [](int b, int s, int h, int e) { return ((b * kQueryHeads + h) * kSeq + s) * kHeadDim + e; };
  const At k = [](int b, int s, int h, int e) { return ((b * kKeys + h) * kSeq + s) * kHeadDim + e; };
  const At cache = [](int b, int s, int h, int e) {
    const int page = kPages[b * 2 + s / kPage];
    return page < 0 ? -1 : ((page * kKeys + h) * kPage + s % kPage) * kHeadDim + e;
  };
  const RopeOperands after(p, q, k, nullptr, kPages);
  expect_rotated(after.q_out, kQueryHeads, q);
  expect_rotated(after.k_out, kKeys, cache);
}

}  // namespace
}  // namespace quern
