// The strategies of search.h's table, a file each.
#ifndef QUERN_TUNER_SEARCH_STRATEGIES_H_
#define QUERN_TUNER_SEARCH_STRATEGIES_H_

#include "tuner/search/search.h"

namespace quern {

void search_ils(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend);
void search_random(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend);
void search_exhaustive(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend);

}  // namespace quern

#endif  // QUERN_TUNER_SEARCH_STRATEGIES_H_
