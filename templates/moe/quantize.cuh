// Rows are quantized before they are written: once, however many rows of out they become. A block of elements that
// share a scale is in adjacent lanes, or in all lanes of a group and several vectors of each. Beyond the end of a row
// are zeros.
#ifndef QUERN_MOE_QUANTIZE_CUH_
#define QUERN_MOE_QUANTIZE_CUH_

#include "moe/magnitudes.cuh"
#include "mx/scale_places.cuh"

namespace quern::moe {

constexpr bool kBlocked = spec::blocked;
constexpr bool kGiven = spec::block_length == 0;  // the caller gives a scale for everything
constexpr u32 kBlockVectors = kGiven ? 1 : spec::block_length / kOutVector;
constexpr u32 kBlockLanes = kBlockVectors < kLanes ? kBlockVectors : kLanes;
constexpr u32 kPieces = kBlockVectors / kBlockLanes;              // vectors of a lane in a block
constexpr u32 kBlocksOfLane = kUnroll / kPieces;                  // blocks that a lane has a share of
constexpr u32 kBlocksAtOnce = kLanes / kBlockLanes;               // of a group
constexpr u32 kPartBlocks = kBlocksOfLane * kBlocksAtOnce;        // of a part
constexpr u32 kLaneScales = (kPartBlocks + kLanes - 1) / kLanes;  // that a lane stores
static_assert(kBlocksOfLane * kPieces == kUnroll, "a part holds whole blocks");

// The scales of adjacent blocks that are stored at once: four of a byte each where their address allows it.
constexpr u32 kStoredScales = spec::scale_words ? 4 : 1;
constexpr int kStoredBytes = static_cast<int>(kStoredScales) * Scaling::kBytes;
using StoredScales = Vector<kStoredBytes>;
static_assert(kPartBlocks % kStoredScales == 0 && kStoredBytes <= 4, "a part holds whole words of scales");

struct QuantizedPart {
  Vector<kOutVector> elements[kUnroll];
  u32 scales[kLaneScales];  // of blocks lane, lane + kLanes and so on of the part; or of each the word that it is in
};

// The scales of four adjacent lanes as a word, in each of them. A block after the end of a row is of zeros, whose scale
// is 0: so is the padding of the blocked layout.
QUERN_DEVICE u32 word_of_scales(u32 scale) {
  u32 word = scale << (lane() % 4 * 8);
  word |= __shfl_xor_sync(group_mask(), word, 1);
  return word | __shfl_xor_sync(group_mask(), word, 2);
}

// Gives each lane the scales that it stores. `scales`: of this lane's blocks.
QUERN_DEVICE void hand_out(const u32 (&scales)[kBlocksOfLane], QuantizedPart& made) {
#pragma unroll
  for (u32 s = 0; s < kLaneScales; ++s) {
    const u32 block = s * kLanes + lane();
    made.scales[s] = 0;
#pragma unroll
    for (u32 step = 0; step < kBlocksOfLane; ++step) {
      const int from = static_cast<int>(block % kBlocksAtOnce * kBlockLanes);
      const u32 scale = __shfl_sync(group_mask(), scales[step], from, static_cast<int>(kLanes));
      if (block / kBlocksAtOnce == step) made.scales[s] = scale;
    }
    if constexpr (spec::scale_words) made.scales[s] = word_of_scales(made.scales[s]);
  }
}

QUERN_DEVICE QuantizedPart make(const Params& p, const Vector<kVector> (&values)[kUnroll]) {
  QuantizedPart made;
  u32 scales[kBlocksOfLane] = {};
#pragma unroll
  for (u32 step = 0; step < kBlocksOfLane; ++step) {
    const Vector<kVector>* const vectors = values + step * kPieces;
    float reciprocal = 0;
    if constexpr (kGiven) {
      reciprocal = 1.0f / bit_cast<float>(load<4, LoadHint::keep>(p.scales));
    } else {
      scales[step] = Scaling::stored(largest_of_lanes<kBlockLanes>(largest_of<kPieces>(0, vectors)));
      reciprocal = Scaling::reciprocal(scales[step]);
    }
#pragma unroll
    for (u32 k = 0; k < kPieces; ++k)
      made.elements[step * kPieces + k] = scaled_to<Quantized, Source, kOutVector>(vectors[k], reciprocal);
  }
  if constexpr (!kGiven) hand_out(scales, made);
  return made;
}

// Blocks of a row of scales: the blocked layout has a multiple of 4, with zeros after the last.
QUERN_DEVICE u32 blocks_of_row(const Params& p) { return spec::blocked ? (p.blocks + 3) / 4 * 4 : p.blocks; }

// Those of a token are soon read again.
constexpr StoreHint kScaleStore = kBlocked ? StoreHint::plain : kStore;

// Of a block and those that are stored with it. Blocked scales are first those of tokens: see atoms.cuh.
QUERN_DEVICE void put_scales(const Params& p, u32 row, u32 block, u32 scales) {
  u8* const to = static_cast<u8*>(kBlocked ? p.token_scales : p.out_scales);
  const u64 at = static_cast<u64>(row) * blocks_of_row(p) + block;
  store<kStoredBytes, kScaleStore>(to + at * Scaling::kBytes, StoredScales{{static_cast<StoredScales::Word>(scales)}});
}

QUERN_DEVICE void store_made_scales(const Params& p, const Part& part, u32 row, bool zero, const QuantizedPart& made) {
  if constexpr (kGiven) return;
  const u32 first = part.of_row * kPartBlocks;
#pragma unroll
  for (u32 s = 0; s < kLaneScales; ++s) {
    const u32 of_part = s * kLanes + lane();
    if (of_part % kStoredScales == 0 && of_part < kPartBlocks && first + of_part < p.blocks)
      put_scales(p, row, first + of_part, zero ? 0 : made.scales[s]);
  }
  if (kBlocked && !spec::scale_words && part.of_row + 1 == p.parts && p.blocks + lane() < blocks_of_row(p))
    put_scales(p, row, p.blocks + lane(), 0);
}

// With blocked scales, the token that a row is of, plus 1. Until their launch has written it, of each row.
constexpr u32 kNoSource = 0, kZeros = 0xffffffff;

QUERN_DEVICE void set_source(const Params& p, u32 row, u32 source) { store<4>(p.row_sources + row, {{source}}); }

QUERN_DEVICE void clear_made_scales(const Params& p, u32 row) {
  if constexpr (kGiven || kBlocked) return;
#pragma unroll 1
  for (u32 block = lane() * kStoredScales; block < blocks_of_row(p); block += kLanes * kStoredScales)
    put_scales(p, row, block, 0);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_QUANTIZE_CUH_
