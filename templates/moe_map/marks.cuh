// The map as a mask of tokens by experts, in bytes, words or bits: 16 experts of a token, a piece, become 16 bits.
#ifndef QUERN_MOE_MAP_MARKS_CUH_
#define QUERN_MOE_MAP_MARKS_CUH_

#include "moe_map/block.cuh"

namespace quern::moe_map {

constexpr u32 kPieceExperts = 16;
constexpr u32 kAccess = spec::vector;  // bytes
constexpr u32 kAccessExperts = spec::bits ? 8 * kAccess : kAccess / sizeof(spec::Index);
// A piece is read in one part, or in two that have eight accesses each.
constexpr u32 kParts = kPieceExperts > 8 * kAccessExperts ? 2 : 1, kPartExperts = kPieceExperts / kParts;
constexpr u32 kAccesses = kPartExperts / kAccessExperts;
static_assert(kAccesses >= 1, "an access is a part of a piece");

// What the accesses of a part gave; zeros where the mask ends.
struct Part {
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

QUERN_DEVICE Part load_part(const Params& p, u64 token, u32 part) {
  const u8* const row = static_cast<const u8*>(p.map) + token * bytes_of_token(p);
  Part loaded = {};
#pragma unroll
  for (u32 i = 0; i < kAccesses; ++i) {
    const u32 access = part * kAccesses + i;
    if (access * kAccessExperts < p.experts) loaded.of[i] = load<kAccess>(row + access * kAccess);
  }
  return loaded;
}

// Bit i: whether the token has the i-th expert of the part.
QUERN_DEVICE u32 marks_of(const Params& p, const Part& loaded, u32 part) {
  u32 marks = 0;
#pragma unroll
  for (u32 i = 0; i < kAccesses; ++i) {
#pragma unroll
    for (int w = 0; w < Vector<kAccess>::kWords; ++w) {
      const u32 word = loaded.of[i].w[w], at = i * kAccessExperts;
      if constexpr (spec::bits) {
        marks |= word << at;
      } else if constexpr (sizeof(spec::Index) == 4 || kAccess == 1) {
        marks |= static_cast<u32>(word != 0) << (at + w);
      } else {
        marks |= nonzero_bytes(word) << (at + 4 * w);
      }
    }
  }
  // Bits after the last expert have no meaning.
  const u32 first = part * kPartExperts;
  if (spec::bits && first + kPartExperts > p.experts) marks &= (1u << (p.experts > first ? p.experts - first : 0)) - 1;
  return marks;
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_MARKS_CUH_
