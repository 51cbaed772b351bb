// The map as a mask of tokens by experts, in bytes or bits. A warp works on a tile of 32 x 32: a lane first has the
// tokens of an expert, in 32 bits, then, transposed, the experts of a token.
#ifndef QUERN_MOE_MAP_MASK_CUH_
#define QUERN_MOE_MAP_MASK_CUH_

#include "moe_map/routes.cuh"

namespace quern::moe_map {

constexpr bool kLimitsRoutes = true;

QUERN_DEVICE u32 groups(const Params& p) { return (p.experts + 31) / 32; }
// Words of 32 tokens that a block works on at once.
QUERN_DEVICE u32 words_at_once(const Params& p) { return warps() / groups(p); }

// For each word, the number of tokens of each expert; later the row of the next route.
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

// The warp's tile in an iteration.
struct MaskTile {
  u32 word;   // of 32 tokens, of those that the block works on at once
  u32 group;  // of 32 experts
  u32 first;  // token, counted from the block's
  bool any;

  QUERN_DEVICE u32 expert() const { return group * 32 + lane(); }
  QUERN_DEVICE u32 token() const { return first + lane(); }
};

QUERN_DEVICE MaskTile tile_of_warp(const Params& p, const Tokens& tokens, u32 first_token) {
  const u32 word = warp() / groups(p), first = first_token + word * 32;
  return {word, warp() - word * groups(p), first, word < words_at_once(p) && first < tokens.count};
}

struct RoutesOfTile {
  u32 of_expert;  // which of 32 tokens it has
  u32 of_token;   // which of 32 experts it has
  u32 above;      // routes that the token has among later experts
  u32 dropped;    // routes of the token beyond the topk-th
};

// Loads of a lane in flight, as many as the registers of a thread hold.
constexpr u32 kLoads = spec::max_threads > 512 ? 8 : 32;

// The tokens of the lane's expert.
QUERN_DEVICE u32 tokens_with(const Params& p, const Tokens& tokens, const MaskTile& tile) {
  u32 bits = 0;
  const u64 first = tokens.first + tile.first;
  const u32 count = tokens.count - tile.first;
#pragma unroll 1
  for (u32 from = 0; from < 32; from += kLoads) {
#pragma unroll
    for (u32 i = from; i < from + kLoads; ++i) bits |= i < count && marked(p, first + i, tile.expert()) ? 1u << i : 0;
  }
  return bits;
}

// Routes of a token are from its last expert to its first; those beyond the topk-th are dropped. By all threads.
QUERN_DEVICE RoutesOfTile read_tile(const Params& p, const Tokens& tokens, const MaskTile& tile) {
  RoutesOfTile m = {};
  if (tile.any && tile.expert() < p.experts) m.of_expert = tokens_with(p, tokens, tile);
  m.of_token = transposed(m.of_expert);
  const u32 row = (tile.word * 32 + lane()) * groups(p);
  if (tile.any) masks(p).set(row + tile.group, m.of_token);
  __syncthreads();
  if (!tile.any) return m;
  for (u32 g = tile.group + 1; g < groups(p); ++g) m.above += popc(masks(p).get(row + g));
  m.above = m.above < p.topk ? m.above : p.topk;
  for (; popc(m.of_token) > p.topk - m.above; ++m.dropped) m.of_token &= m.of_token - 1;
  if (__any_sync(kAll, m.dropped != 0)) m.of_expert = transposed(m.of_token);
  if (tile.expert() < p.experts) words(p, tile.word).set(tile.expert(), popc(m.of_expert));
  return m;
}

// Calls body(tile, its routes, words in this iteration) in all threads.
template <class Body>
QUERN_DEVICE void for_tiles_of_mask(const Params& p, const Tokens& tokens, const Body& body) {
#pragma unroll 1
  for (u32 first = 0; first < tokens.count; first += words_at_once(p) * 32) {
    const MaskTile tile = tile_of_warp(p, tokens, first);
    const RoutesOfTile routes = read_tile(p, tokens, tile);
    __syncthreads();
    const u32 words_left = (tokens.count - first + 31) / 32;
    body(tile, routes, words_left < words_at_once(p) ? words_left : words_at_once(p));
    __syncthreads();
  }
}

QUERN_DEVICE void count_routes(const Params& p, const Tokens& tokens) {
  u32 own = 0, dropped = 0;
  for_tiles_of_mask(p, tokens, [&](const MaskTile&, const RoutesOfTile& m, u32 count) {
    dropped += m.dropped;
    if (threadIdx.x >= p.experts) return;
    for (u32 w = 0; w < count; ++w) own += words(p, w).get(threadIdx.x);
  });
  if (threadIdx.x < p.experts) experts_of_block().set(threadIdx.x, own);
  const u32 mine[] = {dropped};
  PrefixSum sum[1];
  block_prefix_sums(p, mine, sum);
  if (threadIdx.x == 0) experts_of_block().set(p.experts, sum[0].all);
  __syncthreads();
}

QUERN_DEVICE int* row_ids(const Params& p, u64 token) { return p.row_id_map + token * (2 * p.experts + 1); }

// The warp's routes, in the lanes of their tokens.
QUERN_DEVICE void write_tile(const Params& p, const Tokens& tokens, const MaskTile& tile, const RoutesOfTile& m) {
  const u64 token = tokens.first + tile.token();
  const Words next = words(p, tile.word);
  u32 left = m.of_token, k = m.above;
  while (__any_sync(kAll, left != 0)) {
    const u32 bit = left == 0 ? 0 : 31 - static_cast<u32>(__clz(static_cast<int>(left)));
    const u32 tokens_of_expert = __shfl_sync(kAll, m.of_expert, static_cast<int>(bit));
    if (left == 0) continue;
    const u32 expert = tile.group * 32 + bit, row = next.get(expert) + popc(tokens_of_expert & lanes_below());
    write_route(p, token * p.topk + k, token, row);
    put(p.token_experts + token * p.topk + k, expert);
    if constexpr (spec::row_id_map) {
      put(row_ids(p, token) + k, row - padding_before(p).get(expert));
      put(row_ids(p, token) + p.experts + k, expert);
    }
    left &= ~(1u << bit);
    ++k;
  }
  if (tile.group != 0 || tile.token() >= tokens.count) return;
  if constexpr (spec::row_id_map) put(row_ids(p, token) + 2 * p.experts, k);
  for (; k < p.topk; ++k) {
    put(p.token_rows + token * p.topk + k, ~0u);
    put(p.token_experts + token * p.topk + k, ~0u);
  }
}

QUERN_DEVICE void write_routes(const Params& p, const Tokens& tokens) {
  for_tiles_of_mask(p, tokens, [&](const MaskTile& tile, const RoutesOfTile& m, u32 count) {
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
    if (tile.any) write_tile(p, tokens, tile, m);
  });
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_MASK_CUH_
