#include "hostdriver/exec/grid_races.h"

#include <algorithm>

namespace quern::host {
namespace {

bool same_block(const Party& a, const Party& b) {
  return a.block.x == b.block.x && a.block.y == b.block.y && a.block.z == b.block.z;
}

// One of them released after its access, and the other one acquired before its own.
bool ordered(const Party& a, const Party& b) {
  return a.segment.released < b.segment.acquired || b.segment.released < a.segment.acquired;
}

bool follows(const Run& before, const Run& run) { return before.end == run.begin && before.kind == run.kind; }

bool race(const Party& a, const Party& b) { return !same_block(a, b) && !(a.atomic && b.atomic) && !ordered(a, b); }

// The first range that ends after the address.
template <class Ranges>
auto first_behind(Ranges& ranges, std::uintptr_t address) {
  auto at = ranges.upper_bound(address);
  if (at != ranges.begin() && std::prev(at)->second.end > address) --at;
  return at;
}

}  // namespace

void add_run(std::vector<Run>& runs, const Run& run) {
  constexpr std::size_t kOpen = 8;  // number of accesses that a thread makes in turn
  for (std::size_t i = runs.size(); i > 0 && i + kOpen > runs.size(); --i) {
    if (!follows(runs[i - 1], run)) continue;
    runs[i - 1].end = run.end;
    return;
  }
  runs.push_back(run);
}

void join_runs(std::vector<Run>& runs) {
  constexpr std::size_t kFew = 16;
  if (runs.size() <= kFew) return;
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.kind != b.kind ? a.kind < b.kind : a.begin < b.begin; });
  std::size_t kept = 0;
  for (const Run& run : runs) {
    if (kept > 0 && follows(runs[kept - 1], run)) {
      runs[kept - 1].end = run.end;
    } else {
      runs[kept++] = run;
    }
  }
  runs.resize(kept);
}

std::optional<Race> GridRaces::add(const std::vector<Run>& runs) {
  const std::lock_guard lock(mutex_);
  for (const Run& run : runs) {
    if (auto found = conflict(writers_, run)) return found;
    if (!run.party.write) continue;
    if (auto found = conflict(readers_, run)) return found;
  }
  for (const Run& run : runs) {
    if (writers_.size() + readers_.size() >= kMostRanges) break;
    run.party.write ? add_writer(writers_, run) : add_reader(readers_, run);
  }
  return std::nullopt;
}

std::optional<Race> GridRaces::conflict(const Ranges& ranges, const Run& run) {
  for (auto at = first_behind(ranges, run.begin); at != ranges.end() && at->first < run.end; ++at) {
    const Range& range = at->second;
    const std::uintptr_t address = std::max(at->first, run.begin);
    if (race(range.first, run.party)) return Race{address, range.first, run.party};
    if (range.several && race(range.second, run.party)) return Race{address, range.second, run.party};
  }
  return std::nullopt;
}

// Splits the range that contains `at`, so that a range starts there.
void GridRaces::split(Ranges& ranges, std::uintptr_t at) {
  const auto found = first_behind(ranges, at);
  if (found == ranges.end() || found->first >= at) return;
  ranges.emplace(at, found->second);
  found->second.end = at;
}

void GridRaces::add_writer(Ranges& ranges, const Run& run) {
  split(ranges, run.begin);
  split(ranges, run.end);
  ranges.erase(ranges.lower_bound(run.begin), ranges.lower_bound(run.end));
  ranges.emplace(run.begin, Range{run.end, run.party, {}, false});
}

void GridRaces::add_reader(Ranges& ranges, const Run& run) {
  split(ranges, run.begin);
  split(ranges, run.end);
  std::uintptr_t covered = run.begin;
  for (auto at = ranges.lower_bound(run.begin); at != ranges.end() && at->first < run.end; ++at) {
    Range& range = at->second;
    if (covered < at->first) ranges.emplace(covered, Range{at->first, run.party, {}, false});
    covered = range.end;
    if (range.several || same_block(range.first, run.party)) continue;
    range.second = run.party;
    range.several = true;
  }
  if (covered < run.end) ranges.emplace(covered, Range{run.end, run.party, {}, false});
}

}  // namespace quern::host
