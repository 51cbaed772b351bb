// Routings of tokens to experts on the host, for references, tests and benchmarks.
#ifndef QUERN_MOE_ROUTING_H_
#define QUERN_MOE_ROUTING_H_

#include <cstdint>
#include <vector>

namespace quern::moe {

// The expert of each route, [tokens, topk] in the order of MoeMapKind; -1: no route.
struct Routes {
  std::int64_t tokens = 0;
  std::int64_t topk = 0;
  std::vector<std::int32_t> experts{};
  std::int32_t operator()(std::int64_t token, std::int64_t k) const {
    return experts[static_cast<std::size_t>(token * topk + k)];
  }
};

// How rows are assigned to routes.
struct RowRules {
  std::int64_t experts;
  std::int64_t align;     // the rows of each expert are padded to a multiple of it
  bool fill_empty;        // an expert without routes has `align` rows too
  std::int64_t capacity;  // valid rows are below it
  bool list_tail;         // unused rows after the last expert are in `pads` too
};

// Whether rows may be padding rows, which are listed in `pads`.
inline bool lists_pads(const RowRules& rules) { return rules.align > 1 || rules.fill_empty || rules.list_tail; }

// Rows are sorted by expert, then by token, then by the order of a token's routes.
struct RowMap {
  std::vector<std::int64_t> counts;    // [experts]: routes
  std::vector<std::int64_t> offsets;   // [experts + 1]: the first row of each expert, then the end of the last
  std::vector<std::int32_t> rows;      // [tokens, topk]: -1 without a route, or if the row exceeds the capacity
  std::vector<std::int32_t> unpadded;  // [tokens, topk]: the row for align=1; -1 as in `rows`
  std::vector<std::int32_t> tokens;    // [capacity]: -1 in padding and unused rows
  std::vector<std::int32_t> pads;      // padding rows, ascending
  std::int64_t dropped = 0;            // routes whose row exceeds the capacity
};

RowMap map_rows(const Routes& routes, const RowRules& rules);

// The rows that the worst routing with this many routes needs.
std::int64_t most_rows(std::int64_t routes, const RowRules& rules);

// A random routing without duplicate experts. If seed mod 4 is 1, as in benchmarks, it is uniform and each token has
// `topk` routes. Else some tokens have one fewer and a quarter of the experts has none; if it is 2, it is skewed as
// well. `descending`: from the last expert down, as in a mask.
Routes generate_routes(std::int64_t tokens, std::int64_t experts, std::int64_t topk, std::uint64_t seed,
                       bool descending);

}  // namespace quern::moe

#endif  // QUERN_MOE_ROUTING_H_
