// Races in device memory between blocks that do not run together: nothing orders them but what one tells another
// through atomics.
#ifndef QUERN_HOSTDRIVER_EXEC_GRID_RACES_H_
#define QUERN_HOSTDRIVER_EXEC_GRID_RACES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "common/twin_abi.cuh"

namespace quern::host {

// What a block did between two atomics. Times are on the launch's clock: when its first access came after an atomic
// (0: none was before) and when the next atomic came (kNever: none has).
struct Segment {
  static constexpr std::uint32_t kNever = 0xffffffff;
  std::uint32_t acquired = 0;
  std::uint32_t released = kNever;
};

// One side of a race.
struct Party {
  twin::Dim3 block{0, 0, 0};
  std::uint32_t thread = 0;  // in its block
  Segment segment;
  twin::Site site{nullptr, 0};
  bool write = false;
  bool atomic = false;
};

// Bytes that one block reached in one way.
struct Run {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  Party party;
};

// Adds a run to those before it, or makes one of the last few of them longer.
void add_run(std::vector<Run>& runs, const Run& run);
// Makes one of runs that follow each other, of any order; few runs stay as they are.
void join_runs(std::vector<Run>& runs);

struct Race {
  std::uintptr_t address = 0;
  Party before, now;
};

// Of one launch. Thread-safe.
class GridRaces {
 public:
  // Holds what a set did against what the sets before it did, and remembers it.
  std::optional<Race> add(const std::vector<Run>& runs);

 private:
  // Bytes up to `end` that were all reached alike. Of readers two blocks are enough: one is another than a writer.
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
