#include "hostdriver/exec/co_resident_set.h"

#include <sched.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace quern::host {
namespace {

using twin::Dim3;

constexpr unsigned kSharedAlignment = 1024;
constexpr unsigned char kSharedPoison = 0xCD;

Dim3 place_in(std::uint64_t number, const Dim3& extent) {
  const auto rest = static_cast<unsigned>(number / extent.x);
  return {static_cast<unsigned>(number % extent.x), rest % extent.y, rest / extent.y};
}

unsigned rounded_up(unsigned value, unsigned unit) { return (value + unit - 1) / unit * unit; }

// Unwinds a thread that violated a rule.
struct Stopped {};

void body(void* argument) {
  CudaThread& thread = *static_cast<CudaThread*>(argument);
  for (;;) thread.set->run_threads(thread);
}

}  // namespace

void GridRun::fail(CUresult result, std::string words) {
  const std::lock_guard lock(mutex);
  if (failed.exchange(true)) return;
  outcome.result = result;
  outcome.words = std::move(words);
}

void GridRun::note_raw(std::string words) {
  const std::lock_guard lock(mutex);
  if (!reached_raw.exchange(true)) outcome.raw = std::move(words);
}

// SplitMix64, Steele, Lea and Flood 2014.
std::uint64_t Shuffle::below(std::uint64_t limit) {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) % limit;
}

std::vector<std::uint32_t> Shuffle::order(std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  return order;
}

CoResidentSet::CoResidentSet(GridRun& run, CudaThreadPool& threads)
    : run_(run),
      threads_(threads),
      shuffle_(0),
      block_threads_(static_cast<unsigned>(volume(run.grid.block))),
      shared_bytes_(rounded_up(run.grid.image->static_shared_bytes, 128) + run.grid.dynamic_shared_bytes),
      shared_stride_(rounded_up(shared_bytes_, kSharedAlignment)) {}

void CoResidentSet::run(std::uint64_t first, unsigned count) {
  // Each set has its own random numbers, so that its order does not depend on the worker that runs it.
  shuffle_ = Shuffle(run_.settings.seed == 0 ? 0 : run_.settings.seed * 0x2545f4914f6cdd1du + first + 1);
  place_blocks(first, count);
  order_threads();
  idle_yields_ = 0;
  // Threads switch directly to each other; control returns here when none can run, or the launch has failed.
  if (CudaThread* const first_thread = pick()) home_.switch_to(first_thread->fiber);
  if (!unwritten_.empty()) run_.fail(CUDA_ERROR_LAUNCH_FAILED, unwritten_);
  if (!failed() && ended_ != total_) report_dead_end();
  if (!failed() && run_.settings.check_races) hand_to_grid();
  abandon();
  for (unsigned i = 0; i < block_count_; ++i) {
    if (run_.listeners.footprint != nullptr) run_.listeners.footprint->add_block(blocks_[i].touches);
    if (run_.listeners.log != nullptr) run_.listeners.log->add_block(std::move(blocks_[i].touches));
  }
}

void CoResidentSet::place_blocks(std::uint64_t first, unsigned count) {
  const Grid& grid = run_.grid;
  const auto cluster_blocks = static_cast<unsigned>(volume(grid.cluster));
  const Dim3 clusters{grid.grid.x / grid.cluster.x, grid.grid.y / grid.cluster.y, grid.grid.z / grid.cluster.z};
  arena_.assign(std::size_t{count} * shared_stride_ + kSharedAlignment, kSharedPoison);
  const auto arena = reinterpret_cast<std::uintptr_t>(arena_.data());
  arena_begin_ = arena_.data() + (kSharedAlignment - arena % kSharedAlignment) % kSharedAlignment;
  blocks_.resize(std::max<std::size_t>(blocks_.size(), count));
  block_count_ = count;
  for (unsigned i = 0; i < count; ++i) {
    Block& block = blocks_[i];
    const Dim3 cluster = place_in((first + i) / cluster_blocks, clusters);
    block.in_cluster = place_in((first + i) % cluster_blocks, grid.cluster);
    block.index = {cluster.x * grid.cluster.x + block.in_cluster.x, cluster.y * grid.cluster.y + block.in_cluster.y,
                   cluster.z * grid.cluster.z + block.in_cluster.z};
    block.cluster = i / cluster_blocks;
    block.number = i;
    block.shared = arena_begin_ + std::size_t{i} * shared_stride_;
    block.step = 0;
    block.barriers.resize(16);
    block.warps.resize((block_threads_ + 31) / 32);
    block.bulk = {};
    block.ended = 0;
    block.touches.clear();
    block.segments.assign(1, {});
    for (Warp& warp : block.warps) warp.synchronized_at = 0;
  }
  cluster_barriers_.resize(count / cluster_blocks);
  cluster_steps_.assign(count / cluster_blocks, 0);
  if (run_.settings.check_races) races_.reset(std::size_t{count} * shared_stride_), global_races_.reset();
  unwritten_.clear();
  if (run_.settings.check_initialized) shared_written_.assign(std::size_t{count} * shared_stride_, 0);
}

void CoResidentSet::order_threads() {
  total_ = block_count_ * block_threads_;
  started_ = ended_ = 0;
  of_thread_.assign(total_, nullptr);
  has_ended_.assign(total_, false);
  ready_.clear();
  next_ready_ = 0;
  yielding_.clear();
  order_.clear();
  if (shuffle_.on()) order_ = shuffle_.order(total_);
}

CudaThread* CoResidentSet::pick() {
  const std::size_t ready = ready_.size() - next_ready_;
  const bool rather_new = shuffle_.on() && started_ != total_ && shuffle_.below(2) == 0;
  if (ready != 0 && !rather_new) {
    if (shuffle_.on()) std::swap(ready_[next_ready_], ready_[next_ready_ + shuffle_.below(ready)]);
    CudaThread* const thread = ready_[next_ready_++];
    if (next_ready_ == ready_.size()) ready_.clear(), next_ready_ = 0;
    return thread;
  }
  if (started_ == total_) return next_yielding();
  CudaThread* const taken = threads_.take();
  if (taken == nullptr) {
    run_.fail(CUDA_ERROR_OUT_OF_MEMORY, kNoMemory);
    return nullptr;
  }
  CudaThread& thread = *taken;
  thread.set = this;
  if (thread.fresh) thread.fiber.start(body, &thread);
  thread.fresh = false;
  thread.live_at = live_.size();
  live_.push_back(&thread);
  start_next(thread);
  return &thread;
}

CudaThread* CoResidentSet::next_yielding() {
  if (yielding_.empty()) return nullptr;
  CudaThread* const thread = yielding_.front();
  yielding_.pop_front();
  return thread;
}

bool CoResidentSet::start_next(CudaThread& thread) {
  if (started_ == total_) return false;
  begin_thread(thread, order_.empty() ? started_ : order_[started_]);
  ++started_;
  return true;
}

void CoResidentSet::begin_thread(CudaThread& thread, std::uint32_t number) {
  const Grid& grid = run_.grid;
  Block& block = blocks_[number / block_threads_];
  thread.block = &block;
  thread.number = number;
  thread.repeats = 0;
  thread.last_address = nullptr;
  thread.last_value = 0;
  thread.groups = 0;
  thread.order.clear();
  of_thread_[number] = &thread;
  twin::Thread& t = thread.fiber.thread();
  t.rank = number % block_threads_;
  t.thread_index = place_in(t.rank, grid.block);
  t.block_index = block.index;
  t.block_extent = grid.block;
  t.grid_extent = grid.grid;
  t.cluster_index = block.in_cluster;
  t.cluster_extent = grid.cluster;
  const Settings& s = run_.settings;
  t.watched = s.check_bounds || s.check_initialized || s.check_races || run_.listeners.any();
  t.services = &kServices;
  t.shared = block.shared;
  t.private_ = reinterpret_cast<std::uintptr_t>(&thread);
}

void CoResidentSet::run_threads(CudaThread& thread) {
  do {
    try {
      run_.grid.image->run(run_.grid.parameter.data());
      end_copies(thread);
    } catch (const Stopped&) {
      break;  // the launch has failed
    }
    end_thread(thread);
    // Runnable threads run before new ones start, so that few fibers are in use; with a shuffled order pick decides.
  } while (next_ready_ == ready_.size() && !shuffle_.on() && !failed() && start_next(thread));
  retire(thread);
}

// Releases the thread's fiber and switches to another one, perhaps one on this very fiber.
void CoResidentSet::retire(CudaThread& thread) {
  live_.back()->live_at = thread.live_at;
  live_[thread.live_at] = live_.back();
  live_.pop_back();
  threads_.give(thread);
  switch_to_next(thread);
}

void CoResidentSet::switch_to_next(CudaThread& thread) {
  CudaThread* const next = failed() ? nullptr : pick();
  if (next == &thread) return;
  thread.fiber.switch_to(next != nullptr ? static_cast<Continuation&>(next->fiber) : home_);
}

void CoResidentSet::end_thread(CudaThread& thread) {
  ++ended_;
  idle_yields_ = 0;
  of_thread_[thread.number] = nullptr;
  has_ended_[thread.number] = true;
}

void CoResidentSet::wait(CudaThread& thread, const char* what, twin::Site site) {
  thread.waits_for = what;
  thread.site = site;
  switch_to_next(thread);
}

void CoResidentSet::make_ready(CudaThread& thread) { ready_.push_back(&thread); }

void CoResidentSet::release(std::vector<CudaThread*>& waiting) {
  idle_yields_ = 0;
  ready_.insert(ready_.end(), waiting.begin(), waiting.end());
  waiting.clear();
}

void CoResidentSet::abandon() {
  for (CudaThread* thread : live_) {
    thread->fresh = true;
    threads_.give(*thread);
  }
  live_.clear();
  if (!run_.failed) return;
  // Barriers and collectives that the abandoned threads had entered.
  for (Block& block : blocks_) block.barriers.clear(), block.warps.clear();
  cluster_barriers_.clear();
}

void CoResidentSet::yield(CudaThread& thread, twin::Site site) {
  using std::chrono::steady_clock;
  if (idle_yields_++ == 0) idle_since_ = steady_clock::now();
  const auto limit = std::chrono::milliseconds(run_.settings.dead_wait_ms);
  if (idle_yields_ % 256 == 0 && steady_clock::now() - idle_since_ > limit)
    fail(thread, CUDA_ERROR_LAUNCH_TIMEOUT,
         cat("waits for memory that has not changed for ", run_.settings.dead_wait_ms, " ms"), site);
  if (idle_yields_ % 256 == 0) sched_yield();
  yielding_.push_back(&thread);
  wait(thread, "memory to change", site);
}

void CoResidentSet::fail(CudaThread& thread, CUresult result, const std::string& words, twin::Site site) {
  // An earlier read of uninitialized memory may be the cause.
  const bool misled = !unwritten_.empty();
  run_.fail(misled ? CUDA_ERROR_LAUNCH_FAILED : result, misled ? unwritten_ : words_at(thread, words, site));
  throw Stopped();
}

std::string CoResidentSet::words_at(const CudaThread& thread, const std::string& words, twin::Site site) const {
  return cat(place_of(site), ": ", words, ", in ", describe_thread(thread.number));
}

Dim3 CoResidentSet::place_in_block(std::uint32_t thread) const { return place_in(thread, run_.grid.block); }

std::string CoResidentSet::text_of(const Dim3& d) { return cat("(", d.x, ", ", d.y, ", ", d.z, ")"); }

std::string CoResidentSet::describe_thread(std::uint32_t number) const {
  return cat("block ", text_of(blocks_[number / block_threads_].index), ", thread ",
             text_of(place_in_block(number % block_threads_)));
}

// Deadlock: all started threads wait. Reports the first waiting thread, and the first thread of its block that does not
// wait with it.
void CoResidentSet::report_dead_end() {
  const auto first =
      std::find_if(of_thread_.begin(), of_thread_.end(), [](const CudaThread* s) { return s != nullptr; });
  const CudaThread& one = **first;
  const auto number = static_cast<std::uint32_t>(first - of_thread_.begin());
  std::string words =
      cat(place_of(one.site), ": ", describe_thread(number), " waits for ", one.waits_for, " that others never reach");
  const std::uint32_t begin = one.block->number * block_threads_;
  for (std::uint32_t i = begin; i < begin + block_threads_; ++i) {
    const CudaThread* const other = of_thread_[i];
    if (other != nullptr && other->site.line == one.site.line && other->waits_for == one.waits_for) continue;
    words +=
        cat("; ", describe_thread(i),
            other == nullptr ? " has returned" : cat(" waits for ", other->waits_for, " at ", place_of(other->site)));
    break;
  }
  run_.fail(CUDA_ERROR_LAUNCH_FAILED, words);
}

}  // namespace quern::host
