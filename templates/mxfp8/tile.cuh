// The tile form: 128 rows by some columns, adjacent ones or as many of both halves of a row, read once; then, depending
// on `stack`, another such tile below. A warp has 32 of the rows; of those a thread has all 32 or 16, of a few adjacent
// columns. Blocks of 32 across rows lie in one or two threads. Blocks along rows share their maxima by shuffles, each
// of which halves the number of maxima per lane. Transposed output passes through shared memory, whose 16-byte units
// are permuted (swizzled) so that neither side has a bank conflict if lines begin at multiples of 16.
#ifndef QUERN_MXFP8_TILE_CUH_
#define QUERN_MXFP8_TILE_CUH_

#include "mxfp8/bias.cuh"
#include "mxfp8/tile_cluster.cuh"
#include "mxfp8/tile_columns.cuh"
#include "mxfp8/tile_read.cuh"
#include "mxfp8/tile_rows.cuh"
#include "mxfp8/varying.cuh"

namespace quern::mxfp8 {

// ---- Squares: one scale for 32 rows and 32 columns

QUERN_DEVICE u32 square_scale(const ThreadPosition& at, const Patch& patch) {
  u32 m = 0;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int w = 0; w < RowWord::kWords; ++w) m = Magnitude::larger(m, magnitudes_of(patch.rows[i].w[w]));
  }
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) m = Magnitude::larger(m, __shfl_xor_sync(0xffffffffu, m, mask));
  return scale_here(at, Magnitude::fold(over_parts(m)));
}

// `scales`: of this part.
QUERN_DEVICE void write_square_scale(const KernelParams& p, const ThreadPosition& at, u8* scales, u32 scale) {
  if (threadIdx.x % kLanes != 0 || !is_first_part() || at.rows == 0) return;
  const i64 down = at.row / kBlock, across = at.column / kBlock;
  const i64 square =
      spec::row_block_major ? across * blocks_of_columns(p, at.part) + down : down * p.row_blocks + across;
  store<1>(scales + square, Vector<1>{{static_cast<u8>(scale)}});
}

// For each of the thread's rows, by the lanes that share its blocks; 0 in the padding of a partial square.
QUERN_DEVICE void put_square_scale(const KernelParams& p, const ThreadPosition& at, u32 scale) {
#pragma unroll
  for (u32 row = threadIdx.x % kLanes; row < kRows; row += kLanes)
    put_row_scale(at, row, at.row + row < at.part.rows ? scale : 0);
}

// Whether scales of rows go through shared memory: each row's own, or its square's.
constexpr bool kRowScales = spec::row && !kOnceASquare && !spec::given_scale;

QUERN_DEVICE void quantize_squares(const KernelParams& p, const ThreadPosition& at, Patch& patch) {
  const u32 scale = square_scale(at, patch);
  if constexpr (spec::row) {
    const u32 bits = bit_cast<u32>(Scaling::reciprocal(scale));
    write_rows(p, at, patch, [&](int) { return Vector<16>{{bits, bits, bits, bits}}; });
    if constexpr (kOnceASquare) {
      write_square_scale(p, at, row_scales(p, at), scale);
    } else {
      put_square_scale(p, at, scale);
    }
  }
  if constexpr (spec::row && spec::col) discard_derived(patch);
  if constexpr (spec::col) {
    ColumnScales columns;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) columns.scale[j] = at.rows == 0 ? 0 : scale;
    put_columns_by_scales(p, at, patch, columns);
    if constexpr (kOnceASquare) {
      write_square_scale(p, at, col_scales(p, at), scale);
    } else {
      write_column_scales(p, at, columns);
    }
  }
}

// All by the given scale.
QUERN_DEVICE void quantize_by_one(const KernelParams& p, const ThreadPosition& at, Patch& patch) {
  const float reciprocal = given_reciprocal(p);
  const u32 bits = bit_cast<u32>(reciprocal);
  if constexpr (spec::row) write_rows(p, at, patch, [&](int) { return Vector<16>{{bits, bits, bits, bits}}; });
  if constexpr (spec::row && spec::col) discard_derived(patch);
  if constexpr (spec::col) {
    float reciprocals[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) reciprocals[j] = reciprocal;
    put_columns(p, at, patch, reciprocals);
  }
}

QUERN_DEVICE void quantize_lines(const KernelParams& p, const ThreadPosition& at, Patch& patch) {
  if constexpr (spec::row) find_row_scales(at, patch);
  if constexpr (spec::col) {
    const ColumnScales columns = column_scales(at, patch);
    if constexpr (kTallBlocks) discard_derived(patch);
    put_columns_by_scales(p, at, patch, columns);
    write_column_scales(p, at, columns);
    if constexpr (spec::row) discard_derived(patch);
  }
  if constexpr (spec::row) {
    __syncwarp();
    write_rows_by_their_own(p, at, patch);
  }
}

QUERN_DEVICE void exchange_row_scales(const KernelParams& p, const ThreadPosition& at) {
  __syncwarp();
  if constexpr (kCluster > 1) {
    send_row_scales(at);
  } else if constexpr (!kRowAtoms) {
    write_row_scales(p, at);
  }
}

// Writes what shared memory holds for the whole stack, and what a cluster has gathered. `at`: its first tile.
QUERN_DEVICE void write_stack(const KernelParams& p, const ThreadPosition& at) {
  if constexpr (kTransposed) write_lines(p, at);
  if constexpr (kRowScales && kRowAtoms) write_row_atoms(p, at);
  if constexpr (kColumnAtoms) write_column_atoms(p, at);
  if constexpr (kCluster > 1) write_gathered(p, at);
}

// Blocked scales, where a matrix may end within a band: of a warp below it zeros are to be written, and nothing to be
// read. On an H200 37 matrices of 5 x 2464 take 4.2 us, where such warps quantize zeros 4.4.
constexpr bool kSkipsPadding =
    spec::cut_bands && spec::blocked && kRowScales && !kSquare && !spec::col && !spec::bias_gradient;
QUERN_DEVICE bool is_padding(const ThreadPosition& at) {
  return kSkipsPadding && at.first_row + static_cast<i64>(threadIdx.x / 32 * kBand) >= at.part.rows;
}
QUERN_DEVICE void put_no_scales(const ThreadPosition& at) {
#pragma unroll
  for (u32 row = threadIdx.x % kLanes; row < kRows; row += kLanes) put_row_scale(at, row, 0);
}

QUERN_DEVICE void quantize_tile(const KernelParams& p, const ThreadPosition& at) {
  if (is_padding(at)) return put_no_scales(at);
  Patch patch = read(p, at);
  if constexpr (spec::bias_gradient) {
    put_band_sums(at, patch.sums);
    discard_derived(patch);
  }
  if constexpr (spec::given_scale) {
    quantize_by_one(p, at, patch);
  } else if constexpr (kSquare) {
    quantize_squares(p, at, patch);
  } else {
    quantize_lines(p, at, patch);
  }
}

QUERN_DEVICE void run_tile(const KernelParams& p, u32 tile) {
  const ThreadPosition at = thread_position(p, tile);
  quantize_tile(p, at);
  if constexpr (kCluster > 1) {
    if (tile == 0) cluster_wait();
  }
  if constexpr (kRowScales) exchange_row_scales(p, at);
}

// In both directions a loop's variables exceed the registers; in one direction the loop is faster, and half the code.
constexpr int kTilesUnrolled = spec::row && spec::col ? kStack : 1;

QUERN_DEVICE void run_stack(const KernelParams& p) {
  if constexpr (spec::bias_gradient) {
    if (p.rows == 0) return write_zeros(p);
  }
  if constexpr (kCluster > 1) expect_row_scales();
#pragma unroll kTilesUnrolled
  for (u32 tile = 0; tile < kStack; ++tile) run_tile(p, tile);
  if constexpr (kTransposed || kRowAtoms || kColumnAtoms || spec::bias_gradient) __syncthreads();
  [[maybe_unused]] u32 before = 0;
  if constexpr (spec::bias_gradient) before = send_tile_sums(p);
  write_stack(p, thread_position(p, 0));
  if constexpr (spec::bias_gradient) add_sums(p, before);
}

QUERN_DEVICE void run(const KernelParams& p) {
  if constexpr (spec::varying) {
    if (find_matrix(p)) run_stack(matrix_of_block(p));
    return;
  }
  if constexpr (spec::groups) {
    if (!begin_part(p)) return;  // so do all blocks of a cluster, which are adjacent
  }
  run_stack(p);
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_CUH_
