// The tile form: 128 rows by some columns, read once. A warp has 32 of the rows, a thread a few neighbouring columns of
// all 32, so that blocks across rows lie in one thread. Blocks along rows share their maxima by shuffles, each of which
// halves what a lane still has to care for. Transposed output passes through shared memory, whose 16-byte units are
// exchanged so that neither side meets a bank twice.
#ifndef QUERN_MXFP8_TILE_CUH_
#define QUERN_MXFP8_TILE_CUH_

#include "common/shared.cuh"
#include "mxfp8/blocks.cuh"

namespace quern::mxfp8 {

using KernelParams = TileParams;
using Word = Vector<spec::vector>;

constexpr int kBands = kTileRows / kBlock;                 // of 32 rows; a warp has one
constexpr int kColumns = spec::vector / sizeof(Source);    // of a thread
constexpr int kLanes = kBlock / kColumns;                  // that share a block along a row
constexpr int kTileColumns = 32 * kColumns * spec::warps;  // `warps` side by side
constexpr int kTileBlocks = kTileColumns / kBlock;         // along a row
constexpr int kThreads = kTileThreads * spec::warps;
constexpr bool kSquare = spec::block != Block::line;
constexpr bool kTransposed = spec::col && spec::transposed;

constexpr TileShared kShared = tile_shared(kTileColumns, kTransposed, spec::row && !kSquare, spec::row);

struct Place {
  u64 expert;
  i64 first_row;     // of the tile
  i64 first_column;  // of the tile
  i64 row;           // of the thread
  i64 column;        // of the thread
  u32 column_in_tile;
  u32 band;
  int rows;  // of the thread, at most 32
};

QUERN_DEVICE Place place(const KernelParams& p) {
  const u64 expert = divide(blockIdx.x, p.by_tiles);
  const u32 tile = static_cast<u32>(blockIdx.x - expert * (static_cast<u64>(p.across) * p.down));
  const u32 group = tile / (p.group * p.down), first = group * p.group;
  const u32 width = p.across - first < p.group ? p.across - first : p.group;
  const u32 in_group = tile - first * p.down;
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Place at;
  at.expert = expert;
  at.first_row = static_cast<i64>(in_group / width) * kTileRows;
  at.first_column = static_cast<i64>(first + in_group % width) * kTileColumns;
  at.band = warp % kBands;
  at.column_in_tile = (warp / kBands * 32 + lane) * kColumns;
  at.row = at.first_row + at.band * kBlock;
  at.column = at.first_column + at.column_in_tile;
  const i64 left = at.column < p.cols ? p.rows - at.row : 0;
  at.rows = left < 0 ? 0 : left < kBlock ? static_cast<int>(left) : kBlock;
  return at;
}

struct Patch {
  Word rows[kBlock];
};

// A thread that has nothing reads its neighbours': cheaper than to ask at each read. What it makes of it is not used.
QUERN_DEVICE Patch read_whole(const KernelParams& p, const Place& at) {
  const i64 row = at.row < p.rows ? at.row : p.rows - kBlock;
  const i64 column = at.column < p.cols ? at.column : p.cols - kColumns;
  const Source* from = static_cast<const Source*>(p.source) + (at.expert * p.rows + row) * p.source_stride + column;
  Patch patch;
#pragma unroll
  for (int i = 0; i < kBlock; ++i, from += p.source_stride) patch.rows[i] = load<spec::vector, kLoad>(from);
  return patch;
}

QUERN_DEVICE Patch read(const KernelParams& p, const Place& at) {
  if constexpr (!spec::cut_bands) return read_whole(p, at);
  const Source* const from =
      static_cast<const Source*>(p.source) + (at.expert * p.rows + at.row) * p.source_stride + at.column;
  Patch patch;
#pragma unroll
  for (int i = 0; i < kBlock; ++i) {
    patch.rows[i] = {};
    if (i < at.rows) patch.rows[i] = load<spec::vector, kLoad>(from + i * p.source_stride);
  }
  return patch;
}

// The same bits, of which the compiler must not keep in registers what it has made of them so far.
template <int Bytes>
QUERN_DEVICE void forget(Vector<Bytes>& vector) {
#ifdef __CUDA_ARCH__
  if constexpr (Bytes < 4) {
    asm volatile("" : "+h"(vector.w[0]));
  } else {
#pragma unroll
    for (int i = 0; i < Bytes / 4; ++i) asm volatile("" : "+r"(vector.w[i]));
  }
#endif
}

QUERN_DEVICE void forget(Patch& patch) {
#pragma unroll
  for (int i = 0; i < kBlock; ++i) forget(patch.rows[i]);
}

// Element `j` of a vector, in float.
template <class T>
QUERN_DEVICE float element_of(const Word& vector, int j) {
  if constexpr (sizeof(T) == 4) {
    return bit_cast<float>(vector.w[j]);
  } else {
    return T::decode(code_at<u16>(vector, j));
  }
}
QUERN_DEVICE float element(const Word& vector, int j) { return element_of<Source>(vector, j); }

// Whether a row of a thread that has some is there.
QUERN_DEVICE bool has_row(const Place& at, int i) { return !spec::cut_bands || i < at.rows; }

// The scale of a folded magnitude; 0 in the padding, which with cut bands was read as zeros.
QUERN_DEVICE u32 scale_here(const Place& at, u32 magnitude) {
  return !spec::cut_bands && at.rows == 0 ? 0 : scale_byte(magnitude);
}

// ---- Blocks across rows: a thread's own

struct ColumnScales {
  u32 scale[kColumns];
};

QUERN_DEVICE ColumnScales column_scales(const Place& at, const Patch& patch) {
  u32 m[Word::kWords] = {};
#pragma unroll
  for (int i = 0; i < kBlock; ++i) {
#pragma unroll
    for (int w = 0; w < Word::kWords; ++w) m[w] = Magnitude::larger(m[w], magnitudes_of(patch.rows[i].w[w]));
  }
  ColumnScales columns;
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const u32 word = m[j / Magnitude::kPerWord];
    columns.scale[j] = scale_here(at, Magnitude::kPerWord == 1 ? word : word >> j % 2 * 16 & 0xffffu);
  }
  return columns;
}

QUERN_DEVICE u32 square_scale(const Place& at, const Patch& patch) {
  u32 m = 0;
#pragma unroll
  for (int i = 0; i < kBlock; ++i) {
#pragma unroll
    for (int w = 0; w < Word::kWords; ++w) m = Magnitude::larger(m, magnitudes_of(patch.rows[i].w[w]));
  }
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) m = Magnitude::larger(m, __shfl_xor_sync(0xffffffffu, m, mask));
  return scale_here(at, Magnitude::fold(m));
}

// Which 16-byte unit of its line a unit is kept in.
QUERN_DEVICE u32 exchanged(u32 line, u32 unit) { return unit ^ (line / kColumns % 8); }

QUERN_DEVICE u8* line_unit(u32 line, u32 unit) {
  return dynamic_shared() + line * kTileRows + exchanged(line, unit) * 16;
}

// A column's 32 elements, as two units of its line.
QUERN_DEVICE void put_line(const Place& at, const Patch& patch, int j, float reciprocal) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float values[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) values[i] = element(patch.rows[16 * half + i], j) * reciprocal;
    store_shared<16>(line_unit(at.column_in_tile + j, 2 * at.band + half), pack<Element, 16>(values));
  }
}

QUERN_DEVICE void write_lines(const KernelParams& p, const Place& at) {
#pragma unroll 4
  for (u32 i = threadIdx.x; i < kTileColumns * 8; i += kThreads) {
    const u32 line = i / 8, unit = i % 8;
    const i64 column = at.first_column + line, row = at.first_row + unit * 16;
    if (column >= p.cols || row >= p.rows) continue;
    const Vector<16> values = load_shared<16>(line_unit(line, unit));
    u8* const to = static_cast<u8*>(p.col_out) + (at.expert * p.cols + column) * p.rows + row;
    if constexpr (spec::write_lines) {
      store<16, kStore>(to, values);
    } else {
      const i64 left = p.rows - row;
#pragma unroll
      for (int b = 0; b < 16; ++b) {
        if (b < left) store<1>(to + b, Vector<1>{{code_at<u8>(values, b)}});
      }
    }
  }
}

// Not transposed: as the source lies, each column by its own reciprocal.
QUERN_DEVICE void write_columns(const KernelParams& p, const Place& at, const Patch& patch,
                                const float (&reciprocal)[kColumns]) {
  if (at.rows == 0) return;
  u8* to = static_cast<u8*>(p.col_out) + (at.expert * p.rows + at.row) * p.cols + at.column;
#pragma unroll
  for (int i = 0; i < kBlock; ++i, to += p.cols) {
    float values[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) values[j] = element(patch.rows[i], j) * reciprocal[j];
    if (has_row(at, i)) store<kColumns, kStore>(to, pack<Element, kColumns>(values));
  }
}

QUERN_DEVICE void put_columns(const KernelParams& p, const Place& at, const Patch& patch, const ColumnScales& columns) {
  float reciprocal[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j) reciprocal[j] = scale_reciprocal(columns.scale[j]);
  if constexpr (spec::transposed) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) put_line(at, patch, j, reciprocal[j]);
  } else {
    write_columns(p, at, patch, reciprocal);
  }
}

QUERN_DEVICE void write_column_scales(const KernelParams& p, const Place& at, const ColumnScales& columns) {
  const i64 block = at.first_row / kBlock + at.band;
  if constexpr (spec::blocked || !spec::col_block_major) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      store_scales<spec::col_block_major>(p.col_scales, at.expert, at.column + j, block, p.cols, p.col_blocks,
                                          Vector<1>{{static_cast<u8>(columns.scale[j])}});
  } else {
    if (at.rows == 0) return;
    Vector<kColumns> bytes = {};
#pragma unroll
    for (int j = 0; j < kColumns; ++j) put_code(bytes, j, static_cast<u8>(columns.scale[j]));
    store<kColumns>(static_cast<u8*>(p.col_scales) + (at.expert * p.col_blocks + block) * p.cols + at.column, bytes);
  }
}

// ---- Blocks along rows: kLanes lanes share each

constexpr int kRowWords = kBlock / Magnitude::kPerWord;  // magnitudes of 32 rows
constexpr int kOwnWords = kRowWords > kLanes ? kRowWords / kLanes : 1;
constexpr int kSharers = kLanes > kRowWords ? kLanes / kRowWords : 1;  // lanes that end with the same word

// One magnitude a row, of the thread's columns; two rows a word where two fit.
QUERN_DEVICE void row_magnitudes(const Patch& patch, u32 (&m)[kRowWords]) {
  u32 rows[kBlock];
#pragma unroll
  for (int i = 0; i < kBlock; ++i) {
    rows[i] = 0;
#pragma unroll
    for (int w = 0; w < Word::kWords; ++w) rows[i] = Magnitude::larger(rows[i], magnitudes_of(patch.rows[i].w[w]));
  }
#pragma unroll
  for (int k = 0; k < kRowWords; ++k) {
    if constexpr (Magnitude::kPerWord == 1) {
      m[k] = rows[k];
    } else {
      const u32 a = rows[2 * k], b = rows[2 * k + 1];
      m[k] = Magnitude::larger((a & 0xffffu) | b << 16, a >> 16 | (b & 0xffff0000u));
    }
  }
}

// With each step a lane gives half of its words away and takes the other lane's of the half that it keeps; in the end
// it has the maxima of kOwnWords, those of its place among the sharers in order.
template <int kMask, int kCount>
QUERN_DEVICE void share_magnitudes(u32 (&m)[kRowWords]) {
  if constexpr (kMask > 0) {
    constexpr int kKept = kCount > 1 ? kCount / 2 : 1;
    const bool upper = kCount > 1 && (threadIdx.x & kMask) != 0;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      const u32 other = kCount > 1 ? m[i + kCount / 2] : m[i];
      const u32 kept = upper ? other : m[i], given = upper ? m[i] : other;
      m[i] = Magnitude::larger(kept, __shfl_xor_sync(0xffffffffu, given, kMask));
    }
    share_magnitudes<kMask / 2, kKept>(m);
  }
}

QUERN_DEVICE u32 row_block(const Place& at) { return at.column_in_tile / kBlock; }

// In the order in which they go to memory.
constexpr bool kByBlock = spec::row_block_major && !spec::blocked;
QUERN_DEVICE u8* row_scale(u32 block, u32 row) {
  return dynamic_shared() + kShared.scales + (kByBlock ? block * kTileRows + row : row * kTileBlocks + block);
}
QUERN_DEVICE u8* row_reciprocal(u32 block, u32 row) {
  return dynamic_shared() + kShared.reciprocals + (block * kTileRows + row) * 4;
}

QUERN_DEVICE void put_row_scale(const Place& at, u32 row, u32 scale) {
  store_shared<1>(row_scale(row_block(at), at.band * kBlock + row), Vector<1>{{static_cast<u8>(scale)}});
}

QUERN_DEVICE void find_row_scales(const Place& at, const Patch& patch) {
  u32 m[kRowWords];
  row_magnitudes(patch, m);
  share_magnitudes<kLanes / 2, kRowWords>(m);
  const u32 lane = threadIdx.x % kLanes;
  if (lane % kSharers != 0) return;
#pragma unroll
  for (int k = 0; k < kOwnWords; ++k) {
#pragma unroll
    for (int h = 0; h < Magnitude::kPerWord; ++h) {
      const u32 row = (lane / kSharers * kOwnWords + k) * Magnitude::kPerWord + h;
      const u32 scale = scale_here(at, Magnitude::kPerWord == 1 ? m[k] : m[k] >> 16 * h & 0xffffu);
      put_row_scale(at, row, scale);
      store_shared<4>(row_reciprocal(row_block(at), at.band * kBlock + row),
                      bit_cast<Vector<4>>(scale_reciprocal(scale)));
    }
  }
}

// Each row by its own reciprocal, or all by one.
template <class Reciprocals>
QUERN_DEVICE void write_rows(const KernelParams& p, const Place& at, const Patch& patch, const Reciprocals& four_from) {
  if (at.rows == 0) return;
  u8* to = static_cast<u8*>(p.row_out) + (at.expert * p.rows + at.row) * p.cols + at.column;
#pragma unroll
  for (int i = 0; i < kBlock; i += 4) {
    const Vector<16> four = four_from(i);
#pragma unroll
    for (int k = 0; k < 4; ++k, to += p.cols) {
      if (has_row(at, i + k))
        store<kColumns, kStore>(to, quantize<kColumns>(patch.rows[i + k], bit_cast<float>(four.w[k])));
    }
  }
}

QUERN_DEVICE void write_rows_by_their_own(const KernelParams& p, const Place& at, const Patch& patch) {
  const u8* const first = row_reciprocal(row_block(at), at.band * kBlock);
  write_rows(p, at, patch, [&](int i) { return load_shared<16>(first + 4 * i); });
}

// Several scales at once, as far as they lie together in memory and nothing splits them.
QUERN_DEVICE void write_row_scales(const KernelParams& p, const Place& at) {
  constexpr int kTogether = spec::scales_together;
#pragma unroll 4
  for (u32 i = threadIdx.x; i < kTileRows * kTileBlocks / kTogether; i += kThreads) {
    const u32 row = kByBlock ? i % kTileRows : i * kTogether / kTileBlocks;
    const u32 block = kByBlock ? i / kTileRows : i * kTogether % kTileBlocks;
    store_scales<spec::row_block_major>(p.row_scales, at.expert, at.first_row + row, at.first_column / kBlock + block,
                                        p.rows, p.row_blocks, load_shared<kTogether>(row_scale(block, row)));
  }
}

// ---- Squares: one scale for 32 rows and 32 columns

QUERN_DEVICE void write_square_scale(const KernelParams& p, const Place& at, void* scales, u32 scale) {
  if (threadIdx.x % kLanes != 0 || at.rows == 0) return;
  const i64 down = at.row / kBlock, across = at.column / kBlock;
  const i64 square = spec::row_block_major ? across * p.col_blocks + down : down * p.row_blocks + across;
  store<1>(static_cast<u8*>(scales) + at.expert * p.col_blocks * p.row_blocks + square,
           Vector<1>{{static_cast<u8>(scale)}});
}

QUERN_DEVICE void run_square(const KernelParams& p, const Place& at, Patch& patch) {
  const u32 scale = square_scale(at, patch);
  constexpr bool kOnce = spec::block == Block::square && !spec::blocked;
  if constexpr (spec::row) {
    const float reciprocal = scale_reciprocal(scale);
    write_rows(p, at, patch, [&](int) {
      const u32 bits = bit_cast<u32>(reciprocal);
      return Vector<16>{{bits, bits, bits, bits}};
    });
    if constexpr (kOnce) {
      write_square_scale(p, at, p.row_scales, scale);
    } else {
#pragma unroll
      for (int k = 0; k < kColumns; ++k) {
        const u32 row = threadIdx.x % kLanes * kColumns + k;
        put_row_scale(at, row, at.row + row < p.rows ? scale : 0);  // 0 in the padding of a square that a tail cuts
      }
    }
  }
  if constexpr (spec::row && spec::col) forget(patch);
  if constexpr (spec::col) {
    ColumnScales columns;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) columns.scale[j] = at.rows == 0 ? 0 : scale;
    put_columns(p, at, patch, columns);
    if constexpr (kOnce) {
      write_square_scale(p, at, p.col_scales, scale);
    } else {
      write_column_scales(p, at, columns);
    }
  }
  __syncthreads();
  if constexpr (spec::row && !kOnce) write_row_scales(p, at);
}

QUERN_DEVICE void run_lines(const KernelParams& p, const Place& at, Patch& patch) {
  if constexpr (spec::row) find_row_scales(at, patch);
  if constexpr (spec::col) {
    const ColumnScales columns = column_scales(at, patch);
    put_columns(p, at, patch, columns);
    write_column_scales(p, at, columns);
    if constexpr (spec::row) forget(patch);
  }
  if constexpr (spec::row) {
    __syncwarp();
    write_rows_by_their_own(p, at, patch);
  }
  __syncthreads();
  if constexpr (spec::row) write_row_scales(p, at);
}

QUERN_DEVICE void run(const KernelParams& p) {
  const Place at = place(p);
  Patch patch = read(p, at);
  if constexpr (kSquare) {
    run_square(p, at, patch);
  } else {
    run_lines(p, at, patch);
  }
  if constexpr (kTransposed) write_lines(p, at);
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_CUH_
