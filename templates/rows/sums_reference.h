// The sums of tiles on the host, in the order of rows/tile_sums.cuh. `number(i)` or `number(row, column)` is a float.
#ifndef QUERN_ROWS_SUMS_REFERENCE_H_
#define QUERN_ROWS_SUMS_REFERENCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rows/sums.cuh"

namespace quern::rows {

// `sum(first, end)` of each group of `each`, in sequence.
template <class Sum>
float in_sequence(std::int64_t begin, std::int64_t end, std::int64_t each, const Sum& sum) {
  float all = 0;
  for (std::int64_t i = begin; i < end; i += each) all += sum(i, std::min(end, i + each));
  return all;
}

// Of eight sums of 16 rows.
template <class Sum>
float of_tile(std::int64_t first, std::int64_t end, const Sum& sixteen) {
  float sums[8] = {};
  for (int i = 0; i < 8; ++i) {
    const std::int64_t begin = first + std::int64_t{16} * i;
    if (begin < end) sums[i] = sixteen(begin, std::min(end, begin + 16));
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class Number>
float column_sum(std::int64_t rows, const Number& number) {
  const auto one = [&](std::int64_t i, std::int64_t) { return static_cast<float>(number(i)); };
  const auto sixteen = [&](std::int64_t first, std::int64_t end) { return in_sequence(first, end, 1, one); };
  const auto tile = [&](std::int64_t first, std::int64_t end) { return of_tile(first, end, sixteen); };
  const auto chunk = [&](std::int64_t first, std::int64_t end) { return in_sequence(first, end, kTileRows, tile); };
  return in_sequence(0, rows, std::int64_t{kChunkTiles} * kTileRows, chunk);
}

// Of up to 256 columns from `first` on.
template <class Number>
float tree_sum(std::int64_t first, std::int64_t columns, const Number& number) {
  float sums[kTileColumns] = {};
  for (std::int64_t c = first; c < std::min(columns, first + kTileColumns); ++c) sums[c - first] = number(c);
  for (std::size_t n = kTileColumns; n > 1; n /= 2) {
    for (std::size_t i = 0; i < n / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
  }
  return sums[0];
}

template <class Number>
float row_sum(std::int64_t columns, const Number& number) {
  return in_sequence(0, columns, kTileColumns,
                     [&](std::int64_t first, std::int64_t) { return tree_sum(first, columns, number); });
}

// Of a matrix.
template <class Number>
float total_sum(std::int64_t rows, std::int64_t columns, const Number& number) {
  const std::int64_t segments = std::max<std::int64_t>(1, (columns + kTileColumns - 1) / kTileColumns);
  const std::int64_t tiles = std::max<std::int64_t>(1, (rows + kTileRows - 1) / kTileRows) * segments;
  const auto tile = [&](std::int64_t t, std::int64_t) {
    const std::int64_t first = t / segments * kTileRows, column = t % segments * kTileColumns;
    const auto row = [&](std::int64_t r, std::int64_t) {
      return tree_sum(column, columns, [&](std::int64_t c) { return number(r, c); });
    };
    return of_tile(first, std::min(rows, first + kTileRows),
                   [&](std::int64_t begin, std::int64_t end) { return in_sequence(begin, end, 1, row); });
  };
  return in_sequence(0, tiles, kChunkTiles,
                     [&](std::int64_t first, std::int64_t end) { return in_sequence(first, end, 1, tile); });
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_SUMS_REFERENCE_H_
