// Problems drawn at random from a family's distribution: `quern bench --draw`.
#ifndef QUERN_TOOLS_IO_DRAW_H_
#define QUERN_TOOLS_IO_DRAW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "quern/runtime.h"

namespace quern::tool {

// Sizes of a drawn problem, by Family::bytes: from those that a launch is most of to those that every device holds.
inline constexpr std::int64_t kLeastDrawnBytes = std::int64_t{1} << 16;
inline constexpr std::int64_t kMostDrawnBytes = std::int64_t{1} << 30;

// `count` different problems from Family::draws, in the order of the draws: of one seed the first 10 of 20 are the 10
// of
// 10. A seed gives the same problems on every machine, and each family its own. Throws Error (bad_input): the family
// has no distribution, a row of it is wrong (with the row), or hardly any draw is legal and of these sizes.
std::vector<AnyProblem> draw_problems(const Family& family, int count, std::uint64_t seed);
// The same of each of these families; of each that has a distribution where none is named.
std::vector<AnyProblem> draw_problems(const Runtime& runtime, const std::vector<std::string>& names, int count,
                                      std::uint64_t seed);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_DRAW_H_
