// The ABI between a host image and the host driver: how the code of one CUDA thread finds its identity and calls the
// driver's services. Read by the images, which the system's C++ compiler builds, and by runtime/hostdriver.
#ifndef QUERN_COMMON_TWIN_ABI_CUH_
#define QUERN_COMMON_TWIN_ABI_CUH_

namespace quern::twin {

// Changed with any change of this file; an image of another version is refused.
constexpr unsigned kAbiVersion = 5;

// Every CUDA thread runs on a stack of this size and alignment, with its Thread at the top, so that a thread finds its
// Thread from any address on its stack.
constexpr unsigned long kStackBytes = 256ul * 1024;

struct Dim3 {
  unsigned x, y, z;
};

// The place in the template that calls a service.
struct Site {
  const char* file;
  int line;
};

enum class Access : unsigned char {
  global_load,
  global_store,
  global_atomic,
  relaxed_load,  // of device memory, as an atomic
  relaxed_store,
  shared_load,
  shared_store,
  shared_atomic
};

// A warp collective of the lanes of a mask. Each lane passes a value and gets one back.
enum class Collective : unsigned char {
  sync,        // only waiting
  shuffle,     // the value of lane `operand`; lanes outside the mask are refused
  ballot,      // the lanes whose value is not zero
  match_any,   // the lanes that gave the same value
  reduce_add,  // of 32-bit unsigned numbers
  reduce_min,
  reduce_max,
  reduce_min_signed,
  reduce_max_signed,
  reduce_and,
  reduce_or,
  reduce_xor,
};

// An operation on a barrier in shared memory; see common/mbarrier.cuh.
enum class Mbarrier : unsigned char {
  init,    // for `value` arrivals
  arrive,  // `value` is unused
  expect,  // and announce `value` bytes
  wait,    // for the phase of parity `value`
};

// A collective of all threads of a block.
enum class BlockVote : unsigned char { none, count, all, any };

struct Thread;

// The host driver's side. Calls may switch to other threads. Refused calls do not return: they throw through the frames
// of the image, so that its stack is unwound.
struct Services {
  // Before an access of `bytes` bytes at `address`; only called while Thread::watched is set.
  void (*access)(Thread&, Access, const void* address, unsigned bytes, Site);
  // Before an access of memory that is neither the thread's stack nor reported by a primitive.
  void (*raw_access)(Thread&, bool store, const void* address, unsigned bytes);
  // Barrier `id` of the block, for `threads` threads; 0: all of the block.
  unsigned (*barrier)(Thread&, unsigned id, unsigned threads, BlockVote, unsigned value, Site);
  unsigned long long (*collective)(Thread&, unsigned mask, Collective, unsigned long long value, unsigned operand,
                                   Site);
  // All threads of the cluster.
  void (*cluster_barrier)(Thread&, Site);
  // The address in block `rank` of the cluster that corresponds to `address` in the shared memory of this one.
  void* (*cluster_map)(Thread&, const void* address, unsigned rank, Site);
  // Of 16 bytes, into what cluster_map gave; see common/mbarrier.cuh.
  void (*cluster_store)(Thread&, void* to, const void* value, void* barrier, Site);
  void (*mbarrier)(Thread&, Mbarrier, void* barrier, unsigned value, Site);
  // Into shared memory where there is a barrier, else out of it; see common/bulk.cuh.
  void (*bulk_copy)(Thread&, void* to, const void* from, unsigned bytes, void* barrier, Site);
  void (*bulk_commit)(Thread&);
  void (*bulk_wait)(Thread&, unsigned pending);
  // Of 4, 8 or 16 bytes into shared memory, which the thread waits for; see common/copy_async.cuh.
  void (*own_copy)(Thread&, void* to, const void* from, unsigned bytes, Site);
  void (*wait_for_own_copies)(Thread&);
  // A thread that waits for memory to change.
  void (*yield)(Thread&, Site);
  void (*fail)(Thread&, const char* what, Site);
  // Element `index` of a shared array of `count`.
  void (*outside)(Thread&, long long index, long long count, Site);
};

// The members that a wait reads come first, in one cache line: a block may have a thousand of these.
struct alignas(64) Thread {
  Dim3 thread_index;
  unsigned rank;  // of the thread in its block
  const Services* services;
  unsigned char* shared;        // of the block: static first, then dynamic
  unsigned long long private_;  // the host driver's own
  bool watched;                 // whether accesses are reported
  unsigned long reached;        // address of the running primitive's access, and its size
  unsigned long reached_bytes;
  Dim3 block_index, block_extent, grid_extent;
  Dim3 cluster_index, cluster_extent;  // of the block in its cluster
};

// The Thread of the stack that contains `address`. Stacks would begin in the same cache set, so each has its Thread,
// and the frames below, at a slightly different offset.
inline Thread& thread_at(unsigned long address) {
  const unsigned long stack = address / kStackBytes;
  return *reinterpret_cast<Thread*>((stack + 1) * kStackBytes - (1 + stack % 12) * sizeof(Thread));
}

// What an image exports as `quern_image`.
struct Image {
  unsigned abi_version;
  unsigned parameter_bytes;
  unsigned max_threads;          // from __launch_bounds__; 0: none given
  unsigned static_shared_bytes;  // filled by the image's own constructors, so read it after loading
  const char* kernel;
  void (*run)(const void* parameter);  // one CUDA thread
};

}  // namespace quern::twin

#endif  // QUERN_COMMON_TWIN_ABI_CUH_
