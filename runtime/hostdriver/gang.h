// The blocks that are there at once on one worker, and the order in which their threads run: one block, the blocks of a
// cluster, or all blocks of a cooperative launch.
//
// A thread runs until it must wait for others; then another goes on. Where none can go on and not all have ended, what
// they wait for will not come, and the launch fails with the names of those who are missing.
#ifndef QUERN_HOSTDRIVER_GANG_H_
#define QUERN_HOSTDRIVER_GANG_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "hostdriver/bulk.h"
#include "hostdriver/engine.h"
#include "hostdriver/gang_races.h"
#include "hostdriver/grid_races.h"
#include "hostdriver/race_check.h"
#include "hostdriver/strand.h"

namespace quern::host {

// A launch, shared by the gangs that run its blocks.
struct GridRun {
  const Grid& grid;
  const Settings& settings;
  Memory& memory;
  const Listeners listeners;
  const bool many_gangs;
  std::atomic<bool> failed{false};
  std::atomic<std::uint32_t> clock{0};  // counts atomics and what comes after them
  GridRaces races{};
  std::atomic<bool> reached_raw{false};
  std::mutex mutex{};
  Outcome outcome{};  // of the first gang that failed

  void fail(CUresult result, std::string words);
  // Keeps the words about the first access by a raw pointer.
  void note_raw(std::string words);
};

inline constexpr const char* kNoMemory =
    "the machine has no memory for the stacks of so many threads; take fewer workers (QUERN_HOSTDRIVER=\"workers=2\")";

struct Barrier {
  unsigned expected = 0;
  unsigned votes = 0;
  twin::BlockVote vote = twin::BlockVote::none;
  unsigned result = 0;  // of the last time; all read it before they can come again
  std::vector<Strand*> waiting;
};

// Lanes of a warp that do something together.
struct Meeting {
  unsigned mask = 0;  // 0: this place is free
  unsigned arrived = 0;
  twin::Collective what{};
  std::uint64_t values[32];
  unsigned operands[32];
  Strand* lanes[32];
};

struct Warp {
  unsigned step = 0;                  // __syncwarps passed
  std::uint32_t synchronized_at = 0;  // the last atomic, on the launch's clock
  std::vector<Meeting> meetings;
};

struct Block {
  twin::Dim3 index;
  twin::Dim3 in_cluster;
  unsigned cluster = 0;  // in the gang
  unsigned number = 0;   // in the gang
  unsigned char* shared = nullptr;
  unsigned step = 0;  // barriers passed
  std::vector<Barrier> barriers;
  std::vector<Warp> warps;
  BulkState bulk;
  unsigned ended = 0;  // threads
  std::vector<Touch> touches;
  std::vector<Segment> segments;  // what it did between its atomics; the last one goes on
};

// Numbers for the order of threads and blocks: the same for the same seed.
class Shuffle {
 public:
  explicit Shuffle(std::uint64_t seed) : state_(seed) {}
  bool on() const { return state_ != 0; }
  std::uint64_t below(std::uint64_t limit);
  // The numbers below `count` in some order.
  std::vector<std::uint32_t> order(std::uint32_t count);

 private:
  std::uint64_t state_;
};

// Used by one worker for one gang after another.
class Gang {
 public:
  Gang(GridRun& run, StrandPool& strands);
  // Blocks [first, first + count) as they are numbered, in whole clusters. Returns when all have ended or the job
  // failed.
  void run(std::uint64_t first, unsigned count);

  // What threads ask for; see twin_abi.cuh.
  void access(Strand& strand, twin::Access access, const void* address, unsigned bytes, twin::Site site);
  void raw_access(Strand& strand, bool store, const void* address, unsigned bytes);
  unsigned barrier(Strand& strand, unsigned id, unsigned threads, twin::BlockVote vote, unsigned value,
                   twin::Site site);
  std::uint64_t collective(Strand& strand, unsigned mask, twin::Collective what, std::uint64_t value, unsigned operand,
                           twin::Site site);
  void cluster_barrier(Strand& strand, twin::Site site);
  void* cluster_map(Strand& strand, const void* address, unsigned rank, twin::Site site);
  void cluster_store(Strand& strand, void* to, const void* value, void* barrier, twin::Site site);
  void mbarrier(Strand& strand, twin::Mbarrier what, void* address, unsigned value, twin::Site site);
  void bulk_copy(Strand& strand, void* to, const void* from, unsigned bytes, void* barrier, twin::Site site);
  void bulk_wait(Strand& strand, unsigned pending);
  void yield(Strand& strand, twin::Site site);
  // Ends the launch; the thread never goes on.
  [[noreturn]] void fail(Strand& strand, CUresult result, const std::string& words, twin::Site site);

  // The threads that a strand runs until it must wait.
  void run_threads(Strand& strand);

 private:
  // ---- gang.cpp: which thread runs
  void place_blocks(std::uint64_t first, unsigned count);
  void order_threads();
  Strand* pick();
  Strand* next_yielding();
  bool start_next(Strand& strand);
  void begin_thread(Strand& strand, std::uint32_t number);
  void end_thread(Strand& strand);
  void wait(Strand& strand, const char* what, twin::Site site);
  void release(std::vector<Strand*>& waiting);
  void make_ready(Strand& strand);
  void retire(Strand& strand);
  void hand_on(Strand& strand);
  bool failed() const { return run_.failed.load(std::memory_order_relaxed); }
  void abandon();
  void report_dead_end();
  twin::Dim3 place_in_block(std::uint32_t thread) const;
  static std::string text_of(const twin::Dim3& d);
  std::string whereabouts(std::uint32_t number) const;
  std::string words_at(const Strand& strand, const std::string& words, twin::Site site) const;

  // ---- waiting.cpp: barriers and what warps do together
  void finish(Meeting& meeting, Strand& last);
  std::uint64_t result_for(const Meeting& meeting, unsigned lane, Strand& last);
  unsigned lanes_of(const Strand& strand) const;

  // ---- bulk.cpp: bulk copies and the barriers that await them
  bool is_shared(const Block& block, std::uintptr_t address, unsigned bytes) const;
  bool is_any_shared(std::uintptr_t address) const;  // of one of the gang's blocks
  Block& block_of(std::uintptr_t shared_address);
  CountingBarrier& counting_barrier(Strand& strand, Block& block, std::uintptr_t address, bool made, twin::Site site);
  void arrive(Strand& strand, std::uintptr_t address, unsigned bytes, twin::Site site);
  void wait_for_phase(Strand& strand, std::uintptr_t address, unsigned parity, twin::Site site);
  void bring(Block& block, std::uintptr_t address);
  void end_phase(Block& block, CountingBarrier& barrier);
  void end_copies(Strand& strand);

  // ---- checks.cpp: accesses
  void refuse_under_way(Strand& strand, const Block& there, twin::Access access, std::uintptr_t address, unsigned bytes,
                        twin::Site site);
  void check_shared_is_written(Strand& strand, twin::Access access, std::uintptr_t address, unsigned bytes,
                               twin::Site site);
  // `order`: the block whose barriers order the access and others; the strand's, but for what a barrier of another
  // block counts.
  void shared_access(Strand& strand, const Block& order, twin::Access access, std::uintptr_t address, unsigned bytes,
                     twin::Site site);
  void global_access(Strand& strand, twin::Access access, std::uintptr_t address, unsigned bytes, twin::Site site);
  Allocation* allocation_of(Strand& strand, std::uintptr_t address, unsigned bytes, const char* what, twin::Site site);
  bool is_ordered(const Mark& before, const Strand& strand, const Visit& now) const;
  void refuse_race(Strand& strand, twin::Access access, std::uintptr_t address, unsigned bytes,
                   const Allocation& allocation, twin::Site site);
  void synchronize(Strand& strand);
  std::vector<Run> runs() const;
  void hand_to_grid();
  void log(Strand& strand, twin::Access access, std::uintptr_t address, unsigned bytes, const Allocation& memory,
           twin::Site site) const;
  bool spins(Strand& strand, const void* address, unsigned bytes, int line);
  Visit visit_of(const Strand& strand, const Block& order, twin::Site site) const;

  GridRun& run_;
  StrandPool& strands_;
  Continuation home_;  // the worker's own stack
  Shuffle shuffle_;
  const unsigned block_threads_;
  const unsigned shared_bytes_;   // of a block
  const unsigned shared_stride_;  // from block to block
  std::vector<unsigned char> arena_;
  unsigned char* arena_begin_ = nullptr;
  std::vector<Block> blocks_;
  unsigned block_count_ = 0;
  std::vector<Barrier> cluster_barriers_;
  std::vector<unsigned> cluster_steps_;
  RaceCheck races_;
  GangRaces global_races_;
  std::vector<unsigned char> shared_written_;  // one a byte: whether it was ever written
  std::string unwritten_;                      // what is said of the first read of a byte that was not

  std::vector<std::uint32_t> order_;  // of threads that are to start; empty: as they are numbered
  std::uint32_t started_ = 0;
  std::uint32_t ended_ = 0;
  std::uint32_t total_ = 0;
  std::vector<Strand*> of_thread_;  // null before its begin and after its end
  std::vector<bool> has_ended_;
  std::vector<Strand*> ready_;
  std::size_t next_ready_ = 0;
  std::deque<Strand*> yielding_;  // wait for memory to change; go on when nobody else can
  std::vector<Strand*> live_;

  std::uint64_t idle_yields_ = 0;  // since the last progress
  std::chrono::steady_clock::time_point idle_since_;
  Allocation* recent_ = nullptr;
  std::uintptr_t foreign_ = 0;  // was in no device memory the last time, nor is what lies within 64 bytes
};

extern const twin::Services kServices;

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_GANG_H_
