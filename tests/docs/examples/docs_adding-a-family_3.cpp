// C++20. What an application does with a family of its own.
#include <quern/quern.h>

#include "../../consumer/app/families/scale_rows/scale_rows.h"

void example(const void* x, const void* scale, void* out, std::int64_t n, quern::Stream stream) {
#include QUERN_PAGE_EXAMPLE
}
