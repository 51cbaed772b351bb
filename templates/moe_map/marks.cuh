// The map as a mask of tokens by experts, in bytes, words or bits: a piece of it, of 16 experts, as 16 bits.
#ifndef QUERN_MOE_MAP_MARKS_CUH_
#define QUERN_MOE_MAP_MARKS_CUH_

#include "moe_map/block.cuh"

namespace quern::moe_map {

constexpr u32 kPieceExperts = 16;
constexpr u32 kAccess = spec::vector;  // bytes
constexpr u32 kAccessExperts = spec::bits ? 8 * kAccess : kAccess / sizeof(spec::Index);
constexpr u32 kAccesses = kPieceExperts / kAccessExperts;
static_assert(kAccesses >= 1, "an access is a part of a piece");

// What the accesses of a piece gave; zeros where the mask ends.
struct Piece {
  Vector<kAccess> of[kAccesses];
};

// The four bits tell which bytes are not 0.
QUERN_DEVICE u32 nonzero_bytes(u32 word) {
  const u32 high = (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) & 0x80808080u;
  return (high >> 7) * 0x10204080u >> 28;
}

QUERN_DEVICE u64 bytes_of_token(const Params& p) {
  return spec::bits ? (p.experts + 7) / 8 : static_cast<u64>(p.experts) * sizeof(spec::Index);
}

QUERN_DEVICE Piece load_piece(const Params& p, u64 token, u32 piece) {
  const u8* const row = static_cast<const u8*>(p.map) + token * bytes_of_token(p);
  Piece loaded = {};
#pragma unroll
  for (u32 i = 0; i < kAccesses; ++i) {
    const u32 access = piece * kAccesses + i;
    if (access * kAccessExperts < p.experts) loaded.of[i] = load<kAccess>(row + access * kAccess);
  }
  return loaded;
}

// Bit i: whether the token has the i-th expert of the piece.
QUERN_DEVICE u32 marks_of(const Params& p, const Piece& loaded, u32 piece) {
  u32 marks = 0;
#pragma unroll
  for (u32 i = 0; i < kAccesses; ++i) {
#pragma unroll
    for (int w = 0; w < Vector<kAccess>::kWords; ++w) {
      const u32 word = loaded.of[i].w[w], at = i * kAccessExperts;
      if constexpr (spec::bits) {
        marks |= word << at;
      } else if constexpr (sizeof(spec::Index) == 4) {
        marks |= static_cast<u32>(word != 0) << (at + w);
      } else {
        marks |= nonzero_bytes(word) << (at + 4 * w);
      }
    }
  }
  // Bits after the last expert have no meaning.
  if (spec::bits && (piece + 1) * kPieceExperts > p.experts)
    marks &= (1u << (p.experts > piece * kPieceExperts ? p.experts - piece * kPieceExperts : 0)) - 1;
  return marks;
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_MARKS_CUH_
