#ifndef QUERN_COMMON_TWIN_RAW_CUH_
#define QUERN_COMMON_TWIN_RAW_CUH_

// Accesses by raw pointers: the C++ compiler calls one of these functions before each access of memory that may not be
// the function's own (-fsanitize=thread, without its run-time library). The names are the compiler's.

namespace quern::twin {

// Not while the image is loaded, when no thread of a kernel runs.
inline bool kernels_run = false;

// Not inlined: two dozen copies of it would double the time of a compile.
QUERN_TWIN_UNSEEN __attribute__((noinline)) inline void tell_of_raw(bool store, const void* address,
                                                                    unsigned long bytes) {
  const auto at = reinterpret_cast<unsigned long>(address);
  const auto own = reinterpret_cast<unsigned long>(__builtin_frame_address(0));
  if (!kernels_run || at / kStackBytes == own / kStackBytes) return;
  Thread& thread = thread_at(own);
  if (!thread.watched || at - thread.reached < thread.reached_bytes) return;
  thread.services->raw_access(thread, store, address, static_cast<unsigned>(bytes));
}

}  // namespace quern::twin

#define QUERN_TWIN_RAW __attribute__((visibility("hidden"), used)) QUERN_TWIN_UNSEEN
#define QUERN_TWIN_RAW_ALIAS(f) __attribute__((visibility("hidden"), used, alias(#f)))
#define QUERN_TWIN_RAW_BYTES(bytes)                                                                \
  QUERN_TWIN_RAW void __tsan_read##bytes(void* at) { quern::twin::tell_of_raw(false, at, bytes); } \
  QUERN_TWIN_RAW void __tsan_write##bytes(void* at) { quern::twin::tell_of_raw(true, at, bytes); } \
  QUERN_TWIN_RAW_ALIAS(__tsan_read##bytes) void __tsan_unaligned_read##bytes(void* at);            \
  QUERN_TWIN_RAW_ALIAS(__tsan_write##bytes) void __tsan_unaligned_write##bytes(void* at);
extern "C" {
QUERN_TWIN_RAW_BYTES(1)
QUERN_TWIN_RAW_BYTES(2)
QUERN_TWIN_RAW_BYTES(4)
QUERN_TWIN_RAW_BYTES(8)
QUERN_TWIN_RAW_BYTES(16)
QUERN_TWIN_RAW void __tsan_read_range(void* at, unsigned long bytes) { quern::twin::tell_of_raw(false, at, bytes); }
QUERN_TWIN_RAW void __tsan_write_range(void* at, unsigned long bytes) { quern::twin::tell_of_raw(true, at, bytes); }
QUERN_TWIN_RAW void __tsan_init() {}
QUERN_TWIN_RAW void __tsan_func_entry(void*) {}
QUERN_TWIN_RAW void __tsan_func_exit(void*) {}
QUERN_TWIN_RAW void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  quern::twin::tell_of_raw(false, from, bytes);
  quern::twin::tell_of_raw(true, to, bytes);
  return __builtin_memcpy(to, from, bytes);
}
QUERN_TWIN_RAW void* __tsan_memset(void* to, int value, unsigned long bytes) {
  quern::twin::tell_of_raw(true, to, bytes);
  return __builtin_memset(to, value, bytes);
}
}
#undef QUERN_TWIN_RAW_BYTES
#undef QUERN_TWIN_RAW_ALIAS
#undef QUERN_TWIN_RAW

#endif  // QUERN_COMMON_TWIN_RAW_CUH_
