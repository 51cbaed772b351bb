// A libcuda.so.1 whose calls return at once, for counting what a launch costs outside of the driver: the null driver
// under libcuda's names. QUERN_LIBCUDA names it. x86-64.
#include "testbench/null_driver.h"

// In the order of the rows; each entry point jumps through its member.
extern "C" __attribute__((visibility("hidden"))) quern::DriverTable quern_null_table;
quern::DriverTable quern_null_table;

namespace {

__attribute__((constructor)) void fill() { quern_null_table = quern::null_driver_table(); }

}  // namespace

#define QUERN_TEXT(x) #x
#define QUERN_VALUE(x) QUERN_TEXT(x)
#define QUERN_ENTRY(member, symbol)                                \
  asm(".globl " #symbol "\n.type " #symbol ", @function\n" #symbol \
      ": jmp *quern_null_table+8*" QUERN_VALUE(__COUNTER__) "(%rip)\n");
QUERN_DRIVER_FUNCTIONS(QUERN_ENTRY)
