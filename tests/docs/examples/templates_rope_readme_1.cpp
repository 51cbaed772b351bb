// A launch of rope for queries and keys, as C++17.
#include <quern/quern.h>

void example(quern::Runtime& runtime, const void* q, const void* k, const void* cos, const void* sin, void* q_out,
             void* k_out, std::int64_t batch, std::int64_t seq, quern::Stream stream) {
#include QUERN_PAGE_EXAMPLE
}
