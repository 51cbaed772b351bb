// The columns form, for matrices of at most 32 rows of which only transposed blocks across the rows are made: a thread
// has all rows of a few adjacent columns. The lines of a matrix, shorter than a block, follow each other without gaps,
// so what a thread block makes is one run of bytes. It passes through shared memory and is written in aligned units of
// 16 bytes, wherever it begins.
#ifndef QUERN_MXFP8_COLUMNS_CUH_
#define QUERN_MXFP8_COLUMNS_CUH_

#include "common/shared.cuh"
#include "mxfp8/source.cuh"

namespace quern::mxfp8 {

using namespace common;

using KernelParams = ColumnParams;

constexpr int kRows = spec::rows;
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
  Word rows[kRows];
};

QUERN_DEVICE Columns read_columns(const KernelParams& p, const Place& at) {
  Columns columns = {};
  if (!at.is_inside) return columns;
  const SourceRow first = {at.expert * p.rows, gap_before(p, static_cast<u64>(at.expert))};
  const Source* from = source_address(p, first, at.first + at.in_block);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
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

constexpr u32 kThreadBytes = kRows * kColumns;  // the lines of a thread, without gaps
constexpr u32 kPiece = kThreadBytes % 4 == 0 ? 4 : kThreadBytes % 2 == 0 ? 2 : 1;  // that each thread's begin at

// spec::gap bytes lie after the lines of each thread, such that the first words of the threads of a warp are in
// different banks.
QUERN_DEVICE u8* run_byte(u32 i) { return dynamic_shared() + i + i / kThreadBytes * spec::gap; }

struct Run {
  u8* begin;
  u32 skipped;  // bytes of the first aligned unit of 16 that are before the run
  u32 end;      // from the begin of that unit
};
QUERN_DEVICE Run run_of(const KernelParams& p, const Place& at) {
  u8* const begin = static_cast<u8*>(p.col_out) + (at.expert * p.cols + at.first) * p.rows;
  const i64 left = p.cols - at.first, columns = left < 0 ? 0 : left;
  const u32 most = blockDim.x * kColumns;
  const u32 bytes = (columns < most ? static_cast<u32>(columns) : most) * static_cast<u32>(p.rows);
  const u32 skipped = static_cast<u32>(reinterpret_cast<unsigned long long>(begin) & 15);
  return {begin, skipped, skipped + bytes};
}

// Byte n of a thread's lines is of column n / kRows.
QUERN_DEVICE float value_at(const Columns& columns, u32 n) {
  float values[kColumns];
  unpack<Source, kColumns>(columns.rows[n % kRows], values);
  return values[n / kRows];
}

QUERN_DEVICE void put_columns(const Place& at, const Columns& columns, const LineScales& scales) {
  float reciprocal[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j) reciprocal[j] = Scaling::reciprocal(scales.scale[j]);
  u8* const to = run_byte(at.in_block * kRows);
  if (threadIdx.x == 0)
    store_shared<4>(run_byte(blockDim.x * kThreadBytes), Vector<4>{});  // what a unit's last word may read
#pragma unroll
  for (u32 word = 0; word < kThreadBytes; word += 4) {
    float values[4] = {};
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u32 n = word + k;
      if (n < kThreadBytes) values[k] = value_at(columns, n) * reciprocal[n / kRows];
    }
    const Vector<4> elements = pack<Element, 4>(values);
#pragma unroll
    for (u32 k = 0; k < 4; k += kPiece) {
      if (word + k < kThreadBytes) store_shared<kPiece>(to + word + k, piece_of<kPiece>(elements, k / kPiece));
    }
  }
}

// From any byte of the run on: of aligned words, five where it begins within one.
QUERN_DEVICE Vector<16> run_unit(u32 from) {
  const u32 first = from / 4 * 4, bits = from % 4 * 8;
  u32 words[5] = {};
#pragma unroll
  for (u32 w = 0; w < 5; ++w) {
    if (w < 4 || bits != 0) words[w] = load_shared<4>(run_byte(first + 4 * w)).w[0];
  }
  Vector<16> unit;
#pragma unroll
  for (int w = 0; w < 4; ++w) unit.w[w] = static_cast<u32>((u64{words[w + 1]} << 32 | words[w]) >> bits);
  return unit;
}

// Units that the run has in part, the first and the last one, byte by byte.
QUERN_DEVICE void write_run(const Run& run) {
  for (u32 from = threadIdx.x * 16; from < run.end; from += blockDim.x * 16) {
    u8* const to = run.begin + (static_cast<i64>(from) - run.skipped);
    if (from >= run.skipped && from + 16 <= run.end) {
      store<16, kStore>(to, run_unit(from - run.skipped));
      continue;
    }
    for (u32 k = 0; k < 16; ++k) {
      if (from + k >= run.skipped && from + k < run.end)
        store<1>(to + k, load_shared<1>(run_byte(from + k - run.skipped)));
    }
  }
}

QUERN_DEVICE void run(const KernelParams& p) {
  const Place at = place_of(p);
  const Columns columns = read_columns(p, at);
  const LineScales scales = column_scales(at, columns);
  put_columns(at, columns, scales);
  write_scales(p, at, scales);
  __syncthreads();
  write_run(run_of(p, at));
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_COLUMNS_CUH_
