#include <cmath>
#include <iterator>
#include <limits>

#include "base/parallel.h"
#include "base/random.h"
#include "common/host_types.h"
#include "interaction/problem.h"
#include "interaction/shape.h"

namespace quern::interaction {
namespace {

double odd_number(std::uint64_t random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kOdd[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), 1e-40, -6e-8, -0.0};
  return kOdd[random % std::size(kOdd)];
}

// From -4 to 4. For tensor cores multiples of one half: of these each sum is exact.
double number(const Interaction& p, std::uint64_t random) {
  const double any = static_cast<double>(random >> 11) * 0x1p-50 - 4.0;
  return by_tensor_cores(p) ? std::floor(any * 2) / 2 : any;
}

struct Rows {
  std::int64_t count;
  std::int64_t width;
  std::int64_t pieces;  // of a row, each of its own
  std::int64_t stride;
  bool zeros;  // in a piece with an odd number
};

void fill(const Interaction& p, const Rows& rows, std::uint64_t seed, void* data) {
  const std::int64_t piece = rows.width / rows.pieces;
  if (piece == 0) return;
  parallel_for(rows.count, 1 + (1 << 18) / rows.width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * rows.pieces; i < end * rows.pieces; ++i) {
      const auto own = random_at(~seed, static_cast<std::uint64_t>(i));
      const bool odd = own % 16 == 0;
      const auto place = static_cast<std::int64_t>(own / 16 % static_cast<std::uint64_t>(piece));
      for (std::int64_t k = 0; k < piece; ++k) {
        double value = number(p, random_at(seed, static_cast<std::uint64_t>(i * piece + k)));
        if (odd && k == place) value = odd_number(own >> 40);
        if (odd && k != place && rows.zeros) value = 0;
        const std::int64_t at = i / rows.pieces * rows.stride + i % rows.pieces * piece + k;
        common::write_float(p.dtype, data, at, value);
      }
    }
  });
}

}  // namespace

void generate_source(const Interaction& p, std::uint64_t seed, void* data) {
  const bool lower = is_lower(p);
  fill(p, {p.batch, numbers_of(p), lower ? p.features : 1, source_stride(p), lower}, seed, data);
}
void generate_gradient(const Interaction& p, std::uint64_t seed, void* data) {
  fill(p, {p.batch, columns_of(p), 1, out_stride(p), false}, seed, data);
}

}  // namespace quern::interaction
