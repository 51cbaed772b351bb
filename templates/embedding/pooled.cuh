// With pooling: a slot of out is that of a bag's rows, which one thread takes in their order.
#ifndef QUERN_EMBEDDING_POOLED_CUH_
#define QUERN_EMBEDDING_POOLED_CUH_

#include "embedding/pieces.cuh"

namespace quern::embedding {

struct Bag {
  i64 begin;
  i64 end;
};

QUERN_DEVICE i64 load_offset(const Params& p, u64 bag, bool inside) {
  using Offset = spec::Offset;
  return bit_cast<Offset>(load_if<sizeof(Offset), LoadHint::keep>(inside, static_cast<const Offset*>(p.offsets) + bag));
}

// Offsets that fall, or that pass the end, are cut to what is there where the mode checks ids; the report has them
// after the ids' positions.
QUERN_DEVICE Bag bag_of(const Params& p, u64 number, Report& report) {
  const bool last = !spec::has_end && number + 1 == p.bags;
  Bag bag{load_offset(p, number, true), load_offset(p, number + 1, !last)};
  if (last) bag.end = p.count;
  if constexpr (spec::checked) {
    const bool bad = bag.begin < 0 || bag.end > p.count || bag.end < bag.begin;
    if constexpr (spec::mode == Mode::trap) {
      if (bad)
        __assertfail("embedding: offsets of a bag fall or pass the ids", __FILE__, __LINE__, "quern_embedding", 1);
    }
    report.add(bad, static_cast<u64>(p.count) + number);
    bag.begin = bag.begin < 0 ? 0 : bag.begin;
    bag.end = bag.end > p.count ? p.count : bag.end;
  }
  return bag;
}

// Of two equal ones the first; a NaN if one is.
QUERN_DEVICE float larger(float a, float b) { return b > a || b != b ? b : a; }

struct Pool {
  Numbers numbers;
  u32 count;

  QUERN_DEVICE void add(const Numbers& row, float weight) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      if constexpr (spec::pooling == Pooling::max) {
        numbers[i] = count == 0 ? row[i] : larger(numbers[i], row[i]);
      } else if constexpr (spec::weighted) {
        numbers[i] = fmaf(row[i], weight, numbers[i]);
      } else {
        numbers[i] += row[i];
      }
    }
    ++count;
  }

  QUERN_DEVICE OutBits as_out() {
    if constexpr (spec::pooling == Pooling::mean) {
      const float divisor = static_cast<float>(count == 0 ? 1 : count);
#pragma unroll
      for (int i = 0; i < kElements; ++i) numbers[i] /= divisor;
    }
    return pack<Out, kElements>(numbers);
  }
};

QUERN_DEVICE float load_weight(const Params& p, i64 position, bool inside) {
  if constexpr (!spec::weighted) return 1.0f;
  using Weight = spec::Weight;
  const auto* const weights = static_cast<const Weight*>(p.sample_weights);
  return to_compute(bit_cast<Weight>(load_if<sizeof(Weight)>(inside, weights + position)));
}

// The next `ids_in_flight` ids of a bag.
template <class T>
QUERN_DEVICE void add_some(const Params& p, const Lane& lane, const Source& source, const Bag& bag, Pool& pool,
                           Report& report) {
  constexpr int kIds = spec::ids_in_flight;
  spec::Index ids[kIds];
  Row rows[kIds];
  Piece<T> pieces[kIds];
  float weights[kIds];
#pragma unroll
  for (int i = 0; i < kIds; ++i) {
    ids[i] = load_id(p.index, bag.begin + i, bag.begin + i < bag.end);
    weights[i] = load_weight(p, bag.begin + i, bag.begin + i < bag.end);
  }
#pragma unroll
  for (int i = 0; i < kIds; ++i) {
    const i64 position = bag.begin + i;
    rows[i] = row_of(source, ids[i], static_cast<u64>(position), position < bag.end, report);
    pieces[i].read(source, lane.column, rows[i]);
  }
#pragma unroll
  for (int i = 0; i < kIds; ++i) {
    Numbers numbers;
    pieces[i].values(numbers);
    if (rows[i].counted) pool.add(numbers, weights[i]);
  }
}

template <class T>
QUERN_DEVICE void make_slots(const Params& p, const Lane& lane, const Source& source, u32 number, OutSlots& out) {
  Report report;
  const u64 bag_number = static_cast<u64>(number) * static_cast<u64>(p.batch) + static_cast<u64>(lane.first);
  Bag bag = bag_of(p, bag_number, report);
  Pool pool = {};
#pragma unroll 1
  for (; bag.begin < bag.end; bag.begin += spec::ids_in_flight) add_some<T>(p, lane, source, bag, pool, report);
  out[0] = pool.as_out();
  report.write(p, source);
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_POOLED_CUH_
