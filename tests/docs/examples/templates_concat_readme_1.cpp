// The lists of concat's arguments, as C++17.
#include <quern/quern.h>

void example(quern::Runtime& runtime, const void* dense, const void* user, const void* bias, const void* item,
             void* out, std::int64_t batch, quern::Stream stream) {
#include QUERN_PAGE_EXAMPLE
}
