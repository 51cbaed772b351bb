// What a launch of a kernel is: what a family fills, and what the driver gets.
#ifndef QUERN_LAUNCH_H_
#define QUERN_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

namespace quern {

// The size of kernel parameters that every driver accepts.
inline constexpr std::size_t kMaxParamsBytes = 4096;

// The arguments of cuLaunchKernelEx; filled by the family without allocating.
struct Launch {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;  // dynamic, up to the device's opt-in limit per block
  std::uint32_t cluster = 1;       // blocks per cluster, adjacent along x: from sm_90 on
  bool cooperative = false;        // all blocks run at once, so they may wait for each other; else the launch fails
  bool programmatic = false;       // it may begin before the preceding kernel ends (programmatic dependent launch)
  bool empty = false;              // no work: legal, nothing is launched
  // Uninitialized except for the bytes that the two functions below write, so that a launch does not pay for the rest.
  alignas(16) unsigned char params[kMaxParamsBytes];

  // Makes the kernel's single parameter in place, all zeros, to be filled there: a copy of members that were just
  // written waits until the processor has stored them.
  template <class P>
  P& make_params() {
    static_assert(sizeof(P) <= kMaxParamsBytes, "a kernel takes at most kMaxParamsBytes bytes of parameters");
    static_assert(std::is_trivially_copyable<P>::value, "parameters are copied as bytes");
    static_assert(alignof(P) <= 16, "params is aligned to 16 bytes");
    return *new (params) P{};
  }
  // Copies it.
  template <class P>
  void set_params(const P& p) {
    static_assert(sizeof(P) <= kMaxParamsBytes, "a kernel takes at most kMaxParamsBytes bytes of parameters");
    std::memcpy(params, &p, sizeof(P));
  }
};

}  // namespace quern

#endif  // QUERN_LAUNCH_H_
