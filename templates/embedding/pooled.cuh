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

  QUERN_DEVICE float with(int i, float number, float weight) const {
    if constexpr (spec::pooling == Pooling::max) return count == 0 ? number : larger(numbers[i], number);
    if constexpr (spec::weighted) return fmaf(number, weight, numbers[i]);
    return numbers[i] + number;
  }

  // Selects, no branches: after a branch the compiler reads one row after the other.
  QUERN_DEVICE void add(bool counted, const Numbers& row, float weight) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const float sum = with(i, row[i], weight);
      numbers[i] = counted ? sum : numbers[i];
    }
    count += counted ? 1 : 0;
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

constexpr int kIds = spec::ids_in_flight;

// The first ids of what is left of a bag, and their weights.
struct Ids {
  spec::Index ids[kIds];
  float weights[kIds];

  QUERN_DEVICE void read(const Params& p, const Bag& bag) {
#pragma unroll
    for (int i = 0; i < kIds; ++i) {
      ids[i] = load_id(p.index, bag.begin + i, bag.begin + i < bag.end);
      weights[i] = load_weight(p, bag.begin + i, bag.begin + i < bag.end);
    }
  }
};

// Adds the rows of these ids.
template <class T>
QUERN_DEVICE void add_some(const Lane& lane, const Source& source, const Bag& bag, const Ids& some, Pool& pool,
                           Report& report) {
  Row rows[kIds];
  Piece<T> pieces[kIds];
#pragma unroll
  for (int i = 0; i < kIds; ++i) {
    const i64 position = bag.begin + i;
    rows[i] = row_of(source, some.ids[i], static_cast<u64>(position), position < bag.end, report);
    pieces[i].read(source, lane.column, rows[i]);
  }
#pragma unroll
  for (int i = 0; i < kIds; ++i) {
    Numbers numbers;
    pieces[i].values(numbers);
    pool.add(rows[i].counted, numbers, some.weights[i]);
  }
}

// The ids after those whose rows are read are on their way at the same time.
template <class T>
QUERN_DEVICE void make_slots(const Params& p, const Lane& lane, const Source& source, u32 number, OutSlots& out) {
  Report report;
  const u64 bag_number = static_cast<u64>(number) * static_cast<u64>(p.batch) + static_cast<u64>(lane.first);
  Bag bag = bag_of(p, bag_number, report);
  Pool pool = {};
  Ids next;
  next.read(p, bag);
#pragma unroll 1
  while (bag.begin < bag.end) {
    const Ids some = next;
    const Bag now = bag;
    bag.begin += kIds;
    next.read(p, bag);
    add_some<T>(lane, source, now, some, pool, report);
  }
  out[0] = pool.as_out();
  report.write(p, source);
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_POOLED_CUH_
