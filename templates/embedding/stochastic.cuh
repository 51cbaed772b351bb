// Rounding by chance: up with the probability of the part that the type has no place for.
#ifndef QUERN_EMBEDDING_STOCHASTIC_CUH_
#define QUERN_EMBEDDING_STOCHASTIC_CUH_

#include "common/numbers.cuh"
#include "embedding/philox.cuh"

namespace quern::embedding {

// The word for an element: the counter is the row's number, its column divided by four, and the table; the column
// modulo four picks one of its words.
QUERN_DEVICE Philox philox_of(common::u64 seed, common::u64 row, common::u32 column, common::u32 table) {
  using common::u32;
  return philox({{static_cast<u32>(row), static_cast<u32>(row >> 32), column / 4, table}}, seed);
}

// `bits` lowest ones are cut off, after a random number below 2^bits is added: a carry into the exponent is right.
QUERN_DEVICE float cut_by_chance(float x, common::u32 bits, common::u32 random) {
  using common::u32;
  const u32 rest = (1u << bits) - 1;
  return common::bit_cast<float>((common::bit_cast<u32>(x) + (random & rest)) & ~rest);
}

QUERN_DEVICE bool is_finite(float x) { return (common::bit_cast<common::u32>(x) & 0x7f800000u) != 0x7f800000u; }

// Each gives a number of the type, beyond its largest one an infinity; infinities and NaN stay.
QUERN_DEVICE float round_by_chance(common::Bf16, float x, common::u32 random) {
  return is_finite(x) ? cut_by_chance(x, 16, random) : x;
}
// Below 2^-14 numbers of the type are 2^-24 apart.
QUERN_DEVICE float round_by_chance(common::Fp16, float x, common::u32 random) {
  const common::u32 bits = common::bit_cast<common::u32>(x), sign = bits & 0x80000000u;
  const float size = common::bit_cast<float>(bits ^ sign);
  if (!is_finite(x) || size >= 0x1p-14f) return is_finite(x) ? cut_by_chance(x, 13, random) : x;
  const float steps = size * 0x1p24f, whole = static_cast<float>(static_cast<common::u32>(steps));
  const float chance = static_cast<float>(random >> 8) * 0x1p-24f;
  const float rounded = (steps - whole > chance ? whole + 1.0f : whole) * 0x1p-24f;
  return common::bit_cast<float>(common::bit_cast<common::u32>(rounded) | sign);
}
QUERN_DEVICE float round_by_chance(float, float x, common::u32) { return x; }

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_STOCHASTIC_CUH_
