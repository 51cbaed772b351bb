// A worker of an application's own.
#include <quern/quern.h>

#include <string_view>

using MyFamily = quern::Gather;
#include QUERN_PAGE_EXAMPLE
