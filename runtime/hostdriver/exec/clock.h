// The clock that a test scripts: what a device does takes as long as the bytes that it moves say, whatever the CPU
// takes. An L2 tells what is moved from memory and what is still there.
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

// Bytes a microsecond. 0 for the first: events tell the time of the CPU; 0 for another one: as the first.
struct Rates {
  std::int64_t memory = 0;
  std::int64_t l2 = 0;
  std::int64_t copy = 0;  // from memory, where the driver copies
  bool operator==(const Rates&) const = default;
};

struct Span {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t bytes() const { return end - begin; }
  bool operator==(const Span&) const = default;
};

// What one kernel, copy or set moves: each byte once that it reads, and once that it writes.
struct Traffic {
  std::vector<Span> reads;
  std::vector<Span> writes;
};

// Of one device. Thread-safe.
class Clock {
 public:
  explicit Clock(std::size_t l2_bytes) : l2_bytes_(l2_bytes) {}
  // How long it takes to move this at `memory_rate` from memory and at `l2_rate` from the L2, which holds it
  // afterwards.
  std::int64_t ns(const Traffic& traffic, std::int64_t memory_rate, std::int64_t l2_rate);

 private:
  std::size_t take(const Span& span);
  std::mutex mutex_;
  const std::size_t l2_bytes_;
  std::vector<Span> cached_;  // what was not used for longest comes first; none overlaps another
};

// What the blocks of one launch touch in global memory. Thread-safe.
class Footprint {
 public:
  void add_block(const std::vector<Touch>& touches);
  Traffic traffic() const;

 private:
  std::mutex mutex_;
  std::vector<Span> reads_;
  std::vector<Span> writes_;
};

// A launch apart from where its memory is: two that are equal here move the same bytes of their allocations. That is
// not so where the addresses depend on data; what a test compares has the same data everywhere.
class RelativeLaunch {
 public:
  RelativeLaunch(const Grid& grid, Memory& memory);
  const std::string& text() const { return text_; }
  // Null where a span is in none of the allocations that the parameter names.
  std::optional<Traffic> relative(const Traffic& traffic) const;
  Traffic absolute(const Traffic& relative) const;

 private:
  bool add_place(std::uintptr_t address, Memory& memory);
  std::string text_;
  std::vector<Span> allocations_;
};

// The traffic of the launches of one image that ran. Thread-safe.
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
