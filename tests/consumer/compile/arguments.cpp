// Must compile; must not compile with -DWRONG: a launch takes only its own family's arguments.
#include <quern/quern.h>

void launch(const quern::Plan<quern::Gather>& plan) {
#ifdef WRONG
  plan.launch(nullptr, quern::Pointwise::Args{});
#else
  plan.launch(nullptr, quern::Gather::Args{});
#endif
}
