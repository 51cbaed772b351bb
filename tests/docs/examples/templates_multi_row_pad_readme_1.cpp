// The lists of multi_row_pad's arguments, as C++17.
#include <quern/quern.h>

void example(quern::Runtime& runtime, const void* first, const void* second, void* first_padded, void* second_padded,
             quern::Stream stream) {
#include QUERN_PAGE_EXAMPLE
}
