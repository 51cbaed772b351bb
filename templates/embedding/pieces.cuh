// A slot of a table's row, as it is in memory and as numbers.
#ifndef QUERN_EMBEDDING_PIECES_CUH_
#define QUERN_EMBEDDING_PIECES_CUH_

#include "embedding/ids.cuh"
#include "embedding/row_types.cuh"

namespace quern::embedding {

using Numbers = float[kElements];

template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;

template <class T>
constexpr bool kHasScale = spec::scaled && sizeof(T) == 1;

template <class T>
struct Piece {
  static constexpr int kBytes = kElements * static_cast<int>(sizeof(T));
  Vector<kBytes> bits;
  float scale;

  QUERN_DEVICE void read(const Source& source, u32 column, const Row& row) {
    const u64 number = static_cast<u64>(row.number);
    const u64 at = source.at + number * source.table.stride + static_cast<u64>(column) * kBytes;
    bits = load_if<kBytes, kLoad>(row.read, reinterpret_cast<const void*>(at));
    if constexpr (kHasScale<T>) {
      using Scale = spec::Scale;
      const u64 from = source.scales.at + number * static_cast<u64>(source.scales.stride);
      scale = to_compute(bit_cast<Scale>(load_if<sizeof(Scale)>(row.read, reinterpret_cast<const void*>(from))));
    }
  }

  QUERN_DEVICE void values(Numbers& out) const {
    unpack<T, kElements>(bits, out);
    if constexpr (kHasScale<T>) {
#pragma unroll
      for (int i = 0; i < kElements; ++i) out[i] *= scale;
    }
  }

  // A zero row's zeros stay zeros: a scale that was not read is 0.
  QUERN_DEVICE OutBits as_out() const {
    if constexpr (kSame<T, Out>) {
      return bits;
    } else {
      Numbers numbers;
      values(numbers);
      return pack<Out, kElements>(numbers);
    }
  }
};

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_PIECES_CUH_
