// The co-resident blocks of one worker, and the order in which their threads run: one block, the blocks of a cluster,
// or all blocks of a cooperative launch.
//
// A thread runs until it must wait for others; then another continues. If none can continue and not all have ended, the
// block is deadlocked, and the launch fails with the names of the missing threads.
#ifndef QUERN_HOSTDRIVER_EXEC_CO_RESIDENT_SET_H_
#define QUERN_HOSTDRIVER_EXEC_CO_RESIDENT_SET_H_

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "hostdriver/exec/bulk.h"
#include "hostdriver/exec/co_resident_races.h"
#include "hostdriver/exec/cuda_thread.h"
#include "hostdriver/exec/engine.h"
#include "hostdriver/exec/grid_races.h"
#include "hostdriver/exec/race_check.h"

namespace quern::host {

// A launch, shared by the sets that run its blocks.
struct GridRun {
  const Grid& grid;
  const Settings& settings;
  Memory& memory;
  const Listeners listeners;
  const bool many_sets;
  std::atomic<bool> failed{false};
  std::atomic<std::uint32_t> clock{0};  // logical time: atomics and the accesses after them
  GridRaces races{};
  std::atomic<bool> reached_raw{false};
  std::mutex mutex{};
  Outcome outcome{};  // of the first set that failed

  void fail(CUresult result, std::string words);
  // Keeps the message about the first access through a raw pointer.
  void note_raw(std::string words);
};

inline constexpr const char* kNoMemory =
    "out of host memory for the stacks of all threads; use fewer workers (QUERN_HOSTDRIVER=\"workers=2\")";

struct Barrier {
  unsigned expected = 0;
  unsigned votes = 0;
  twin::BlockVote vote = twin::BlockVote::none;
  unsigned result = 0;  // of the last vote; all threads read it before the next one can complete
  std::vector<CudaThread*> waiting;
};

// A collective operation of a warp's lanes.
struct WarpCollective {
  unsigned mask = 0;  // 0: free slot
  unsigned arrived = 0;
  twin::Collective what{};
  std::uint64_t values[32];
  unsigned operands[32];
  CudaThread* lanes[32];
};

struct Warp {
  unsigned step = 0;                  // __syncwarps passed
  std::uint32_t synchronized_at = 0;  // the last atomic, on the launch's clock
  std::vector<WarpCollective> collectives;
};

struct Block {
  twin::Dim3 index;
  twin::Dim3 in_cluster;
  unsigned cluster = 0;  // in the set
  unsigned number = 0;   // in the set
  unsigned char* shared = nullptr;
  unsigned step = 0;  // barriers passed
  std::vector<Barrier> barriers;
  std::vector<Warp> warps;
  BulkState bulk;
  unsigned ended = 0;  // threads that have ended
  std::vector<Touch> touches;
  std::vector<Segment> segments;  // its accesses between atomics; the last one is still open
};

// Random numbers for the order of threads and blocks, determined by the seed.
class Shuffle {
 public:
  explicit Shuffle(std::uint64_t seed) : state_(seed) {}
  bool on() const { return state_ != 0; }
  std::uint64_t below(std::uint64_t limit);
  // A permutation of the numbers below `count`.
  std::vector<std::uint32_t> order(std::uint32_t count);

 private:
  std::uint64_t state_;
};

// Reused by one worker for set after set.
class CoResidentSet {
 public:
  CoResidentSet(GridRun& run, CudaThreadPool& threads);
  // Runs blocks [first, first + count), in whole clusters. Returns when all have ended or the launch failed.
  void run(std::uint64_t first, unsigned count);

  // Services that threads call; see twin_abi.cuh.
  void access(CudaThread& thread, twin::Access access, const void* address, unsigned bytes, twin::Site site);
  void raw_access(CudaThread& thread, bool store, const void* address, unsigned bytes);
  unsigned barrier(CudaThread& thread, unsigned id, unsigned threads, twin::BlockVote vote, unsigned value,
                   twin::Site site);
  std::uint64_t collective(CudaThread& thread, unsigned mask, twin::Collective what, std::uint64_t value,
                           unsigned operand, twin::Site site);
  void cluster_barrier(CudaThread& thread, twin::Site site);
  void* cluster_map(CudaThread& thread, const void* address, unsigned rank, twin::Site site);
  void cluster_store(CudaThread& thread, void* to, const void* value, void* barrier, twin::Site site);
  void mbarrier(CudaThread& thread, twin::Mbarrier what, void* address, unsigned value, twin::Site site);
  void bulk_copy(CudaThread& thread, void* to, const void* from, unsigned bytes, void* barrier, twin::Site site);
  void own_copy(CudaThread& thread, void* to, const void* from, unsigned bytes, twin::Site site);
  void wait_for_own_copies(CudaThread& thread);
  void bulk_wait(CudaThread& thread, unsigned pending);
  void yield(CudaThread& thread, twin::Site site);
  // Fails the launch; the thread never continues.
  [[noreturn]] void fail(CudaThread& thread, CUresult result, const std::string& words, twin::Site site);

  // Runs one CUDA thread after another on this fiber, until one must wait.
  void run_threads(CudaThread& thread);

 private:
  // ---- co_resident_set.cpp: scheduling of threads
  void place_blocks(std::uint64_t first, unsigned count);
  void order_threads();
  CudaThread* pick();
  CudaThread* next_yielding();
  bool start_next(CudaThread& thread);
  void begin_thread(CudaThread& thread, std::uint32_t number);
  void end_thread(CudaThread& thread);
  void wait(CudaThread& thread, const char* what, twin::Site site);
  void release(std::vector<CudaThread*>& waiting);
  void make_ready(CudaThread& thread);
  void retire(CudaThread& thread);
  void switch_to_next(CudaThread& thread);
  bool failed() const { return run_.failed.load(std::memory_order_relaxed); }
  void abandon();
  void report_dead_end();
  twin::Dim3 place_in_block(std::uint32_t thread) const;
  static std::string text_of(const twin::Dim3& d);
  std::string describe_thread(std::uint32_t number) const;
  std::string words_at(const CudaThread& thread, const std::string& words, twin::Site site) const;

  // ---- waiting.cpp: barriers and warp collectives
  void finish(WarpCollective& collective, CudaThread& last);
  std::uint64_t result_for(const WarpCollective& collective, unsigned lane, CudaThread& last);
  unsigned lanes_of(const CudaThread& thread) const;

  // ---- bulk.cpp: bulk copies and mbarriers
  bool is_shared(const Block& block, std::uintptr_t address, unsigned bytes) const;
  bool is_any_shared(std::uintptr_t address) const;  // of one of the set's blocks
  Block& block_of(std::uintptr_t shared_address);
  CountingBarrier& counting_barrier(CudaThread& thread, Block& block, std::uintptr_t address, bool made,
                                    twin::Site site);
  void arrive(CudaThread& thread, std::uintptr_t address, unsigned bytes, twin::Site site);
  void wait_for_phase(CudaThread& thread, std::uintptr_t address, unsigned parity, twin::Site site);
  void bring(Block& block, std::uintptr_t address);
  void end_phase(Block& block, CountingBarrier& barrier);
  void end_copies(CudaThread& thread);
  void begin_copy(CudaThread& thread, const BulkCopy& copy);

  // ---- checks.cpp: accesses
  void refuse_under_way(CudaThread& thread, const Block& there, twin::Access access, std::uintptr_t address,
                        unsigned bytes, twin::Site site);
  void check_shared_is_written(CudaThread& thread, twin::Access access, std::uintptr_t address, unsigned bytes,
                               twin::Site site);
  // `order`: the block with the barriers that order the access; the thread's own, except for accesses that a barrier of
  // another block tracks.
  void shared_access(CudaThread& thread, const Block& order, twin::Access access, std::uintptr_t address,
                     unsigned bytes, twin::Site site);
  void global_access(CudaThread& thread, twin::Access access, std::uintptr_t address, unsigned bytes, twin::Site site);
  Allocation* recent(std::uintptr_t address, unsigned bytes) const;
  Allocation* allocation_of(CudaThread& thread, twin::Access access, std::uintptr_t address, unsigned bytes,
                            twin::Site site);
  bool is_ordered(const Mark& before, const CudaThread& thread, const Visit& now) const;
  void refuse_race(CudaThread& thread, twin::Access access, std::uintptr_t address, unsigned bytes,
                   const Allocation& allocation, twin::Site site);
  void synchronize(CudaThread& thread);
  std::vector<Run> runs() const;
  void hand_to_grid();
  void log(CudaThread& thread, twin::Access access, std::uintptr_t address, unsigned bytes, const Allocation& memory,
           twin::Site site) const;
  bool spins(CudaThread& thread, const void* address, unsigned bytes, int line);
  Visit visit_of(const CudaThread& thread, const Block& order, twin::Site site) const;

  GridRun& run_;
  CudaThreadPool& threads_;
  Continuation home_;  // the worker's own stack
  Shuffle shuffle_;
  const unsigned block_threads_;
  const unsigned shared_bytes_;   // of one block
  const unsigned shared_stride_;  // from block to block
  std::vector<unsigned char> arena_;
  unsigned char* arena_begin_ = nullptr;
  std::vector<Block> blocks_;
  unsigned block_count_ = 0;
  std::vector<Barrier> cluster_barriers_;
  std::vector<unsigned> cluster_steps_;
  RaceCheck races_;
  CoResidentRaces global_races_;
  std::vector<unsigned char> shared_written_;  // one per byte: whether it was ever written
  std::string unwritten_;                      // message about the first read of an unwritten byte

  std::vector<std::uint32_t> order_;  // of threads not yet started; empty: by number
  std::uint32_t started_ = 0;
  std::uint32_t ended_ = 0;
  std::uint32_t total_ = 0;
  std::vector<CudaThread*> of_thread_;  // null before a thread starts and after it ends
  std::vector<bool> has_ended_;
  std::vector<CudaThread*> ready_;
  std::size_t next_ready_ = 0;
  std::deque<CudaThread*> yielding_;  // poll memory; run when no other thread can
  std::vector<CudaThread*> live_;

  std::uint64_t idle_yields_ = 0;  // since the last progress
  std::chrono::steady_clock::time_point idle_since_;
  std::array<Allocation*, 4> recent_{};  // that the last accesses were to; the next of them to go is [replaced_]
  std::size_t replaced_ = 0;
  std::uintptr_t foreign_ = 0;  // was in no device memory the last time, nor is what lies within 64 bytes
};

extern const twin::Services kServices;

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_CO_RESIDENT_SET_H_
