// Backward of the forms outer and upper: a thread block has a sample and reads each gradient once, for the sum of its
// row and for that of its column. The order of additions is fixed: a warp has every eighth row; in a band of columns a
// lane has adjacent ones. A row adds up the columns of a lane in their order, the lanes as pairs, then the bands; a
// column adds up the rows of a warp in their order, then the warps as pairs. The result is both sums. Products that
// upper does not have are passed over.
#ifndef QUERN_INTERACTION_OUTER_BACKWARD_CUH_
#define QUERN_INTERACTION_OUTER_BACKWARD_CUH_

#include "interaction/products.cuh"

namespace quern::interaction {

constexpr u32 kWarps = 8;
constexpr int kColumns = 2;                    // of 16 bytes in a lane, 32 apart
constexpr u32 kOfLane = kColumns * kOfColumn;  // numbers
constexpr u32 kBandNumbers = 32 * kOfLane;

// In shared memory: the sums of rows, those of columns, and what each warp has of a band's columns.
QUERN_DEVICE SharedWords row_sums() { return SharedWords(0); }
QUERN_DEVICE SharedWords column_sums(u32 width) { return SharedWords(width); }
QUERN_DEVICE SharedWords warp_sums(u32 width, u32 warp) { return SharedWords(2 * width + warp * kBandNumbers); }

// Of a row of `width` numbers at `row`: the lane's in the band.
struct Pieces {
  Pending<spec::whole> of[kColumns];
};

QUERN_DEVICE u32 first_of(u32 band, int column) {
  return band + (static_cast<u32>(column) * 32 + threadIdx.x % 32) * kOfColumn;
}

// `from`: the first number that is wanted.
QUERN_DEVICE Pieces begin_pieces(bool wanted, const u8* row, u32 from, u32 width, u32 band, const Readable& bytes) {
  Pieces pieces;
  QUERN_UNROLL for (int c = 0; c < kColumns; ++c) {
    const u32 first = first_of(band, c);
    const bool inside = first < width && first + kOfColumn > from;
    pieces.of[c] = begin_column<spec::whole>(wanted && inside, row + static_cast<i64>(first) * kSize, bytes);
  }
  return pieces;
}

QUERN_DEVICE void end_pieces(const Pieces& pieces, const u8* row, u32 width, u32 band, const Readable& bytes,
                             float (&numbers)[kColumns][kOfColumn]) {
  QUERN_UNROLL for (int c = 0; c < kColumns; ++c) {
    const u32 first = first_of(band, c);
    const int left = (static_cast<int>(width) - static_cast<int>(first)) * kSize;
    unpack<Number, kOfColumn>(end_column<spec::whole>(pieces.of[c], row + static_cast<i64>(first) * kSize, bytes, left),
                              numbers[c]);
  }
}

// Of the gradients of a sample: where those of a row's products begin, or would begin with j = 0.
QUERN_DEVICE const u8* row_at(const u8* gradient, u32 row, u32 width) {
  const i64 at = row_place(row, width) * kSize;
  return reinterpret_cast<const u8*>(reinterpret_cast<u64>(gradient) + static_cast<u64>(at));
}

QUERN_DEVICE float of_lanes(float sum) {
  QUERN_UNROLL for (int lanes = 1; lanes < 32; lanes *= 2) sum += __shfl_xor_sync(kAllLanes, sum, lanes);
  return sum;
}

// A sum of a row gets that of a band.
QUERN_DEVICE void add_to_row(u32 row, u32 band, float sum) {
  if (threadIdx.x % 32 != 0) return;
  row_sums().set(row, bit_cast<u32>(band == 0 ? sum : bit_cast<float>(row_sums().get(row)) + sum));
}

QUERN_DEVICE void add_rows(const Params& p, const u8* gradient, u32 width, u32 band, const u8* source,
                           float (&sums)[kColumns][kOfColumn]) {
  const Readable bytes = gradient_bytes(p);
  float own[kColumns][kOfColumn];
  end_pieces(begin_pieces(true, source, 0, width, band, source_bytes(p)), source, width, band, source_bytes(p), own);
#pragma unroll 1
  for (u32 first = threadIdx.x / 32; first < width; first += kWarps * spec::unroll) {
    Pieces pieces[spec::unroll];
    float factors[spec::unroll];
    QUERN_UNROLL for (u32 u = 0; u < spec::unroll; ++u) {
      const u32 row = first + u * kWarps;
      pieces[u] = begin_pieces(row < width, row_at(gradient, row, width), first_of_row(row), width, band, bytes);
      factors[u] = load_number(row < width, source + row * static_cast<i64>(kSize));
    }
    QUERN_UNROLL for (u32 u = 0; u < spec::unroll; ++u) {
      const u32 row = first + u * kWarps;
      if (row >= width) continue;
      float numbers[kColumns][kOfColumn], sum = 0;
      end_pieces(pieces[u], row_at(gradient, row, width), width, band, bytes, numbers);
      QUERN_UNROLL for (int c = 0; c < kColumns; ++c) {
        QUERN_UNROLL for (int k = 0; k < kOfColumn; ++k) {
          if (spec::upper && first_of(band, c) + static_cast<u32>(k) < first_of_row(row)) continue;
          sum = fmaf(numbers[c][k], own[c][k], sum);
          sums[c][k] = fmaf(numbers[c][k], factors[u], sums[c][k]);
        }
      }
      add_to_row(row, band, of_lanes(sum));
    }
  }
}

// Neither lanes with adjacent numbers nor those with one each meet in a bank.
QUERN_DEVICE u32 kept_place(u32 number) { return number ^ (number / 32 % 8); }

QUERN_DEVICE void keep_columns(u32 width, const float (&sums)[kColumns][kOfColumn]) {
  const SharedWords own = warp_sums(width, threadIdx.x / 32);
  QUERN_UNROLL for (int c = 0; c < kColumns; ++c) {
    QUERN_UNROLL for (int k = 0; k < kOfColumn; ++k)
        own.set(kept_place(first_of(0, c) + static_cast<u32>(k)), bit_cast<u32>(sums[c][k]));
  }
}

QUERN_DEVICE void add_warps(u32 width, u32 band) {
#pragma unroll 1
  for (u32 number = threadIdx.x; number < kBandNumbers && band + number < width; number += kWarps * 32) {
    float sums[kWarps];
    QUERN_UNROLL for (u32 warp = 0; warp < kWarps; ++warp) sums[warp] =
        bit_cast<float>(warp_sums(width, warp).get(kept_place(number)));
    QUERN_UNROLL for (u32 step = 1; step < kWarps; step *= 2) {
      QUERN_UNROLL for (u32 warp = 0; warp < kWarps; warp += 2 * step) sums[warp] += sums[warp + step];
    }
    column_sums(width).set(band + number, bit_cast<u32>(sums[0]));
  }
}

QUERN_DEVICE void interact(const Params& p) {
  const i64 sample = blockIdx.x;
  const u32 width = p.features * p.dim;
  const u8* const source = p.source + sample * p.source_stride;
  const u8* const gradient = p.gradient + sample * p.out_stride;
#pragma unroll 1
  for (u32 band = 0; band < width; band += kBandNumbers) {
    float sums[kColumns][kOfColumn] = {};
    add_rows(p, gradient, width, band, source, sums);
    if (band != 0) __syncthreads();  // the last band's sums have been read
    keep_columns(width, sums);
    __syncthreads();
    add_warps(width, band);
  }
  __syncthreads();
  u8* const to = p.out + sample * p.source_stride;
#pragma unroll 1
  for (u32 i = threadIdx.x; i < width; i += kWarps * 32) {
    const float sum = bit_cast<float>(row_sums().get(i)) + bit_cast<float>(column_sums(width).get(i));
    store<kSize>(to + i * kSize, bit_cast<Vector<kSize>>(from_compute<Number>(sum)));
  }
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_OUTER_BACKWARD_CUH_
