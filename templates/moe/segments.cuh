// Dot products of a token's row and the rows of its routes. They are added in an order that only the row's length and
// type decide: the sums of 32 chunks of 16 bytes are added in a tree, four such sums in a tree, and these in sequence.
// What the row does not have is zero. Whether a sum on the way is -0 or +0 depends on how many zeros it has, but the
// sequence starts at +0, so it does not end at -0. A segment, which a warp or fewer lanes read at once, is 1, 2 or 4
// chunks of each lane. Those of a warp are in different trees. Those of fewer lanes are of one tree, which is all that
// the row has.
#ifndef QUERN_MOE_SEGMENTS_CUH_
#define QUERN_MOE_SEGMENTS_CUH_

#include "common/numbers.cuh"
#include "common/shared.cuh"
#include "moe/columns.cuh"

namespace quern::moe {

using Element = spec::Element;
constexpr int kChunk = 16 / static_cast<int>(sizeof(Element));  // elements
constexpr u32 kWarps = spec::warps;                             // of a team
constexpr u32 kVectorsOfChunk = 16 / kVector;
constexpr u32 kSteps = kUnroll / kVectorsOfChunk;  // chunks of a lane in a segment
constexpr u32 kSegmentsOfSum = kLanes == 32 ? 4 / kSteps : 1;
static_assert(kUnroll == kSteps * kVectorsOfChunk && kSteps <= 4, "a part of a row is a segment");
static_assert(kLanes == 32 || kLanes * kSteps <= 32, "chunks of fewer lanes are of one tree");
static_assert(kWarps == 1 || kLanes == 32, "the warps of a team are whole");

// Narrow reads of a chunk use one sector, so it must stay in the cache.
constexpr LoadHint kChunkLoad = kVector == 16 ? kLoad : LoadHint::plain;

// A token, and the routes of it that this thread's team has: `kWarps` warps or, with fewer lanes, a group of a warp.
struct Token {
  u32 number;
  bool inside;
  u32 team;  // of the block
  u32 warp;  // of the team

  // The threads of a team take its routes in turn.
  QUERN_DEVICE u32 thread() const { return warp * kLanes + lane(); }
};

QUERN_DEVICE Token token_of_thread(const Params& p) {
  const u64 group = group_from(p.pad_blocks);
  const u32 number = static_cast<u32>(divide(group / kWarps, p.by_teams));
  return {number, number < p.tokens, threadIdx.x / (kLanes * kWarps), static_cast<u32>(group % kWarps)};
}

// The first of the team's routes. It is made again wherever it is needed, so that the loops over routes keep no
// register for it.
QUERN_DEVICE u32 first_route(const Params& p, const Token& token) {
  const u32 team = static_cast<u32>(group_from(p.pad_blocks) / kWarps);
  return (opaque(team) - token.number * p.teams) * p.routes_of_team;
}
QUERN_DEVICE u32 end_route(const Params& p, const Token& token) {
  const u32 end = first_route(p, token) + p.routes_of_team;
  return end < kTopk ? end : kTopk;
}

// The sum of each segment and route of the block's teams.
QUERN_DEVICE u8* segment_sum(const Params& p, const Token& token, u32 segment, u32 route) {
  return dynamic_shared() + ((token.team * p.parts + segment) * kTopk + route) * 4;
}

struct Segment {
  Vector<16> chunks[kSteps];
};

// Of the vectors of a chunk, the `i`th.
QUERN_DEVICE u32 column_of(u32 segment, u32 step, u32 i) {
  return ((segment * kSteps + step) * kLanes + lane()) * kVectorsOfChunk + i;
}

// Bytes from the first vector of a lane to that one.
QUERN_DEVICE constexpr u32 after_first(u32 step, u32 i) { return (step * kLanes * kVectorsOfChunk + i) * kVector; }

// What is after the end of a row counts as zeros.
QUERN_DEVICE void clear_after_row(const Params& p, u32 column, Vector<16>& chunk) {
  if (column + 1 != p.vectors) return;
  const i64 inside = static_cast<i64>(p.row_bytes) - static_cast<i64>(column) * 16;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const i64 bytes = inside - 4 * w;
    if (bytes < 4) chunk.w[w] &= bytes <= 0 ? 0 : (1u << (8 * bytes)) - 1;
  }
}

QUERN_DEVICE Readable all_bytes(const Params& p, const void* rows) {
  const void* const end = rows == p.source ? p.source_end : p.rows_end;
  return {static_cast<const u8*>(rows), static_cast<const u8*>(end)};
}

// Calls use(step, chunk) for the chunks of a lane.
template <class Use>
QUERN_DEVICE void for_ragged_chunks(const Params& p, const void* rows, u32 row, bool exists, u32 number,
                                    const Use& use) {
  const Readable bytes = all_bytes(p, rows);
  ColumnBits bits[kSteps];
  Vector<16> chunks[kSteps];
  const u32 first = column_of(number, 0, 0);
  read_columns(p, bytes, exists, row, first, bits);
  values_of(p, bytes, row, first, bits, chunks);
#pragma unroll
  for (u32 s = 0; s < kSteps; ++s) {
    clear_after_row(p, first + s * kLanes, chunks[s]);
    use(s, chunks[s]);
  }
}

// Beyond the row, and without a row, zeros.
QUERN_DEVICE Segment load_segment(const Params& p, const void* rows, u32 row, bool exists, u32 number) {
  Segment segment = {};
  if constexpr (kRagged) {
    for_ragged_chunks(p, rows, row, exists, number, [&](u32 s, const Vector<16>& chunk) { segment.chunks[s] = chunk; });
    return segment;
  }
  const u8* const from = vector_at(p, rows, row, column_of(number, 0, 0));
#pragma unroll
  for (u32 s = 0; s < kSteps; ++s) {
#pragma unroll
    for (u32 i = 0; i < kVectorsOfChunk; ++i) {
      if (exists && column_of(number, s, i) < p.vectors)
        put_piece(segment.chunks[s], static_cast<int>(i), load<kVector, kChunkLoad>(from + after_first(s, i)));
    }
  }
  return segment;
}

QUERN_DEVICE float chunk_dot(const Vector<16>& a, const Vector<16>& b) {
  float of_a[kChunk], of_b[kChunk];
  unpack<Element, kChunk>(a, of_a);
  unpack<Element, kChunk>(b, of_b);
  float sum = 0;
#pragma unroll
  for (int e = 0; e < kChunk; ++e) sum = fmaf(of_a[e], of_b[e], sum);
  return sum;
}

// Of a lane's chunks.
struct ChunkSums {
  float of[kSteps] = {};
};

QUERN_DEVICE ChunkSums lane_dots(const Segment& a, const Segment& b) {
  ChunkSums sums;
#pragma unroll
  for (u32 s = 0; s < kSteps; ++s) sums.of[s] = chunk_dot(a.chunks[s], b.chunks[s]);
  return sums;
}

QUERN_DEVICE float of_other_lane(float value, u32 mask) {
  return __shfl_xor_sync(0xffffffffu, value, static_cast<int>(mask));
}

// Of one tree, whose chunks the lanes of a group have.
QUERN_DEVICE float tree_sum(ChunkSums sums) {
#pragma unroll
  for (u32 half = kSteps / 2; half > 0; half /= 2) {
#pragma unroll
    for (u32 s = 0; s < half; ++s) sums.of[s] += sums.of[s + half];
  }
  float sum = sums.of[0];
#pragma unroll
  for (u32 mask = kLanes / 2; mask > 0; mask /= 2) sum += of_other_lane(sum, mask);
  return sum;
}

// Of kSteps trees of a warp. Of two lanes that add up, each goes on with half of the trees, until it has one.
QUERN_DEVICE float trees_sum(ChunkSums sums) {
  u32 mask = 16;
#pragma unroll
  for (u32 half = kSteps / 2; half > 0; half /= 2, mask /= 2) {
    const bool upper = (threadIdx.x & mask) != 0;
#pragma unroll
    for (u32 s = 0; s < half; ++s) {
      const float kept = upper ? sums.of[s + half] : sums.of[s], given = upper ? sums.of[s] : sums.of[s + half];
      sums.of[s] = kept + of_other_lane(given, mask);
    }
  }
  float sum = sums.of[0];
#pragma unroll
  for (; mask > 0; mask /= 2) sum += of_other_lane(sum, mask);
#pragma unroll
  for (mask = 32 / kSteps; mask < 32; mask *= 2) sum += of_other_lane(sum, mask);
  return sum;
}

// The same in all lanes of a group.
QUERN_DEVICE float segment_dot(const ChunkSums& sums) {
  if constexpr (kLanes == 32) return trees_sum(sums);
  return tree_sum(sums);
}

// Lane 0's is stored where the gradient of the route's probability is made.
QUERN_DEVICE void put_sum(const Params& p, const Token& token, u32 number, u32 route, float sum) {
  if (lane() == 0 && route < kTopk) store_shared<4>(segment_sum(p, token, number, route), bit_cast<Vector<4>>(sum));
}

QUERN_DEVICE Rows rows_of(const Params& p, const Token& token, u32 first) {
  if (token.inside) return load_rows(p, token.number, first);
  Rows none;
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) none.of[i] = kNoRow;
  return none;
}

// Of all segments, once their sums are stored.
QUERN_DEVICE float dot_of_route(const Params& p, const Token& token, u32 k) {
  float sum = 0;
  for (u32 first = 0; first < p.parts; first += kSegmentsOfSum) {
    float of[kSegmentsOfSum];
#pragma unroll
    for (u32 i = 0; i < kSegmentsOfSum; ++i)
      of[i] = first + i < p.parts ? bit_cast<float>(load_shared<4>(segment_sum(p, token, first + i, k))) : 0.0f;
#pragma unroll
    for (u32 step = 1; step < kSegmentsOfSum; step *= 2) {
#pragma unroll
      for (u32 i = 0; i < kSegmentsOfSum; i += 2 * step) of[i] += of[i + step];
    }
    sum += of[0];
  }
  return sum;
}

}  // namespace quern::moe

#endif  // QUERN_MOE_SEGMENTS_CUH_
