// Poisons device memory for AddressSanitizer, in builds that have it, so that it detects invalid raw accesses of
// images, which use no primitive. Its report goes to stderr and ends the process; a line of ours names the memory.
#ifndef QUERN_HOSTDRIVER_EXEC_ASAN_H_
#define QUERN_HOSTDRIVER_EXEC_ASAN_H_

#include "base/sanitizers.h"
#include "hostdriver/exec/memory.h"

namespace quern::host {

#if QUERN_ADDRESS_SANITIZER

void hide_guards(const Allocation& allocation);
void show_guards(const Allocation& allocation);

#else

inline void hide_guards(const Allocation&) {}
inline void show_guards(const Allocation&) {}

#endif

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_ASAN_H_
