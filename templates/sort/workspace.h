// The memory of a sort, on the host.
#ifndef QUERN_SORT_WORKSPACE_H_
#define QUERN_SORT_WORKSPACE_H_

#include <cstdint>

namespace quern::sort {

// Words of a workspace from one on, the first of which is aligned to 8 bytes: it has a word more. Null without one.
inline unsigned* words_at(void* workspace, std::int64_t first) {
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  return workspace == nullptr ? nullptr : static_cast<unsigned*>(workspace) + (address % 8 == 0 ? 0 : 1) + first;
}

// Pairs from an even word on.
inline unsigned long long* pairs_at(void* workspace, std::int64_t first) {
  return reinterpret_cast<unsigned long long*>(words_at(workspace, first));
}

// Bytes of shared memory of a block, as tile.cuh arranges them: the counters of warps, two words of a digit, those of
// shares, the sums of warps, and the pairs of a tile, with another word each where keys are wide.
inline std::uint32_t shared_bytes(std::int32_t threads, std::int32_t unroll, std::int32_t bits, bool wide = false) {
  const std::int32_t shares = threads >> bits, arrays = threads / 32 + 2 + 2 * shares;
  return static_cast<std::uint32_t>(((arrays << bits) + 32) * 4 + threads * unroll * (wide ? 12 : 8));
}

// The registers of a thread suffice for its items.
inline bool items_fit(std::int32_t threads, std::int32_t unroll) { return threads * unroll <= 8192; }

}  // namespace quern::sort

#endif  // QUERN_SORT_WORKSPACE_H_
