// How a thread reads and writes its elements of a row of x, of its gradient, or of the bias: two numbers an element.
#ifndef QUERN_GLU_ACCESS_CUH_
#define QUERN_GLU_ACCESS_CUH_

#include "glu/params.h"
#include "glu/places.cuh"
#include "rows/elements.cuh"

namespace quern::glu {

using namespace common;
using namespace rows;

// The rows of both; the same one unless the operand is split.
template <class T>
struct Rows {
  T* a;
  T* g;
};

template <GluLayout L>
QUERN_DEVICE Columns columns_at(const Params& p, int column) {
  return columns_of(L, spec::interleave, p.width, column);
}

// The numbers of element `i` of a place. But for blocks they are so far from the first one's, whatever the extents.
template <GluLayout L, class T>
QUERN_DEVICE Rows<T> pair_at(const Params& p, const Rows<T>& rows, const Span& at, int i) {
  constexpr bool kLinear = L != GluLayout::blocks;
  const Columns columns = columns_at<L>(p, kLinear ? at.column : at.column + i * kStep);
  const int after = kLinear ? i * kStep * (L == GluLayout::interleaved ? 2 : 1) : 0;
  T* const a = rows.a + columns.a + after;
  return {a, kLinear ? rows.g + columns.g + after : a + spec::interleave};
}

enum class PairAccess { vectors, adjacent, elements };
template <GluLayout L>
QUERN_DEVICE constexpr PairAccess pair_access() {
  if (!spec::vectors) return PairAccess::elements;
  return L == GluLayout::interleaved ? PairAccess::adjacent : PairAccess::vectors;
}

// As they are in memory, like rows::Single.
template <class T, GluLayout L, PairAccess A = pair_access<L>()>
struct Pairs {
  static constexpr int kBytes = kElements * static_cast<int>(sizeof(T));
  Vector<kBytes> a;
  Vector<kBytes> g;
  static QUERN_DEVICE Pairs of(const Numbers& of_a, const Numbers& of_g) {
    return {pack<T, kElements>(of_a), pack<T, kElements>(of_g)};
  }
  QUERN_DEVICE void values(Numbers& of_a, Numbers& of_g) const {
    unpack<T, kElements>(a, of_a);
    unpack<T, kElements>(g, of_g);
  }
  template <LoadHint H>
  QUERN_DEVICE void read(const Params& p, const Rows<const T>& rows, const Span& at) {
    const Columns columns = columns_at<L>(p, at.column);
    a = read_bits<kBytes, H>(at.has(0), rows.a + columns.a);
    g = read_bits<kBytes, H>(at.has(0), rows.g + columns.g);
  }
  // Calls take(where a vector is, its place here) for each vector.
  template <class Take>
  QUERN_DEVICE void each(const Params& p, const Rows<const T>& rows, const Span& at, Take& take) {
    const Columns columns = columns_at<L>(p, at.column);
    take(rows.a + columns.a, a);
    take(rows.g + columns.g, g);
  }
  QUERN_DEVICE void write(const Params& p, const Rows<T>& rows, const Span& at) const {
    const Columns columns = columns_at<L>(p, at.column);
    write_bits<kBytes>(at.has(0), rows.a + columns.a, a);
    write_bits<kBytes>(at.has(0), rows.g + columns.g, g);
  }
};

template <class T, GluLayout L>
struct Pairs<T, L, PairAccess::adjacent> {
  static constexpr int kBytes = 2 * kElements * static_cast<int>(sizeof(T));
  Vector<kBytes> both;
  static QUERN_DEVICE Pairs of(const Numbers& of_a, const Numbers& of_g) {
    float all[2 * kElements];
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      all[2 * i] = of_a[i];
      all[2 * i + 1] = of_g[i];
    }
    return {pack<T, 2 * kElements>(all)};
  }
  QUERN_DEVICE void values(Numbers& of_a, Numbers& of_g) const {
    float all[2 * kElements];
    unpack<T, 2 * kElements>(both, all);
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      of_a[i] = all[2 * i];
      of_g[i] = all[2 * i + 1];
    }
  }
  template <LoadHint H>
  QUERN_DEVICE void read(const Params&, const Rows<const T>& rows, const Span& at) {
    both = read_bits<kBytes, H>(at.has(0), rows.a + 2 * at.column);
  }
  template <class Take>
  QUERN_DEVICE void each(const Params&, const Rows<const T>& rows, const Span& at, Take& take) {
    take(rows.a + 2 * at.column, both);
  }
  QUERN_DEVICE void write(const Params&, const Rows<T>& rows, const Span& at) const {
    write_bits<kBytes>(at.has(0), rows.a + 2 * at.column, both);
  }
};

template <class T, GluLayout L>
struct Pairs<T, L, PairAccess::elements> {
  Single<T> a;
  Single<T> g;
  static QUERN_DEVICE Pairs of(const Numbers& of_a, const Numbers& of_g) {
    return {Single<T>::of(of_a), Single<T>::of(of_g)};
  }
  QUERN_DEVICE void values(Numbers& of_a, Numbers& of_g) const {
    a.values(of_a);
    g.values(of_g);
  }
  template <LoadHint H>
  QUERN_DEVICE void read(const Params& p, const Rows<const T>& rows, const Span& at) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const Rows<const T> from = pair_at<L>(p, rows, at, i);
      a.bits[i] = load_if<sizeof(T), H>(at.has(i), from.a);
      g.bits[i] = load_if<sizeof(T), H>(at.has(i), from.g);
    }
  }
  QUERN_DEVICE void write(const Params& p, const Rows<T>& rows, const Span& at) const {
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const Rows<T> to = pair_at<L>(p, rows, at, i);
      store_if<sizeof(T), kStore>(at.has(i), to.a, a.bits[i]);
      store_if<sizeof(T), kStore>(at.has(i), to.g, g.bits[i]);
    }
  }
};

}  // namespace quern::glu

#endif  // QUERN_GLU_ACCESS_CUH_
