#include "concat/problem.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/text.h"
#include "common/host_types.h"
#include "concat/shape.h"

namespace quern::concat {
namespace {

std::string entry(const char* field, int i) { return cat(field, "[", i, "]"); }

bool has_entries(const List<64>& list, const Concat& p) { return list.count == 0 || list.count == p.widths.count; }

// Takes open rows for 0. No product of extents overflows after this check.
bool is_too_large(const Concat& p) {
  std::int64_t all = 0;
  for (int i = 0; i < sources(p); ++i) {
    std::int64_t own = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(rows_of(p, i), 0), p.widths[i], &own) || own > kMaxExtent)
      return true;
    all += own;
  }
  return all > kMaxExtent;
}

std::string check_lists(const Concat& p) {
  if (p.widths.count == 0) return "widths has no entry: give the width of at least one source, as in widths=64,32";
  if (!has_entries(p.strides, p))
    return cat("strides needs an entry for each of the ", p.widths.count, " widths, or none");
  if (!has_entries(p.counts, p))
    return cat("counts needs an entry for each of the ", p.widths.count, " widths, or none");
  if (p.counts.count != 0 && !is_flat(p)) return "counts is for layout=flat; in layout=columns every source has `rows`";
  return {};
}

std::string check_strides(const Concat& p) {
  if (p.out_stride != 0 && is_flat(p)) return "out_stride is for layout=columns: out of layout=flat has no gaps";
  if (p.out_stride != 0 && p.out_stride < all_widths(p))
    return cat("out_stride is below the sum of the widths, ", all_widths(p), ", so rows of the matrix would overlap");
  for (int i = 0; splits(p) && i < sources(p); ++i) {
    if (stride_of(p, i) < p.widths[i])
      return cat(entry("strides", i), " is below its width, so rows of outs would overlap");
  }
  return {};
}

std::string check_index(const Concat& p) {
  if (!is_indexed(p)) {
    if (p.mode != ConcatMode::assume_valid)
      return "mode says what an index outside of its source gives: set index=i32 or i64";
    if (p.source_rows.count != 0) return "source_rows is for an index: without one every source has `rows`, or counts";
    return {};
  }
  if (p.source_rows.count != p.widths.count)
    return cat("an index needs source_rows, the rows of each of the ", p.widths.count, " sources");
  for (int i = 0; p.mode == ConcatMode::assume_valid && i < sources(p); ++i) {
    if (p.source_rows[i] == 0 && rows_of(p, i) > 0)
      return cat(entry("source_rows", i), "=0 has no row to pick; with mode=zero or minus_one_is_zero it may");
    if (splits(p) && rows_of(p, i) > p.source_rows[i])
      return cat(
          entry("source_rows", i), " is below the number of its indices, ", rows_of(p, i),
          ", so a row was picked twice, and pass=backward would have to add up; scatter op=add order=given does, of "
          "one source a launch");
  }
  return {};
}

// The matrix, a source or an out, on the host. `row` is the matrix's: of the layout flat, of the source's part.
struct Places {
  const Concat& p;
  std::byte* matrix;
  std::byte* piece;
  int i;
  std::int64_t first;  // elements of the matrix before the source's

  std::byte* in_matrix(std::int64_t row) const {
    return matrix + (first + row * (is_flat(p) ? p.widths[i] : matrix_stride(p))) * element_bytes(p);
  }
  std::byte* in_piece(std::int64_t row) const { return piece + row * stride_of(p, i) * element_bytes(p); }
};

// The row of source i in the place of a row; -1: zeros, or backward nowhere.
std::int64_t picked(const Concat& p, const ConcatArgs& a, int i, std::int64_t row) {
  if (!is_indexed(p)) return row;
  const std::int64_t index = common::read_integer(p.index, a.index.entries[i].data, row);
  const bool outside = index < 0 || index >= p.source_rows[i];
  return p.mode == ConcatMode::zero && outside ? -1 : index;
}

void copy_source(const Places& at, const ConcatArgs& a) {
  const Concat& p = at.p;
  const auto size = static_cast<std::size_t>(p.widths[at.i] * element_bytes(p));
  if (size == 0) return;
  parallel_for(rows_of(p, at.i), 1 + (1 << 20) / static_cast<std::int64_t>(size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   const std::int64_t from = picked(p, a, at.i, row);
                   if (splits(p) && from != -1) std::memcpy(at.in_piece(from), at.in_matrix(row), size);
                   if (!splits(p) && from == -1) std::memset(at.in_matrix(row), 0, size);
                   if (!splits(p) && from != -1) std::memcpy(at.in_matrix(row), at.in_piece(from), size);
                 }
               });
}

// Half of them are next to the valid ones, to find a comparison that is off by one.
std::int64_t bad_index(const Concat& p, std::int64_t rows, std::uint64_t random) {
  if (p.mode == ConcatMode::minus_one_is_zero) return -1;
  const auto beyond = static_cast<std::int64_t>(random % 4 < 2 ? 0 : random / 4 % 100);
  return random % 2 == 0 ? -1 - beyond : rows + beyond;
}

}  // namespace

std::string check(const Concat& p) {
  if (std::string refusal = check_lists(p); !refusal.empty()) return refusal;
  for (int i = 0; i < sources(p); ++i) {
    if (p.widths[i] >= kMostColumns) return cat(entry("widths", i), " is too large: below 2^28 elements");
  }
  if (!is_flat(p) && all_widths(p) >= kMostColumns)
    return "widths are too large: a row of all sources has below 2^28 elements";
  if (is_too_large(p)) return "rows and widths are too large: at most 2^46 elements";
  if (std::string refusal = check_strides(p); !refusal.empty()) return refusal;
  return check_index(p);
}

void reference(const Concat& p, const ConcatArgs& a) {
  auto* const matrix = static_cast<std::byte*>(splits(p) ? const_cast<void*>(a.source.data) : a.out.data);
  std::int64_t first = 0;
  for (int i = 0; i < sources(p); ++i) {
    const void* const piece = splits(p) ? a.outs.entries[i].data : a.sources.entries[i].data;
    copy_source({p, matrix, static_cast<std::byte*>(const_cast<void*>(piece)), i, first}, a);
    first += is_flat(p) ? rows_of(p, i) * p.widths[i] : p.widths[i];
  }
}

void generate_index(const Concat& p, int source, std::uint64_t seed, void* data) {
  const std::int64_t rows = p.source_rows[source], count = rows_of(p, source);
  std::vector<std::int64_t> order(static_cast<std::size_t>(std::min(rows, count)));
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::int64_t>(i) * std::max<std::int64_t>(1, rows / count);
  Random random(seed);
  random.shuffle(order);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool again = splits(p) && i >= static_cast<std::int64_t>(order.size());
    const bool bad = order.empty() || again || (p.mode != ConcatMode::assume_valid && random.next() % 8 == 0);
    common::write_integer(p.index, data, i,
                          bad ? bad_index(p, rows, random.next()) : order[static_cast<std::size_t>(i) % order.size()]);
  }
}

}  // namespace quern::concat
