#include "moe_map/geometry.h"

#include <algorithm>

#include "common/geometry.h"
#include "moe_map/rules.h"

namespace quern::moe_map {
namespace {

using common::divide_up;
using common::power_of_two_from;

// Any architecture has 99 KB for a block.
constexpr std::int64_t kCounterWords = 48 * 1024 / 4, kSharedWords = 96 * 1024 / 4;
constexpr std::int64_t kSumsOfWarps = 96;  // three of each

std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

// Places for a step, or for a token's routes if these are more; 16 bits each.
std::int64_t list_words(const MoeMap& p, const Shape& s) {
  return has_mask(p) ? round_up(std::max(s.step(), p.topk), 2) / 2 : 0;
}

// Tokens that a block keeps in registers, if it keeps any.
std::int64_t kept_tokens(const MoeMap& p, const Shape& s) {
  const std::int64_t warps = counters_of(p, s);
  return std::max<std::int64_t>(1, has_mask(p) ? s.step() / p.topk * warps : s.step() * warps / p.topk);
}

}  // namespace

std::int64_t warp_experts(const MoeMap& p, const Shape& s) {
  return power_of_two_from(divide_up(p.experts, s.warps()), 8);
}

std::int64_t pieces_of(const MoeMap& p) { return power_of_two_from(divide_up(p.experts, 16)); }

std::int64_t counters_of(const MoeMap& p, const Shape& s) {
  return std::min(s.warps(), kCounterWords / round_up(p.experts, 32));
}

// The lanes of an expert read the counters of as many warps each, all lanes of a warp at once: apart by as many words
// as a warp has experts, they read different banks.
std::int64_t stride_of(const MoeMap& p, const Shape& s) {
  const std::int64_t experts = warp_experts(p, s), shares = 32 / experts;
  const std::int64_t warps = divide_up(counters_of(p, s), shares);
  return round_up(p.experts, 32) + (shares == 1 ? 0 : std::max<std::int64_t>(1, experts / warps));
}

std::int64_t table_stride(const MoeMap& p) { return round_up(p.experts, 32); }

Blocks blocks_of(const MoeMap& p, const Shape& s, std::int64_t most) {
  const std::int64_t wanted = divide_up(p.tokens, kept_tokens(p, s));
  const std::int64_t tokens = std::max<std::int64_t>(1, divide_up(p.tokens, std::clamp<std::int64_t>(wanted, 1, most)));
  return {std::max<std::int64_t>(1, divide_up(p.tokens, tokens)), tokens};
}

std::int64_t most_blocks(const MoeMap& p) {
  // A problem that is refused has a layout too.
  if (p.topk < 1 || p.experts < 1 || p.experts > kMaxExperts) return 1;
  const Shape least = {power_of_two_from(p.experts, kLeastThreads), 1, false};
  const std::int64_t wanted = divide_up(p.tokens, kept_tokens(p, least));
  // More routes have room for all blocks.
  const std::int64_t routes = std::min<std::int64_t>(p.tokens, 1 << 16) * std::min<std::int64_t>(p.topk, 1 << 16);
  const std::int64_t words = (16 * routes + 65536) / 4 - 1;
  return std::clamp<std::int64_t>(std::min(wanted, words / (table_stride(p) + 1)), 1, kMostBlocks);
}

// Of each block a line of counts and the dropped routes; and how many blocks have ended.
std::int64_t table_words(const MoeMap& p) { return most_blocks(p) * (table_stride(p) + 1) + 1; }

Warps warps_of(const MoeMap& p, const Shape& s, std::int64_t most) {
  constexpr std::int64_t kTokens = 256;  // two accesses of each lane to an array
  const std::int64_t blocks = std::clamp<std::int64_t>(divide_up(p.tokens, kTokens * s.warps()), 1, most);
  return {blocks, std::max(kTokens, divide_up(p.tokens, blocks * s.warps()))};
}

Shared shared_of(const MoeMap& p, const Shape& s) {
  Shared shared{{}, list_words(p, s), kSumsOfWarps, false};
  const auto take = [&](std::int64_t words) {
    const std::int64_t first = shared.words;
    shared.words += round_up(words, 4);
    return static_cast<unsigned>(first);
  };
  const std::int64_t counters = has_counts(p) ? 0 : counters_of(p, s);
  shared.places.experts = take(p.experts);
  shared.places.padding = take(has_row_ids(p) ? p.experts : 0);
  shared.places.counters = take(counters * stride_of(p, s));
  shared.places.lists = take(counters * shared.list);
  const std::int64_t rows = capacity_of(p) + 3;  // up to 3 words before the first, so that vectors are aligned
  shared.staged = s.one_block && !has_counts(p) && shared.words + round_up(rows, 4) <= kSharedWords;
  shared.places.rows = take(shared.staged ? rows : 0);
  shared.places.runs = take(has_counts(p) ? 2 * p.ranks * p.experts + 1 : 0);
  return shared;
}

}  // namespace quern::moe_map
