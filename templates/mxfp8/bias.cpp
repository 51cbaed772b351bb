#include "mxfp8/bias.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace quern::mxfp8 {
namespace {

using Number = std::function<float(std::int64_t)>;

constexpr std::int64_t kChunkRows = std::int64_t{kChunkTiles} * kTileRows;

float sixteen(std::int64_t row, std::int64_t rows, const Number& number) {
  float sum = 0;
  for (std::int64_t i = row; i < std::min(rows, row + 16); ++i) sum += number(i);
  return sum;
}

float band(std::int64_t row, std::int64_t rows, const Number& number) {
  return sixteen(row, rows, number) + sixteen(row + 16, rows, number);
}

float tile(std::int64_t row, std::int64_t rows, const Number& number) {
  return (band(row, rows, number) + band(row + 32, rows, number)) +
         (band(row + 64, rows, number) + band(row + 96, rows, number));
}

float chunk(std::int64_t row, std::int64_t rows, const Number& number) {
  float sum = 0;
  for (std::int64_t i = row; i < std::min(rows, row + kChunkRows); i += kTileRows) sum += tile(i, rows, number);
  return sum;
}

}  // namespace

float column_sum(std::int64_t rows, const Number& number) {
  float sum = 0;
  for (std::int64_t i = 0; i < rows; i += kChunkRows) sum += chunk(i, rows, number);
  if (!std::isnan(sum)) return sum;
  std::memcpy(&sum, &kNan, sizeof(sum));
  return sum;
}

}  // namespace quern::mxfp8
