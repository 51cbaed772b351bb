#include "mxfp8/bias.h"

#include <cmath>
#include <cstring>

#include "rows/sums_reference.h"

namespace quern::mxfp8 {

static_assert(kTileRows == rows::kTileRows && kChunkTiles == rows::kChunkTiles, "the order of both");

float column_sum(std::int64_t rows, const std::function<float(std::int64_t)>& number) {
  float sum = quern::rows::column_sum(rows, number);
  if (!std::isnan(sum)) return sum;
  std::memcpy(&sum, &kNan, sizeof(sum));
  return sum;
}

}  // namespace quern::mxfp8
