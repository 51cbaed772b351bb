// Displaces from L2 all that earlier kernels left there.
#ifndef QUERN_TESTBENCH_L2_FLUSH_H_
#define QUERN_TESTBENCH_L2_FLUSH_H_

#include <cstdint>
#include <memory>

#include "driver/library.h"
#include "driver/stream.h"

namespace quern {

// Reads memory of twice the size of L2, at least 128 MB, with the hint evict_last, and then writes it. The write alone
// would leave lines that a kernel read with that hint, an index say: they are displaced only by others like them.
class L2Flush {
 public:
  // The host driver, which has no L2, writes only. Throws Error.
  L2Flush(const Driver& driver, std::int64_t l2_bytes);
  // Throws Error (driver).
  void enqueue(CUstream stream) const;
  // Nodes that one flush takes in a captured graph.
  int nodes() const { return library_ ? 2 : 1; }

 private:
  const Driver& driver_;
  const std::size_t bytes_;  // a multiple of what one thread block reads
  const DeviceMemory memory_;
  std::unique_ptr<Library> library_;
};

}  // namespace quern

#endif  // QUERN_TESTBENCH_L2_FLUSH_H_
