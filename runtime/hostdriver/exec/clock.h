// The scripted clock of tests: the time of an operation follows from the bytes that it moves, independent of the CPU.
// An L2 model decides which bytes come from memory.
#ifndef QUERN_HOSTDRIVER_EXEC_CLOCK_H_
#define QUERN_HOSTDRIVER_EXEC_CLOCK_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace quern::host {

class Memory;
struct Grid;
struct Touch;

// Bytes per microsecond. 0 for the first: events measure CPU time; 0 for another one: the same as the first.
struct Rates {
  std::int64_t memory = 0;
  std::int64_t l2 = 0;
  std::int64_t copy = 0;  // memory rate of copies and sets by the driver
  bool operator==(const Rates&) const = default;
};

struct Span {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t bytes() const { return end - begin; }
  bool operator==(const Span&) const = default;
};

// The traffic of one kernel, copy or set: each byte once if it is read, and once if it is written.
struct Traffic {
  std::vector<Span> reads;
  std::vector<Span> writes;
};

// The clock of one device. Thread-safe.
class Clock {
 public:
  explicit Clock(std::size_t l2_bytes) : l2_bytes_(l2_bytes) {}
  // The time to move this traffic at `memory_rate` from memory and at `l2_rate` from the L2, which caches it
  // afterwards.
  std::int64_t ns(const Traffic& traffic, std::int64_t memory_rate, std::int64_t l2_rate);

 private:
  std::size_t take(const Span& span);
  std::mutex mutex_;
  const std::size_t l2_bytes_;
  std::vector<Span> cached_;  // least recently used first; disjoint
};

// The global memory that the blocks of one launch touch. Thread-safe.
class Footprint {
 public:
  void add_block(const std::vector<Touch>& touches);
  Traffic traffic() const;

 private:
  std::mutex mutex_;
  std::vector<Span> reads_;
  std::vector<Span> writes_;
};

// A launch independent of its memory addresses: equal launches move the same bytes of their allocations. That is wrong
// if addresses depend on data; tests that compare times use the same data everywhere.
class RelativeLaunch {
 public:
  RelativeLaunch(const Grid& grid, Memory& memory);
  const std::string& text() const { return text_; }
  // Null if a span is in none of the allocations that the parameter points to.
  std::optional<Traffic> relative(const Traffic& traffic) const;
  Traffic absolute(const Traffic& relative) const;

 private:
  bool add_place(std::uintptr_t address, Memory& memory);
  std::string text_;
  std::vector<Span> allocations_;
};

// The traffic of completed launches of one image. Thread-safe.
class KnownTraffic {
 public:
  std::optional<Traffic> find(const RelativeLaunch& launch) const;
  void add(const RelativeLaunch& launch, const Traffic& traffic);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Traffic> relative_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_CLOCK_H_
