// From an id to the row that it names.
#ifndef QUERN_EMBEDDING_IDS_CUH_
#define QUERN_EMBEDDING_IDS_CUH_

#include "common/divide.cuh"
#include "embedding/tile.cuh"
#include "hash/table.cuh"

namespace quern::embedding {

constexpr bool kReports = spec::mode == Mode::report || spec::mode == Mode::report_first;
constexpr bool kFirst = spec::mode == Mode::first || spec::mode == Mode::report_first;
constexpr bool kPooled = spec::pooling != Pooling::none;

// What a thread needs of its table more than once.
struct Source {
  TableParams table;
  Limits limits;
  Scales scales;
  u64 at;             // the address of the thread's slot in row 0
  bool first_column;  // of the table: this thread reports
};

QUERN_DEVICE Source source_of(const Params& p, u32 number, u32 column) {
  const TableParams table = p.tables[number];
  Source source = {table, p.limits[spec::limited ? number : 0], p.scales[spec::scaled ? number : 0], table.at,
                   column == p.first[number]};
  if constexpr (spec::packed) {
    const long long* const place = p.places + 2 * number;  // not aligned to both numbers
    source.at += bit_cast<u64>(load<8, LoadHint::keep>(place)) * spec::packed_bytes;
    source.limits.rows = bit_cast<i64>(load<8, LoadHint::keep>(place + 1));
  }
  return source;
}

struct Row {
  i64 number;
  bool read;     // a row of the table; else zeros
  bool counted;  // pooled: one of the bag's
};

// Not inside: 0, and nothing is read.
QUERN_DEVICE spec::Index load_id(const void* index, i64 position, bool inside) {
  using Index = spec::Index;
  return bit_cast<Index>(load_if<sizeof(Index), LoadHint::keep>(inside, static_cast<const Index*>(index) + position));
}

// Packed tables may turn out to have no rows.
QUERN_DEVICE bool has_rows(const Source& source) { return !spec::packed || source.limits.rows > 0; }

// Rows on the device have no magic number: they are divided by.
QUERN_DEVICE u64 remainder_of(u64 m, const Source& source) {
  const u64 rows = static_cast<u64>(source.limits.rows);
  if constexpr (spec::packed) return has_rows(source) ? m % rows : 0;
  return m - divide(m, Divisor{source.table.hash, 0, source.table.shift}) * rows;
}

// (id + 1) modulo the rows. Of a negative number n it is rows - 1 - (-1 - n) mod rows, where -1 - n has n's other bits.
QUERN_DEVICE i64 modulus(spec::Index id, const Source& source) {
  const i64 n = static_cast<spec::Index>(static_cast<u64>(id) + 1);
  const u64 rows = static_cast<u64>(source.limits.rows), rest = remainder_of(static_cast<u64>(n < 0 ? ~n : n), source);
  return static_cast<i64>(n < 0 ? rows - 1 - rest : rest);
}

// The lowest position of what names no row, of a thread.
struct Report {
  u64 lowest = ~u64{0};

  QUERN_DEVICE void add(bool bad, u64 position) {
    if constexpr (kReports) lowest = bad && position < lowest ? position : lowest;
  }
  // One thread of a table's row writes it.
  QUERN_DEVICE void write(const Params& p, const Source& source) const {
    if constexpr (kReports) {
      if (source.first_column && lowest != ~u64{0}) atomicMin(p.report, lowest);
    }
  }
};

// The position of the first key that is equal, 0 where there is none.
QUERN_DEVICE i64 index_in(const TableParams& table, i64 id, bool inside) {
  if (!inside) return 0;
  const auto mask = static_cast<u32>((u64{1} << table.shift) - 1);
  const i64 position = hash::find<8>(reinterpret_cast<const void*>(table.hash), mask, id);
  return position < 0 ? 0 : position;
}

QUERN_DEVICE i64 in_mode(const Source& source, i64 row, bool inside, bool& zero) {
  const i64 rows = source.limits.rows;
  if constexpr (spec::mode == Mode::assume_valid) return row;
  if constexpr (spec::mode == Mode::minus_one_is_zero) zero = row == -1;
  if constexpr (spec::mode == Mode::wrap_negative) return row + (row < 0 ? rows : 0);
  if constexpr (spec::mode == Mode::clamp) return row < 0 ? 0 : row >= rows ? rows - 1 : row;
  if constexpr (spec::mode != Mode::minus_one_is_zero) zero = inside && (row < 0 || row >= rows);
  if constexpr (spec::mode == Mode::trap) {
    if (zero) __assertfail("embedding: an id names no row of its table", __FILE__, __LINE__, "quern_embedding", 1);
  }
  return row;
}

// `position`: of the id, for the report.
QUERN_DEVICE Row row_of(const Source& source, spec::Index id, u64 position, bool inside, Report& report) {
  i64 row = id;
  if constexpr (spec::hash == Hash::modulus) row = modulus(id, source);
  if constexpr (spec::hash == Hash::index) row = index_in(source.table, id, inside);
  const bool counted = inside && !(spec::padded && row == source.limits.padding);
  bool zero = false;
  row = in_mode(source, row, counted, zero);
  report.add(zero, position);
  return {zero ? 0 : row, counted && (kFirst || !zero) && has_rows(source), counted};
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_IDS_CUH_
