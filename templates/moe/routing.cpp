#include "moe/routing.h"

#include <algorithm>
#include <functional>

#include "base/random.h"

namespace quern::moe {
namespace {

std::int64_t padded(std::int64_t count, const RowRules& rules) {
  if (rules.fill_empty) count = std::max<std::int64_t>(count, 1);
  return (count + rules.align - 1) / rules.align * rules.align;
}

std::vector<std::int64_t> counts_of(const Routes& routes, std::int64_t experts) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(experts));
  for (const std::int32_t expert : routes.experts) {
    if (expert >= 0) ++counts[static_cast<std::size_t>(expert)];
  }
  return counts;
}

void list_pads(std::int64_t begin, std::int64_t end, std::int64_t capacity, std::vector<std::int32_t>& pads) {
  for (std::int64_t row = begin; row < std::min(end, capacity); ++row) pads.push_back(static_cast<std::int32_t>(row));
}

}  // namespace

RowMap map_rows(const Routes& routes, const RowRules& rules) {
  RowMap map;
  map.counts = counts_of(routes, rules.experts);
  map.offsets.assign(1, 0);
  std::vector<std::int64_t> next, shift;  // the next row of each expert, and how far padding before it has moved it
  std::int64_t unpadded = 0;
  for (const std::int64_t count : map.counts) {
    const std::int64_t first = map.offsets.back();
    next.push_back(first);
    shift.push_back(first - unpadded);
    unpadded += count;
    map.offsets.push_back(first + padded(count, rules));
    list_pads(first + count, map.offsets.back(), rules.capacity, map.pads);
  }
  if (rules.list_tail) list_pads(map.offsets.back(), rules.capacity, rules.capacity, map.pads);
  map.rows.assign(routes.experts.size(), -1);
  map.unpadded.assign(routes.experts.size(), -1);
  map.tokens.assign(static_cast<std::size_t>(rules.capacity), -1);
  for (std::size_t route = 0; route < routes.experts.size(); ++route) {
    if (routes.experts[route] < 0) continue;
    const auto expert = static_cast<std::size_t>(routes.experts[route]);
    const std::int64_t row = next[expert]++;
    if (row >= rules.capacity) {
      ++map.dropped;
      continue;
    }
    map.unpadded[route] = static_cast<std::int32_t>(row - shift[expert]);
    map.rows[route] = static_cast<std::int32_t>(row);
    map.tokens[static_cast<std::size_t>(row)] =
        static_cast<std::int32_t>(static_cast<std::int64_t>(route) / routes.topk);
  }
  return map;
}

std::int64_t most_rows(std::int64_t routes, const RowRules& rules) {
  // With n experts that have routes: routes + n * (align - 1), and with fill_empty `align` for each other one, which is
  // most if all routes have one expert.
  const std::int64_t padding = rules.fill_empty ? rules.experts * rules.align - std::min<std::int64_t>(routes, 1)
                                                : std::min(rules.experts, routes) * (rules.align - 1);
  return (routes + padding) / rules.align * rules.align;
}

Routes generate_routes(std::int64_t tokens, std::int64_t experts, std::int64_t topk, std::uint64_t seed,
                       bool descending) {
  Routes routes{tokens, topk, std::vector<std::int32_t>(static_cast<std::size_t>(tokens * topk), -1)};
  const bool all = seed % 4 == 1, skewed = seed % 4 == 2;
  const std::int64_t used = all ? experts : std::max<std::int64_t>(1, experts - experts / 4);
  std::vector<std::int32_t> order(static_cast<std::size_t>(used));
  std::uint64_t draw = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t e = 0; e < used; ++e) order[static_cast<std::size_t>(e)] = static_cast<std::int32_t>(e);
    const std::int64_t own = std::min(used, topk - (!all && random_at(seed, draw++) % 8 == 0 ? 1 : 0));
    for (std::int64_t k = 0; k < own; ++k) {
      const std::uint64_t random = random_at(seed, draw++);
      const auto left = static_cast<std::uint64_t>(used - k);
      const std::uint64_t few = skewed && random % 4 != 0 ? std::max<std::uint64_t>(1, left / 8) : left;
      std::swap(order[static_cast<std::size_t>(k)],
                order[static_cast<std::size_t>(k) + static_cast<std::size_t>((random >> 8) % few)]);
    }
    if (descending) std::sort(order.begin(), order.begin() + own, std::greater<>());
    std::copy(order.begin(), order.begin() + own, routes.experts.begin() + t * topk);
  }
  return routes;
}

}  // namespace quern::moe
