// A launch of interaction, as C++17.
#include <quern/quern.h>

void example(quern::Runtime& runtime, const void* vectors, void* out, std::int64_t batch, quern::Stream stream) {
#include QUERN_PAGE_EXAMPLE
}
