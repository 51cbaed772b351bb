// The lists of embedding's problem and arguments, as C++17.
#include <quern/quern.h>

void example(quern::Runtime& runtime, const void* user, const void* country, const void* item, const void* ids,
             const void* dense, void* out, std::int64_t batch, quern::Stream stream) {
#include QUERN_PAGE_EXAMPLE
}
