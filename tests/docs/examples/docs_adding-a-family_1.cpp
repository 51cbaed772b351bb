#include <quern/choice.h>
#include <quern/family.h>

#include QUERN_PAGE_EXAMPLE

static_assert(static_cast<int>(RowMaxNans::ignore) == 1);
static_assert(quern::choice_field("nans", 0, kNans, "").choices[2] == nullptr);
