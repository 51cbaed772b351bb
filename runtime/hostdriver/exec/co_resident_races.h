// Data races in device memory between threads of co-resident blocks. grid_races.h checks the accesses of one such set
// against the other sets of the launch.
#ifndef QUERN_HOSTDRIVER_EXEC_CO_RESIDENT_RACES_H_
#define QUERN_HOSTDRIVER_EXEC_CO_RESIDENT_RACES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "hostdriver/exec/race_check.h"

namespace quern::host {

// A thread's access to some bytes of a cell.
struct Mark {
  Visit visit;
  std::uint32_t time = 0;     // on the launch's clock
  std::uint32_t segment = 0;  // how often its block had synchronized with other blocks before
  std::uint16_t bytes = 0;    // mask within the cell
  bool write = false;
  bool atomic = false;
  std::int32_t next = -1;  // next mark of the same cell
};

// The last writer of each byte and its readers since, in cells of 16 bytes.
class CoResidentRaces {
 public:
  void reset();
  // Returns the mark that this access races with, if any; else records the access. `ordered` says whether an access of
  // another thread happens before this one in every order. Atomics do not race with each other.
  template <class Ordered>
  const Mark* visit(std::uintptr_t address, unsigned bytes, const Mark& access, const Ordered& ordered) {
    const std::uintptr_t end = address + bytes;
    Mark part = access;
    for (std::uintptr_t cell = address / kCellBytes; cell * kCellBytes < end; ++cell) {
      part.bytes = bytes_in(cell, address, end);
      Slot& slot = slot_of(cell);
      if (const Mark* const race = find_race(slot, part, ordered)) return race;
      supersede(slot, part);
    }
    return nullptr;
  }
  // Whether so many cells are recorded that they should be handed to the grid and cleared.
  bool full() const { return used_.size() >= kMostCells; }
  // Calls `each` with the start, the end and the mark of every run of bytes of a mark.
  void visit_runs(const std::function<void(std::uintptr_t, std::uintptr_t, const Mark&)>& each) const;

 private:
  static constexpr std::uintptr_t kCellBytes = 16;
  static constexpr std::size_t kMostCells = std::size_t{1} << 18;
  struct Slot {
    std::uintptr_t cell = 0;  // address / 16; 0: free
    std::int32_t first = -1;  // head of its list of marks
  };
  // The mask of the bytes of a cell in [begin, end).
  static std::uint16_t bytes_in(std::uintptr_t cell, std::uintptr_t begin, std::uintptr_t end);
  Slot& slot_of(std::uintptr_t cell);
  void grow();
  template <class Ordered>
  const Mark* find_race(const Slot& slot, const Mark& access, const Ordered& ordered) const {
    for (std::int32_t i = slot.first; i >= 0; i = marks_[static_cast<std::size_t>(i)].next) {
      const Mark& before = marks_[static_cast<std::size_t>(i)];
      const bool harmless = (!before.write && !access.write) || (before.atomic && access.atomic);
      if ((before.bytes & access.bytes) != 0 && !harmless && !ordered(before)) return &before;
    }
    return nullptr;
  }
  void supersede(Slot& slot, const Mark& access);

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> used_;  // occupied slots
  std::vector<Mark> marks_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_CO_RESIDENT_RACES_H_
