// Routes of tokens to experts on the host: what references compute, and what tests and benchmarks generate.
#ifndef QUERN_MOE_ROUTING_H_
#define QUERN_MOE_ROUTING_H_

#include <cstdint>
#include <vector>

namespace quern::moe {

// The expert of each route, [tokens, topk] in the order of the map, or -1 where a token has no further route.
struct Routes {
  std::int64_t tokens = 0;
  std::int64_t topk = 0;
  std::vector<std::int32_t> experts{};
  std::int32_t operator()(std::int64_t token, std::int64_t k) const {
    return experts[static_cast<std::size_t>(token * topk + k)];
  }
};

// How rows are given to routes.
struct RowRules {
  std::int64_t experts;
  std::int64_t align;     // each expert's rows are padded to a multiple of it
  bool fill_empty;        // an expert without routes has `align` rows too
  std::int64_t capacity;  // rows that there are
  bool list_tail;         // rows behind the last expert's are in `pads` too
};

// Rows are by expert, inside of an expert by token, inside of a token in the order of its routes.
struct RowMap {
  std::vector<std::int64_t> counts;    // [experts]: routes
  std::vector<std::int64_t> offsets;   // [experts + 1]: the first row of each expert, and the end of the last
  std::vector<std::int32_t> rows;      // [tokens, topk]: -1 without a route, or at or behind the capacity
  std::vector<std::int32_t> unpadded;  // [tokens, topk]: the row if nothing were padded; -1 without a route
  std::vector<std::int32_t> tokens;    // [capacity]: -1 in rows without a route
  std::vector<std::int32_t> pads;      // the rows of the experts that have no route, ascending
  std::int64_t dropped = 0;            // routes at or behind the capacity
};

RowMap map_rows(const Routes& routes, const RowRules& rules);

// The most rows that any routing of so many routes needs.
std::int64_t most_rows(std::int64_t routes, const RowRules& rules);

// What a family's `generate` is given is SEED * kSeedsOfProblem + a number of the operand.
inline constexpr std::uint64_t kSeedsOfProblem = 100;

// Routes of different experts. If seed mod 4 is 1, as for benchmarks: as many as there are, to all experts alike. Else
// some tokens have one fewer and some experts none; if it is 2, most go to an eighth of the experts. `descending`: a
// token's experts from the last to the first, as a mask has them.
Routes generate_routes(std::int64_t tokens, std::int64_t experts, std::int64_t topk, std::uint64_t seed,
                       bool descending);

}  // namespace quern::moe

#endif  // QUERN_MOE_ROUTING_H_
