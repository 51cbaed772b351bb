// The gradients that the ids of a row give it, in the order of the ids.
#ifndef QUERN_EMBEDDING_BACKWARD_GRADIENTS_CUH_
#define QUERN_EMBEDDING_BACKWARD_GRADIENTS_CUH_

#include "embedding/backward_sum.cuh"

namespace quern::embedding {

constexpr u32 kBatch = spec::batch;  // rows of the gradient that are read before the first is added

// Where an id's gradient is.
struct Place {
  u32 table;
  u32 sample;  // row of the gradient
  u32 bag;     // pooled
};

QUERN_DEVICE Place place_of(const SumParams& p, u32 value) {
  const u32 bag = spec::pooled && !spec::values_are_bags ? last_bag(p.offsets, value, 0, p.bags, 1) : value;
  const u32 quotient = divide32(bag, p.by_divisor), rest = bag - quotient * p.divisor;
  return spec::pooled ? Place{quotient, rest, bag} : Place{rest, quotient, 0};
}

// What the gradient of an id is multiplied with, or divided by.
QUERN_DEVICE float factor_of(const SumParams& p, u32 value, const Place& place) {
  if constexpr (spec::weighted) {
    using Weight = spec::Weight;
    const auto* const weights = static_cast<const Weight*>(p.sample_weights);
    return to_compute(bit_cast<Weight>(load<sizeof(Weight), LoadHint::keep>(weights + value)));
  } else if constexpr (spec::counted) {
    return static_cast<float>(word_at(p.counts, place.bag));
  } else if constexpr (spec::mean) {
    const i64 begin = offset_of(p.offsets, place.bag);
    const bool last = !spec::has_end && place.bag + 1 == p.bags;
    const i64 end = last ? p.count : offset_of(p.offsets, place.bag + 1);
    return static_cast<float>((end < p.count ? end : p.count) - (begin > 0 ? begin : 0));
  } else {
    return 1.0f;
  }
}

// A bit for each element of a slot whose maximum is the id's.
QUERN_DEVICE u32 winners_of(const SumParams& p, u32 value, u32 column) {
  if constexpr (!spec::maximum) return ~0u;
  const u32 element = column * kElements;
  return word_at(p.winners, static_cast<i64>(value) * p.words_of_id + element / 32) >> element % 32;
}

struct GradientSlot {
  Vector<kBytes> bits;
  float factor;
  u32 winners;

  // Not inside: of the gradient nothing is read.
  QUERN_DEVICE void read(const SumParams& p, u32 value, u32 column, bool inside = true) {
    const Place place = place_of(p, value);
    const u64 byte = p.tables[place.table].first + static_cast<u64>(column) * kBytes;
    const u8* const row = static_cast<const u8*>(p.gradient) + place.sample * p.gradient_stride;
    bits = load_if<kBytes>(inside, row + byte);
    factor = factor_of(p, value, place);
    winners = winners_of(p, value, column);
  }

  QUERN_DEVICE void add_to(Numbers& sums) const {
    Numbers values;
    unpack<Gradient, kElements>(bits, values);
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      if constexpr (spec::weighted) {
        sums[e] = fmaf(factor, values[e], sums[e]);
      } else if constexpr (spec::mean) {
        sums[e] += values[e] / factor;
      } else {
        sums[e] += (winners >> e & 1) != 0 ? values[e] : 0.0f;
      }
    }
  }
};

QUERN_DEVICE void add_group(const SumParams& p, const Group& group, u32 column, Numbers& sums) {
#pragma unroll
  for (int e = 0; e < kElements; ++e) sums[e] = kNothing;
#pragma unroll 1
  for (u32 begin = 0; begin < group.count; begin += kBatch) {
    GradientSlot slots[kBatch];
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      if (begin + i < group.count) slots[i].read(p, word_at(p.sorted.values, group.first + begin + i), column);
    }
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      if (begin + i < group.count) slots[i].add_to(sums);
    }
  }
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_GRADIENTS_CUH_
