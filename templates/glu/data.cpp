#include "glu/data.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "common/host_types.h"
#include "glu/operands.h"

namespace quern::glu {
namespace {

constexpr double kSpecials[] = {0.0, -0.0, NAN, 1e-40, -6e-8, HUGE_VAL, -HUGE_VAL};
constexpr std::uint64_t kFinite = 5;  // of these

double number(std::uint64_t random, bool sums, bool infinite) {
  const bool special = sums ? random >> 50 == 0 : random % 16 == 0;
  if (special) return kSpecials[(random >> 8) % (infinite ? std::size(kSpecials) : kFinite)];
  return static_cast<double>(random >> 40) * (8.0 / static_cast<double>(1 << 24)) - 4.0;
}

// Which columns of a row of x are arguments of the activation.
std::vector<bool> arguments(const Glu& p) {
  std::vector<bool> columns(static_cast<std::size_t>(std::max(x_stride(p), row_elements(p))));
  for (std::int64_t c = 0; c < p.width; ++c) columns[static_cast<std::size_t>(columns_of(p, c).a)] = true;
  return columns;
}

}  // namespace

void generate_numbers(const Glu& p, bool of_x, const Layout& layout, std::uint64_t seed, void* data) {
  const std::vector<bool> infinite = of_x ? arguments(p) : std::vector<bool>(1);
  const auto row = static_cast<std::int64_t>(infinite.size());
  common::with_float(layout.dtype, [&](auto x) {
    using T = decltype(x);
    T* const out = static_cast<T*>(data);
    parallel_for(layout.span_bytes() / bytes(layout.dtype), std::int64_t{1} << 20,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
                     const double value = number(random, has_sums(p), infinite[static_cast<std::size_t>(i % row)]);
                     out[i] = common::from_compute<T>(static_cast<common::ComputeOf<T>>(value));
                   }
                 });
  });
}

void generate_counts(const Glu& p, std::uint64_t seed, void* data) {
  for (std::int64_t i = 0; i < p.groups; ++i) {
    const auto random = static_cast<std::int64_t>(random_at(seed, static_cast<std::uint64_t>(i)) >> 8);
    common::write_integer(p.counts, data, i, random % (p.rows + 3) - 1);
  }
}

}  // namespace quern::glu
