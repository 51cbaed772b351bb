// The same as C++17.
#include <quern/quern.h>

void example(quern::Runtime& runtime, const void* table, const void* ids, void* out, std::int64_t count,
             quern::Stream stream) {
#include QUERN_PAGE_EXAMPLE
}
