// Data races in device memory between blocks that are not co-resident: only atomics order them.
#ifndef QUERN_HOSTDRIVER_EXEC_GRID_RACES_H_
#define QUERN_HOSTDRIVER_EXEC_GRID_RACES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "common/twin_abi.cuh"

namespace quern::host {

// A block's accesses between two atomics. Times are on the launch's clock: when its first access came after an atomic
// (0: none was before) and when the next atomic came (kNever: none has).
struct Segment {
  static constexpr std::uint32_t kNever = 0xffffffff;
  std::uint32_t acquired = 0;
  std::uint32_t released = kNever;
};

// One side of a race.
struct Party {
  twin::Dim3 block{0, 0, 0};
  std::uint32_t thread = 0;  // within its block
  Segment segment;
  twin::Site site{nullptr, 0};
  bool write = false;
  bool atomic = false;
};

// Bytes that one block accessed in one way.
struct Run {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  Party party;
  std::uint64_t kind = 0;  // equal for runs of one set whose parties differ by thread and site only
};

// Adds a run to the earlier ones, or extends one of the last few.
void add_run(std::vector<Run>& runs, const Run& run);
// Merges consecutive runs in any order; few runs stay as they are.
void join_runs(std::vector<Run>& runs);

struct Race {
  std::uintptr_t address = 0;
  Party before, now;
};

// Of one launch. Thread-safe.
class GridRaces {
 public:
  // Checks a set's accesses against those of earlier sets, and records them.
  std::optional<Race> add(const std::vector<Run>& runs);

 private:
  // Bytes up to `end` with the same accesses. Two reading blocks are enough: at least one of them differs from any
  // writer.
  struct Range {
    std::uintptr_t end = 0;
    Party first, second;
    bool several = false;
  };
  using Ranges = std::map<std::uintptr_t, Range>;
  static constexpr std::size_t kMostRanges = std::size_t{1} << 20;  // some 200 MB

  static std::optional<Race> conflict(const Ranges& ranges, const Run& run);
  static void split(Ranges& ranges, std::uintptr_t at);
  static void add_writer(Ranges& ranges, const Run& run);
  static void add_reader(Ranges& ranges, const Run& run);

  std::mutex mutex_;
  Ranges writers_;
  Ranges readers_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_GRID_RACES_H_
