// Parallel loops over rows, for references and for generating test data. Never on a launch path.
#ifndef QUERN_BASE_PARALLEL_H_
#define QUERN_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace quern {

// Calls body(begin, end) on disjoint ranges that cover [0, count), on several threads if there is enough work. `grain`
// is the smallest range that is worth a thread.
void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace quern

#endif  // QUERN_BASE_PARALLEL_H_
