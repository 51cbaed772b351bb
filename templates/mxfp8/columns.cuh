// The columns form, for matrices of at most 32 rows of which only transposed blocks across the rows are made: a thread
// has all rows of a few adjacent columns. The lines of a matrix, shorter than a block, follow each other without gaps,
// so what a thread block makes is one run of bytes. It passes through shared memory and is written in aligned units of
// 16 bytes, wherever it begins.
#ifndef QUERN_MXFP8_COLUMNS_CUH_
#define QUERN_MXFP8_COLUMNS_CUH_

#include "common/shared.cuh"
#include "mxfp8/prologue.cuh"

namespace quern::mxfp8 {

using namespace common;

using KernelParams = ColumnParams;

constexpr int kRows = spec::rows;  // that a thread has room for
constexpr int kColumns = spec::vector / sizeof(Source);

// The columns of a thread.
struct Place {
  i64 expert;
  i64 first;       // column of the thread block
  u32 in_block;    // the thread's first column, from there
  bool is_inside;  // the matrix
};

QUERN_DEVICE Place place_of(const KernelParams& p) {
  const u32 block = blockIdx.x, columns = blockDim.x * kColumns;
  Place at;
  at.expert = static_cast<i64>(divide(block, p.by_blocks));
  at.first = (block - at.expert * p.blocks) * columns;
  at.in_block = threadIdx.x * kColumns;
  at.is_inside = at.first + at.in_block < p.cols;
  return at;
}

struct Columns {
  Word rows[kRows];  // zeros after the last one
};

QUERN_DEVICE Columns read_columns(const KernelParams& p, const Place& at) {
  Columns columns = {};
  if (!at.is_inside) return columns;
  const SourceRow first = {at.expert * p.rows, gap_before(p, static_cast<u64>(at.expert))};
  const Source* from = source_address(p, first, at.first + at.in_block);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (i >= p.rows) break;
    columns.rows[i] = load<spec::vector>(from);
    from += p.source_stride;
  }
  return columns;
}

struct LineScales {
  u32 scale[kColumns];  // 0 outside the matrix
};

QUERN_DEVICE LineScales column_scales(const Place& at, const Columns& columns) {
  u32 m[Word::kWords] = {};
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int w = 0; w < Word::kWords; ++w) m[w] = Magnitude::larger(m[w], magnitudes_of(columns.rows[i].w[w]));
  }
  LineScales scales;
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const u32 word = m[j / Magnitude::kPerWord];
    const u32 own = Magnitude::kPerWord == 1 ? word : word >> j % 2 * 16 & 0xffffu;
    scales.scale[j] = at.is_inside ? stored_scale(own) : 0;
  }
  return scales;
}

// Plain ones of adjacent columns are adjacent. Blocked ones are the first of the four of their line, whose other three
// are padding; adjacent columns, of the same 32, have lines 16 bytes apart.
QUERN_DEVICE void write_scales(const KernelParams& p, const Place& at, const LineScales& scales) {
  u8* to = static_cast<u8*>(p.col_scales);
  const i64 column = at.first + at.in_block;
  if constexpr (spec::blocked) {
    constexpr int kAtOnce = kColumns == 1 ? 1 : 4;  // one column takes any address
    if (column >= round_up(p.cols, 128)) return;
    to += at.expert * blocked_bytes(p.cols, 1) + blocked_offset(column, 0, 1);
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int block = 0; block < 4; block += kAtOnce) {
        const u32 word = block == 0 ? scales.scale[j] : 0;
        store<kAtOnce>(to + 16 * j + block, Vector<kAtOnce>{{static_cast<typename Vector<kAtOnce>::Word>(word)}});
      }
    }
  } else if (at.is_inside) {
    Vector<kColumns> bytes = {};
#pragma unroll
    for (int j = 0; j < kColumns; ++j) put_code(bytes, j, static_cast<u8>(scales.scale[j]));
    store<kColumns>(to + at.expert * p.cols + column, bytes);
  }
}

// ---- The run of lines in shared memory

// As many bytes after the begin of its first aligned unit as the run begins there.
struct Run {
  u8* begin;
  u32 skipped;
  u32 end;  // from the begin of the unit
};
QUERN_DEVICE Run run_of(const KernelParams& p, const Place& at) {
  u8* const begin = static_cast<u8*>(p.col_out) + (at.expert * p.cols + at.first) * p.rows;
  const i64 left = p.cols - at.first, columns = left < 0 ? 0 : left;
  const u32 most = blockDim.x * kColumns;
  const u32 bytes = (columns < most ? static_cast<u32>(columns) : most) * static_cast<u32>(p.rows);
  const u32 skipped = static_cast<u32>(reinterpret_cast<unsigned long long>(begin) & 15);
  return {begin, skipped, skipped + bytes};
}

// A gap of a word after 128 bytes: where a thread has a multiple of 4 bytes, its first byte and those of the other
// threads of the warp are in different banks.
QUERN_DEVICE u8* run_byte(u32 i) { return dynamic_shared() + i + i / 128 * 4; }

// Up to four elements that follow each other. `as_word`: all four, at an aligned address.
QUERN_DEVICE void put_elements(u32 at, const Vector<4>& elements, int count, bool as_word) {
  if (as_word) return store_shared<4>(run_byte(at), elements);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < count) store_shared<1>(run_byte(at + k), piece_of<1>(elements, k));
  }
}

QUERN_DEVICE void put_columns(const KernelParams& p, const Place& at, const Columns& columns, u32 skipped,
                              const LineScales& scales) {
  if (!at.is_inside) return;
  const u32 rows = static_cast<u32>(p.rows);
  const bool as_words = ((rows | skipped) & 3) == 0;
  float reciprocal[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j) reciprocal[j] = Scaling::reciprocal(scales.scale[j]);
#pragma unroll
  for (u32 i = 0; i < kRows; i += 4) {
    if (i >= rows) break;
    float values[4][kColumns];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) unpack<Source, kColumns>(columns.rows[i + k], values[k]);
#pragma unroll
    for (u32 j = 0; j < kColumns; ++j) {
      const float line[4] = {values[0][j] * reciprocal[j], values[1][j] * reciprocal[j], values[2][j] * reciprocal[j],
                             values[3][j] * reciprocal[j]};
      put_elements(skipped + (at.in_block + j) * rows + i, pack<Element, 4>(line), static_cast<int>(rows - i),
                   as_words);
    }
  }
}

QUERN_DEVICE Vector<16> run_unit(u32 from) {
  Vector<16> unit;
#pragma unroll
  for (u32 w = 0; w < 4; ++w) unit.w[w] = load_shared<4>(run_byte(from + 4 * w)).w[0];
  return unit;
}

// Units that the run has in part, the first and the last one, byte by byte.
QUERN_DEVICE void write_run(const Run& run) {
  for (u32 from = threadIdx.x * 16; from < run.end; from += blockDim.x * 16) {
    u8* const to = run.begin + (static_cast<i64>(from) - run.skipped);
    if (from >= run.skipped && from + 16 <= run.end) {
      store<16, kStore>(to, run_unit(from));
      continue;
    }
    for (u32 k = 0; k < 16; ++k) {
      if (from + k >= run.skipped && from + k < run.end) store<1>(to + k, load_shared<1>(run_byte(from + k)));
    }
  }
}

QUERN_DEVICE void run(const KernelParams& p) {
  const Place at = place_of(p);
  const Columns columns = read_columns(p, at);
  const LineScales scales = column_scales(at, columns);
  const Run made = run_of(p, at);
  put_columns(p, at, columns, made.skipped, scales);
  write_scales(p, at, scales);
  __syncthreads();
  write_run(made);
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_COLUMNS_CUH_
