// Reads PTX: a kernel's accesses to global memory.
#ifndef QUERN_COMPILER_PTX_H_
#define QUERN_COMPILER_PTX_H_

#include <string_view>
#include <vector>

namespace quern {

// Instructions that move `bytes` per thread to or from global memory.
struct Access {
  bool store;
  int bytes;
  int count;  // static count: an instruction in a loop counts once
  friend bool operator==(const Access&, const Access&) = default;
};

// ld.global and st.global, with any cache hints, of all kernels in the text; loads first, then by width. Atomics and
// asynchronous copies are not included.
std::vector<Access> count_global_accesses(std::string_view ptx);

// Bulk asynchronous copies between global and shared memory (cp.async.bulk); their size is in a register.
struct BulkCopies {
  int loads = 0;   // from global memory
  int stores = 0;  // to global memory
  friend bool operator==(const BulkCopies&, const BulkCopies&) = default;
};
BulkCopies count_bulk_copies(std::string_view ptx);

}  // namespace quern

#endif  // QUERN_COMPILER_PTX_H_
