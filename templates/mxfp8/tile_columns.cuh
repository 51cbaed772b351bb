// Blocks across rows: a thread's own, or those of the parts of a band.
#ifndef QUERN_MXFP8_TILE_COLUMNS_CUH_
#define QUERN_MXFP8_TILE_COLUMNS_CUH_

#include "common/realign.cuh"
#include "mxfp8/tile_patch.cuh"

namespace quern::mxfp8 {

struct ColumnScales {
  u32 scale[kColumns];
};

// The largest magnitudes of a thread's columns in a band.
using Maxima = Vector<RowWord::kWords * 4>;
QUERN_DEVICE u8* band_maxima(u32 band, u32 column_in_tile) {
  return dynamic_shared() + kShared.maxima + (band * kTileColumns + column_in_tile) * 4;
}

// Blocks of all four bands of a tile.
QUERN_DEVICE void over_bands(const ThreadPosition& at, Maxima& m) {
  const u32 first = at.row_in_stack / kTileRows * 4;
  if (is_first_part()) store_shared(band_maxima(at.row_in_stack / kBand, at.column_in_tile), m);
  __syncthreads();
#pragma unroll
  for (u32 band = 0; band < 4; ++band) {
    const Maxima other = load_shared<sizeof(Maxima)>(band_maxima(first + band, at.column_in_tile));
#pragma unroll
    for (int w = 0; w < RowWord::kWords; ++w) m.w[w] = Magnitude::larger(m.w[w], other.w[w]);
  }
}

QUERN_DEVICE ColumnScales column_scales(const ThreadPosition& at, const Patch& patch) {
  Maxima maxima = {};
  u32(&m)[RowWord::kWords] = maxima.w;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int w = 0; w < RowWord::kWords; ++w) m[w] = Magnitude::larger(m[w], magnitudes_of(patch.rows[i].w[w]));
  }
#pragma unroll
  for (int w = 0; w < RowWord::kWords; ++w) m[w] = over_parts(m[w]);
  if constexpr (kTallBlocks) over_bands(at, maxima);
  ColumnScales columns;
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const u32 word = m[j / Magnitude::kPerWord];
    columns.scale[j] = scale_here(at, Magnitude::kPerWord == 1 ? word : word >> j % 2 * 16 & 0xffffu);
  }
  return columns;
}

// Which 16-byte unit of its line a unit is kept in.
QUERN_DEVICE u32 exchanged(u32 line, u32 unit) { return unit ^ (line / kColumns % 8); }

QUERN_DEVICE u8* line_unit(u32 line, u32 unit) {
  return dynamic_shared() + line * kLineBytes + exchanged(line, unit) * 16;
}

// A thread's part of a column, in units of its line.
QUERN_DEVICE void put_line(const ThreadPosition& at, const Patch& patch, int j, float reciprocal) {
#pragma unroll
  for (int unit = 0; unit < kRows / 16; ++unit) {
    float values[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) values[i] = element(patch.rows[16 * unit + i], j) * reciprocal;
    store_shared<16>(line_unit(at.column_in_tile + j, at.row_in_stack / 16 + unit), pack<Element, 16>(values));
  }
}

// Where this stack's part of a column's line begins. `at`: its first tile.
QUERN_DEVICE u8* line_begin(const KernelParams& p, const ThreadPosition& at, u32 line) {
  return static_cast<u8*>(p.col_out) + at.part.lines + column_of(p, at.first_column, line) * col_pitch(p, true) +
         at.first_row;
}

constexpr int kUnits = kLineBytes / 16;

QUERN_DEVICE void write_unit(const KernelParams& p, const ThreadPosition& at, u32 line, u32 unit) {
  if (at.first_row + unit * 16 < at.part.rows)
    store<16, kStore>(line_begin(p, at, line) + unit * 16, load_shared<16>(line_unit(line, unit)));
}

// A line that begins at any address, and its windows of 16 aligned bytes of memory: consecutive from byte
// `first` on.
struct Windows {
  u8* begin;
  int length;
  int first;
};
QUERN_DEVICE Windows windows_of(const KernelParams& p, const ThreadPosition& at, u32 line) {
  u8* const begin = line_begin(p, at, line);
  const i64 left = at.part.rows - at.first_row;
  return {begin, left < kLineBytes ? static_cast<int>(left) : kLineBytes,
          static_cast<int>(-reinterpret_cast<unsigned long long>(begin) & 15)};
}

// A window is of two units, unless the line begins with one.
QUERN_DEVICE void write_window(const KernelParams& p, const ThreadPosition& at, u32 line, u32 window) {
  const Windows w = windows_of(p, at, line);
  const int from = w.first + static_cast<int>(window) * 16;
  if (from + 16 > w.length) return;
  const u32 second = window + (w.first == 0 ? 0 : 1);
  store<16, kStore>(w.begin + from, realign(load_shared<16>(line_unit(line, window)),
                                            load_shared<16>(line_unit(line, second)), w.first));
}

// A word of a line from byte `from` on, which may be up to 3 bytes before the line or its end: those bytes are any.
QUERN_DEVICE u32 line_word(u32 line, int from) {
  const auto word = [&](int i) {
    const u32 in_line = static_cast<u32>(i < 0 ? 0 : i < kLineBytes / 4 ? i : kLineBytes / 4 - 1);
    return load_shared<4>(line_unit(line, in_line / 4) + in_line % 4 * 4).w[0];
  };
  const int lo = from >> 2;
  return funnel_right(word(lo), word(lo + 1), static_cast<u32>(from) * 8);
}

// Bytes `first` to `last` - 1 of an aligned word of memory, in as few stores as they allow.
QUERN_DEVICE void store_bytes(u8* to, u32 word, int first, int last) {
  if (first == 0 && last == 4) {
    store<4>(to, Vector<4>{{word}});
    return;
  }
#pragma unroll
  for (int half = 0; half < 4; half += 2) {
    const bool has_low = first <= half && half < last, has_high = first <= half + 1 && half + 1 < last;
    const u32 bits = word >> half * 8;
    if (has_low && has_high) {
      store<2>(to + half, Vector<2>{{static_cast<u16>(bits)}});
    } else if (has_low || has_high) {
      store<1>(to + half + (has_high ? 1 : 0), Vector<1>{{static_cast<u8>(has_high ? bits >> 8 : bits)}});
    }
  }
}

// The bytes of such a line before its windows and after them, at most 15 each. By word is soonest done: each of 8
// threads has an aligned word of memory, four before and four after. By byte, with 32 threads, writes fewer sectors
// twice, which is better where memory is the limit, as it is where tiles are stacked: on an H200 228 x 768 takes 2.6 us
// by word and 3.1 by byte, 16001 x 16000 takes 238 us by word and 216 by byte.
constexpr bool kEndsByWord = kStack == 1;
constexpr u32 kEndThreads = kEndsByWord ? 8 : 32;
QUERN_DEVICE void write_end(const KernelParams& p, const ThreadPosition& at, u32 line, u32 lane) {
  constexpr int kBytes = 16 * 2 / kEndThreads;  // of a thread
  const Windows w = windows_of(p, at, line);
  const int before = w.first < w.length ? w.first : w.length, behind = (w.length - before) % 16;
  const bool is_before = lane < kEndThreads / 2;
  const int from = (is_before ? w.first - 16 : w.length - behind) + static_cast<int>(lane % (kEndThreads / 2)) * kBytes;
  const int end = is_before ? before : w.length;
  const int first = from < 0 ? -from : 0, last = end - from < kBytes ? end - from : kBytes;
  if (first >= last) return;
  if constexpr (kEndsByWord) {
    store_bytes(w.begin + from, line_word(line, from), first, last);
  } else {
    store<1>(w.begin + from, load_shared<1>(line_unit(line, static_cast<u32>(from) / 16) + from % 16));
  }
}

// Lines shorter than two sectors, byte by byte: adjacent threads have adjacent bytes of a line, and then of the next.
constexpr u32 kShortLine = 32;

QUERN_DEVICE void write_short_lines(const KernelParams& p, const ThreadPosition& at) {
  const u32 rows = static_cast<u32>(at.part.rows), lines = kTileThreads / rows, bytes = kTileThreads % rows;
  u32 line = threadIdx.x / rows, byte = threadIdx.x % rows;
#pragma unroll 4
  while (line < kTileColumns) {  // of halves a line without a column may be before others that have one
    if (column_of(p, at.first_column, line) < p.cols)
      store<1>(line_begin(p, at, line) + byte, load_shared<1>(line_unit(line, byte / 16) + byte % 16));
    line += lines;
    byte += bytes;
    if (byte < rows) continue;
    byte -= rows;
    ++line;
  }
}

// Of the whole stack, whose first tile is at `at`: for each column `kEach` parts of its line, one thread's each.
template <u32 kEach, class Write>
QUERN_DEVICE void for_lines(const KernelParams& p, const ThreadPosition& at, const Write& write) {
  static_assert(kTileColumns * kEach % kTileThreads == 0, "all threads have the same number of parts");
#pragma unroll 4
  for (u32 first = 0; first < kTileColumns * kEach; first += kTileThreads) {  // a number of iterations that is known
    const u32 i = first + threadIdx.x;
    if (column_of(p, at.first_column, i / kEach) < p.cols) write(i / kEach, i % kEach);
  }
}

QUERN_DEVICE void write_lines(const KernelParams& p, const ThreadPosition& at) {
  if constexpr (spec::aligned_lines) {
    for_lines<kUnits>(p, at, [&](u32 line, u32 unit) { write_unit(p, at, line, unit); });
  } else if (at.part.rows < kShortLine) {
    write_short_lines(p, at);
  } else {
    for_lines<kUnits>(p, at, [&](u32 line, u32 window) { write_window(p, at, line, window); });
    for_lines<kEndThreads>(p, at, [&](u32 line, u32 lane) { write_end(p, at, line, lane); });
  }
}

// Not transposed: in the layout of source, each column by its own reciprocal.
QUERN_DEVICE void write_columns(const KernelParams& p, const ThreadPosition& at, const Patch& patch,
                                const float (&reciprocal)[kColumns]) {
  if (at.rows == 0) return;
  u8* to = static_cast<u8*>(p.col_out) + (at.part.first_row + at.row) * col_pitch(p, false) + at.column;
#pragma unroll
  for (int i = 0; i < kRows; ++i, to += col_pitch(p, false)) {
    float values[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) values[j] = element(patch.rows[i], j) * reciprocal[j];
    if (has_row(at, i)) store_row(p, at, to, pack<Element, kColumns>(values));
  }
}

QUERN_DEVICE void put_columns(const KernelParams& p, const ThreadPosition& at, const Patch& patch,
                              const float (&reciprocal)[kColumns]) {
  if constexpr (spec::transposed) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) put_line(at, patch, j, reciprocal[j]);
  } else {
    write_columns(p, at, patch, reciprocal);
  }
}

QUERN_DEVICE void put_columns_by_scales(const KernelParams& p, const ThreadPosition& at, const Patch& patch,
                                        const ColumnScales& columns) {
  float reciprocal[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j) reciprocal[j] = Scaling::reciprocal(columns.scale[j]);
  put_columns(p, at, patch, reciprocal);
}

QUERN_DEVICE u8* col_scales(const KernelParams& p, const ThreadPosition& at) {
  return static_cast<u8*>(p.col_scales) + at.part.col_scales;
}

// Of a tile of the stack, at the place of its line and band in an atom.
QUERN_DEVICE u8* column_scale(u32 tile, u32 column, u32 band) {
  return dynamic_shared() + kShared.column_scales + tile * kAtomBytes + atom_byte(column, band);
}

QUERN_DEVICE void put_column_scales(const ThreadPosition& at, const ColumnScales& columns) {
  const u32 tile = at.row_in_stack / kTileRows, band = at.row_in_stack % kTileRows / kBand;
#pragma unroll
  for (int j = 0; j < kColumns; ++j)
    store_shared<1>(column_scale(tile, at.column_in_tile + j, band), Vector<1>{{static_cast<u8>(columns.scale[j])}});
}

// A warp for each tile of the stack, a lane for the columns that share a 16-byte unit. `at`: its first tile.
QUERN_DEVICE void write_column_atoms(const KernelParams& p, const ThreadPosition& at) {
  constexpr int kBytes = kStackColumns / 32 * 4;
  const u32 tile = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (tile >= kStack) return;
  const i64 block = at.first_row / kBlock + tile * 4;
  if (block >= round_up(blocks_of_columns(p, at.part), 4)) return;
#pragma unroll
  for (u32 line = lane; line < kTileColumns; line += kStackColumns) {
    const i64 column = column_of(p, at.first_column, line);
    if (column >= round_up(p.cols, 128)) continue;
    store<kBytes>(col_scales(p, at) + blocked_offset(column, block, blocks_of_columns(p, at.part)),
                  load_shared<kBytes>(column_scale(tile, line, 0)));
  }
}

// fp32 ones, column by column in the widest aligned stores. By one warp.
QUERN_DEVICE void write_tall_scales(const KernelParams& p, const ThreadPosition& at, const ColumnScales& columns) {
  constexpr int kAligned = spec::vector < 16 ? spec::vector / 4 : 4;
  constexpr int kAtOnce = kAligned == 0 ? 1 : kAligned;
  if (at.rows == 0 || at.row % kBlock != 0) return;
  u8* const to = col_scales(p, at) + (at.row / kBlock * p.cols + at.column) * 4;
#pragma unroll
  for (int j = 0; j < kColumns; j += kAtOnce) {
    Vector<kAtOnce* 4> scales = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) scales.w[k] = columns.scale[j + k];
    if (has_piece(p, at.column, j / kPieceColumns)) store<kAtOnce * 4>(to + j * 4, scales);
  }
}

QUERN_DEVICE void write_column_scales(const KernelParams& p, const ThreadPosition& at, const ColumnScales& columns) {
  if (!is_first_part()) return;
  const i64 block = at.row / kBlock;
  if constexpr (kTallBlocks) {
    write_tall_scales(p, at, columns);
  } else if constexpr (kColumnAtoms) {
    put_column_scales(at, columns);
  } else if constexpr (spec::blocked || !spec::col_block_major) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      store_scales<spec::col_block_major>(col_scales(p, at), at.column + j, block, p.cols,
                                          blocks_of_columns(p, at.part),
                                          Vector<1>{{static_cast<u8>(columns.scale[j])}});
  } else {
    if (at.rows == 0) return;
    Vector<kColumns> bytes = {};
#pragma unroll
    for (int j = 0; j < kColumns; ++j) put_code(bytes, j, static_cast<u8>(columns.scale[j]));
    store<kColumns>(col_scales(p, at) + block * room_of_lines(p.cols) + at.column, bytes);
  }
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_COLUMNS_CUH_
