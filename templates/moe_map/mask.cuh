// The map as a mark for each token and expert. A warp has 32 tokens and 32 experts at a time: a lane first has the
// tokens of an expert, in 32 bits, then the experts of a token.
#ifndef QUERN_MOE_MAP_MARKS_CUH_
#define QUERN_MOE_MAP_MARKS_CUH_

#include "moe_map/routes.cuh"

namespace quern::moe_map {

QUERN_DEVICE u32 groups(const Params& p) { return (p.experts + 31) / 32; }
// How often a block has 32 tokens at once.
QUERN_DEVICE u32 words_at_once(const Params& p) { return warps() / groups(p); }

// For each word, the number of tokens of each expert; then the next row of each.
QUERN_DEVICE Words words(const Params& p, u32 word) { return Words(first_word(p) + word * p.experts); }
// The experts of each token, a bit each.
QUERN_DEVICE Words masks(const Params& p) { return Words(first_word(p) + words_at_once(p) * p.experts); }

QUERN_DEVICE bool marked(const Params& p, u64 token, u32 expert) {
  if constexpr (spec::bits) {
    const u64 at = token * ((p.experts + 7) / 8) + expert / 8;
    return (load<1>(static_cast<const u8*>(p.map) + at).w[0] >> expert % 8 & 1) != 0;
  } else {
    using Index = spec::Index;
    return load<sizeof(Index)>(static_cast<const Index*>(p.map) + (token * p.experts + expert)).w[0] != 0;
  }
}

// Bit i of lane j becomes bit j of lane i.
QUERN_DEVICE u32 transposed(u32 bits) {
  u32 out = 0;
#pragma unroll
  for (u32 i = 0; i < 32; ++i) {
    const u32 of_lane = __ballot_sync(kAll, static_cast<int>(bits >> i & 1));
    if (lane() == i) out = of_lane;
  }
  return out;
}

// The warp's part in a turn.
struct Part {
  u32 word;   // of 32 tokens, of those that the block has at once
  u32 group;  // of 32 experts
  u32 first;  // token, counted from the block's
  bool any;

  QUERN_DEVICE u32 expert() const { return group * 32 + lane(); }
  QUERN_DEVICE u32 token() const { return first + lane(); }
};

QUERN_DEVICE Part part_of_warp(const Params& p, const Tokens& tokens, u32 turn_first) {
  const u32 word = warp() / groups(p), first = turn_first + word * 32;
  return {word, warp() - word * groups(p), first, word < words_at_once(p) && first < tokens.count};
}

struct Marks {
  u32 of_expert;  // which of 32 tokens it has
  u32 of_token;   // which of 32 experts it has
  u32 above;      // routes that the token has among later experts
  u32 dropped;    // routes of the token behind its last
};

// Loads of a lane in flight, as many as the registers of a thread hold.
constexpr u32 kLoads = spec::max_threads > 512 ? 8 : 32;

// The tokens of the lane's expert.
QUERN_DEVICE u32 tokens_with(const Params& p, const Tokens& tokens, const Part& part) {
  u32 bits = 0;
  const u64 first = tokens.first + part.first;
  const u32 count = tokens.count - part.first;
#pragma unroll 1
  for (u32 from = 0; from < 32; from += kLoads) {
#pragma unroll
    for (u32 i = from; i < from + kLoads; ++i) bits |= i < count && marked(p, first + i, part.expert()) ? 1u << i : 0;
  }
  return bits;
}

// Routes of a token are from its last expert to its first; those behind the topk-th are dropped. By all threads.
QUERN_DEVICE Marks read_marks(const Params& p, const Tokens& tokens, const Part& part) {
  Marks m = {};
  if (part.any && part.expert() < p.experts) m.of_expert = tokens_with(p, tokens, part);
  m.of_token = transposed(m.of_expert);
  const u32 row = (part.word * 32 + lane()) * groups(p);
  if (part.any) masks(p).set(row + part.group, m.of_token);
  __syncthreads();
  if (!part.any) return m;
  for (u32 g = part.group + 1; g < groups(p); ++g) m.above += popc(masks(p).get(row + g));
  m.above = m.above < p.topk ? m.above : p.topk;
  for (; popc(m.of_token) > p.topk - m.above; ++m.dropped) m.of_token &= m.of_token - 1;
  if (__any_sync(kAll, m.dropped != 0)) m.of_expert = transposed(m.of_token);
  if (part.expert() < p.experts) words(p, part.word).set(part.expert(), popc(m.of_expert));
  return m;
}

// Calls body(part, marks) in all threads.
template <class Body>
QUERN_DEVICE void for_marks(const Params& p, const Tokens& tokens, const Body& body) {
#pragma unroll 1
  for (u32 first = 0; first < tokens.count; first += words_at_once(p) * 32) {
    const Part part = part_of_warp(p, tokens, first);
    const Marks marks = read_marks(p, tokens, part);
    __syncthreads();
    const u32 left = (tokens.count - first + 31) / 32;
    body(part, marks, left < words_at_once(p) ? left : words_at_once(p));
    __syncthreads();
  }
}

// The last word of each expert is the block's.
QUERN_DEVICE void count_routes(const Params& p, const Tokens& tokens) {
  u32 own = 0, dropped = 0;
  for_marks(p, tokens, [&](const Part&, const Marks& m, u32 count) {
    dropped += m.dropped;
    if (threadIdx.x >= p.experts) return;
    for (u32 w = 0; w < count; ++w) own += words(p, w).get(threadIdx.x);
  });
  if (threadIdx.x < p.experts) experts_of_block().set(threadIdx.x, own);
  const u32 mine[] = {dropped};
  Sum sum[1];
  sum_over_block(p, mine, sum);
  if (threadIdx.x == 0) experts_of_block().set(p.experts, sum[0].all);
  __syncthreads();
}

QUERN_DEVICE int* row_ids(const Params& p, u64 token) { return p.row_id_map + token * (2 * p.experts + 1); }

// The warp's routes, in the lanes of their tokens.
QUERN_DEVICE void write_part(const Params& p, const Tokens& tokens, const Part& part, const Marks& m) {
  const u64 token = tokens.first + part.token();
  const Words next = words(p, part.word);
  u32 left = m.of_token, k = m.above;
  while (__any_sync(kAll, left != 0)) {
    const u32 bit = left == 0 ? 0 : 31 - static_cast<u32>(__clz(static_cast<int>(left)));
    const u32 tokens_of_expert = __shfl_sync(kAll, m.of_expert, static_cast<int>(bit));
    if (left == 0) continue;
    const u32 expert = part.group * 32 + bit, row = next.get(expert) + popc(tokens_of_expert & lanes_below());
    write_route(p, token * p.topk + k, token, row);
    put(p.token_experts + token * p.topk + k, expert);
    if constexpr (spec::row_id_map) {
      put(row_ids(p, token) + k, row - moved(p).get(expert));
      put(row_ids(p, token) + p.experts + k, expert);
    }
    left &= ~(1u << bit);
    ++k;
  }
  if (part.group != 0 || part.token() >= tokens.count) return;
  if constexpr (spec::row_id_map) put(row_ids(p, token) + 2 * p.experts, k);
  for (; k < p.topk; ++k) {
    put(p.token_rows + token * p.topk + k, ~0u);
    put(p.token_experts + token * p.topk + k, ~0u);
  }
}

QUERN_DEVICE void write_routes(const Params& p, const Tokens& tokens) {
  for_marks(p, tokens, [&](const Part& part, const Marks& m, u32 count) {
    if (const u32 e = threadIdx.x; e < p.experts) {
      u32 next = experts_of_block().get(e);
      for (u32 w = 0; w < count; ++w) {
        const u32 own = words(p, w).get(e);
        words(p, w).set(e, next);
        next += own;
      }
      experts_of_block().set(e, next);
    }
    __syncthreads();
    if (part.any) write_part(p, tokens, part, m);
  });
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_MARKS_CUH_
