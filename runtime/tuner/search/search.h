// Searching a tuning space: the strategies, and the backend that measures for them.
#ifndef QUERN_TUNER_SEARCH_SEARCH_H_
#define QUERN_TUNER_SEARCH_SEARCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tuner/space/space.h"

namespace quern {

// One point's time in microseconds; infinity if it failed.
struct Trial {
  int point = 0;
  double us = 0;
};

// Measures points, on GPUs or from a saved space. Called by one thread.
class Backend {
 public:
  virtual ~Backend() = default;
  // Measures one of `candidates`: the first, unless another is ready sooner. nullopt: stop now (the budget is spent, or
  // there is enough evidence). REQUIRES: `candidates` is not empty, and none of them was measured before.
  virtual std::optional<Trial> any_of(const std::vector<int>& candidates) = 0;
};

// Searches until `backend` says stop or every point has been measured. No point is measured twice. The search begins
// with `first` (the default config, the best of related records). It offers all points that it may want next, most
// wanted first. Deterministic for the same seed and answers.
using Strategy = void (*)(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend);

struct StrategyRow {
  const char* name;
  const char* sentence;
  Strategy search;
};

// The default strategy first.
std::span<const StrategyRow> strategies();
// Throws Error (bad_input) that lists the strategies.
const StrategyRow& find_strategy(std::string_view name);

// The default strategy, iterated local search.
void search_ils(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend);

}  // namespace quern

#endif  // QUERN_TUNER_SEARCH_SEARCH_H_
