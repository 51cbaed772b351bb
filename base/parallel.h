// Loops over rows on all cores, for references and for making test data. Never on a launch path.
#ifndef QUERN_BASE_PARALLEL_H_
#define QUERN_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace quern {

// Calls body(begin, end) on disjoint ranges that cover [0, count), on several threads where there is enough work:
// `grain` is the least that a thread is worth starting for.
void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace quern

#endif  // QUERN_BASE_PARALLEL_H_
