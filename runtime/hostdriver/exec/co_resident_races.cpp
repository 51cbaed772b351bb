#include "hostdriver/exec/co_resident_races.h"

#include <algorithm>

namespace quern::host {
namespace {

constexpr std::size_t kFewestSlots = 256;

bool same_step(const Visit& a, const Visit& b) {
  return a.block == b.block && a.block_step == b.block_step && a.cluster_step == b.cluster_step;
}

// Concurrent reads by two lanes of one warp: one mark represents both.
bool read_together(const Mark& a, const Mark& b) {
  return !a.write && !b.write && a.atomic == b.atomic && a.visit.warp == b.visit.warp && a.segment == b.segment &&
         same_step(a.visit, b.visit) && a.visit.warp_step == b.visit.warp_step;
}

}  // namespace

void CoResidentRaces::reset() {
  for (const std::uint32_t slot : used_) slots_[slot] = {};
  used_.clear();
  marks_.clear();
  if (slots_.empty()) slots_.resize(kFewestSlots);
}

std::uint16_t CoResidentRaces::bytes_in(std::uintptr_t cell, std::uintptr_t begin, std::uintptr_t end) {
  const std::uintptr_t first = std::max(begin, cell * kCellBytes) - cell * kCellBytes;
  const std::uintptr_t last = std::min(end, (cell + 1) * kCellBytes) - cell * kCellBytes;
  return static_cast<std::uint16_t>((1u << last) - (1u << first));
}

CoResidentRaces::Slot& CoResidentRaces::slot_of(std::uintptr_t cell) {
  if (2 * used_.size() >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (cell * 0x9e3779b97f4a7c15u >> 20) & mask;
  while (slots_[at].cell != 0 && slots_[at].cell != cell) at = (at + 1) & mask;
  if (slots_[at].cell == 0) used_.push_back(static_cast<std::uint32_t>(at)), slots_[at].cell = cell;
  return slots_[at];
}

void CoResidentRaces::grow() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  used_.clear();
  for (const Slot& slot : before) {
    if (slot.cell != 0) slot_of(slot.cell).first = slot.first;
  }
}

// A write replaces all earlier marks; a read replaces reads by its own thread and of earlier steps. Two readers of
// different warps are enough: at least one of them is in another warp than any later writer.
void CoResidentRaces::supersede(Slot& slot, const Mark& access) {
  int readers = 0;
  for (std::int32_t* link = &slot.first; *link >= 0;) {
    Mark& before = marks_[static_cast<std::size_t>(*link)];
    const bool covers = (access.bytes & ~before.bytes) == 0;
    if (!access.write && covers && read_together(before, access)) return;
    const bool same = before.visit.block == access.visit.block;
    const bool old = same && (before.visit.thread == access.visit.thread || !same_step(before.visit, access.visit));
    if (access.write || (!before.write && old)) before.bytes = static_cast<std::uint16_t>(before.bytes & ~access.bytes);
    readers += !before.write && covers && before.bytes != 0 && before.atomic == access.atomic ? 1 : 0;
    if (before.bytes == 0) {
      *link = before.next;
    } else {
      link = &before.next;
    }
  }
  if (!access.write && readers >= 2) return;
  marks_.push_back(access);
  marks_.back().next = slot.first;
  slot.first = static_cast<std::int32_t>(marks_.size() - 1);
}

void CoResidentRaces::visit_runs(const std::function<void(std::uintptr_t, std::uintptr_t, const Mark&)>& each) const {
  for (const std::uint32_t at : used_) {
    const std::uintptr_t begin = slots_[at].cell * kCellBytes;
    for (std::int32_t i = slots_[at].first; i >= 0; i = marks_[static_cast<std::size_t>(i)].next) {
      const Mark& mark = marks_[static_cast<std::size_t>(i)];
      for (unsigned left = mark.bytes; left != 0;) {
        const auto from = static_cast<unsigned>(__builtin_ctz(left));
        const auto count = static_cast<unsigned>(__builtin_ctz(~(left >> from)));
        each(begin + from, begin + from + count, mark);
        left &= ~(((1u << count) - 1) << from);
      }
    }
  }
}

}  // namespace quern::host
