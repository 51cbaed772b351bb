// Indices for tests and benchmarks, and their order.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "common/host_types.h"
#include "scatter/problem.h"

namespace quern::scatter {
namespace {

// Half of them are adjacent to the valid ones, to detect an off-by-one comparison.
std::int64_t skipped(const Scatter& p, Random& random) {
  const auto beyond = static_cast<std::int64_t>(random.below(2) == 0 ? 0 : random.below(100));
  return random.below(2) == 0 ? -1 - beyond : p.rows + beyond;
}

// Each row once.
std::vector<std::int64_t> different(const Scatter& p, Random& random) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::max(p.rows, p.count)));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  rows.resize(static_cast<std::size_t>(p.rows));
  random.shuffle(rows);
  rows.resize(static_cast<std::size_t>(p.count), -1);
  random.shuffle(rows);
  return rows;
}

// Lengths of segments around those of groups and chunks, with gaps between their rows.
std::vector<std::int64_t> runs(const Scatter& p, Random& random) {
  static constexpr std::int64_t kLengths[] = {1, 2, 31, 32, 33, 100, 1, 1, 64, 65, 1023, 1024, 1025, 3000};
  std::vector<std::int64_t> rows;
  std::int64_t row = 0;
  while (static_cast<std::int64_t>(rows.size()) < p.count) {
    const std::int64_t length = kLengths[random.below(std::size(kLengths))];
    rows.insert(rows.end(), static_cast<std::size_t>(length), std::min(row, p.rows - 1));
    row += 1 + static_cast<std::int64_t>(random.below(3) == 0 ? random.below(40) : 0);
  }
  rows.resize(static_cast<std::size_t>(p.count));
  random.shuffle(rows);
  return rows;
}

// In turn: each row equally often, which is what benchmarks measure; runs; few rows often; one row; any.
std::vector<std::int64_t> repeated(const Scatter& p, std::uint64_t kind, Random& random) {
  if (kind == 2) return runs(p, random);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(p.count));
  const auto some = [&](double power) {
    return static_cast<std::int64_t>(std::pow(random.unit(), power) * static_cast<double>(p.rows));
  };
  const std::int64_t one = some(1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = kind == 1 ? static_cast<std::int64_t>(i) % p.rows : kind == 3 ? some(4) : kind == 4 ? one : some(1);
  }
  random.shuffle(rows);
  return rows;
}

std::vector<std::int64_t> rows_of(const Scatter& p, std::uint64_t seed) {
  const std::uint64_t of_problem = seed / kSeedsOfProblem;
  Random random(of_problem);
  std::vector<std::int64_t> rows = p.rows == 0 ? std::vector<std::int64_t>(static_cast<std::size_t>(p.count), -1)
                                   : is_ordered(p) || is_backward(p) ? repeated(p, of_problem % 5, random)
                                                                     : different(p, random);
  if (!skips(p)) return rows;
  for (std::int64_t& row : rows) {
    if (row < 0 || random.below(8) == 0) row = skipped(p, random);
  }
  return rows;
}

}  // namespace

void fill_index(const Scatter& p, std::uint64_t seed, void* data) {
  const std::vector<std::int64_t> rows = rows_of(p, seed);
  for (std::size_t i = 0; i < rows.size(); ++i)
    common::write_integer(p.index, data, static_cast<std::int64_t>(i), rows[i]);
}

void fill_order(const Scatter& p, std::uint64_t seed, void* data) {
  const std::vector<std::int64_t> rows = rows_of(p, seed);
  auto* const order = static_cast<std::int32_t*>(data);
  std::iota(order, order + rows.size(), 0);
  // Skipped ones are last.
  const auto key = [&](std::int32_t position) {
    const std::int64_t row = rows[static_cast<std::size_t>(position)];
    return row < 0 ? p.rows : std::min(row, p.rows);
  };
  std::stable_sort(order, order + rows.size(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
}

}  // namespace quern::scatter
