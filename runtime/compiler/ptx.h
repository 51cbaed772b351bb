// Reading PTX: what a kernel asks of global memory.
#ifndef QUERN_COMPILER_PTX_H_
#define QUERN_COMPILER_PTX_H_

#include <string_view>
#include <vector>

namespace quern {

// Instructions that move `bytes` a thread to or from global memory.
struct Access {
  bool store;
  int bytes;
  int count;  // in the text: one in a loop counts once
  friend bool operator==(const Access&, const Access&) = default;
};

// ld.global and st.global, whatever their cache hints, of all kernels of the text; loads first, then by width. Atomics
// and asynchronous copies are none of them.
std::vector<Access> count_global_accesses(std::string_view ptx);

// Instructions that have the device copy between global and shared memory (cp.async.bulk); how much, is a register's.
struct BulkCopies {
  int loads = 0;   // from global memory
  int stores = 0;  // to it
  friend bool operator==(const BulkCopies&, const BulkCopies&) = default;
};
BulkCopies count_bulk_copies(std::string_view ptx);

}  // namespace quern

#endif  // QUERN_COMPILER_PTX_H_
