#include "hostdriver/exec/clock.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "hostdriver/exec/access_log.h"
#include "hostdriver/exec/engine.h"

namespace quern::host {
namespace {

// Sorted, with adjacent and overlapping spans merged.
std::vector<Span> merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> result;
  for (const Span& span : spans) {
    if (result.empty() || span.begin > result.back().end) {
      result.push_back(span);
    } else {
      result.back().end = std::max(result.back().end, span.end);
    }
  }
  return result;
}

std::vector<Span> spans_of(const std::vector<Touch>& touches, twin::Access other) {
  std::vector<Span> spans;
  for (const Touch& touch : touches)
    if (touch.access != other) spans.push_back({touch.address, touch.address + touch.bytes});
  return merged(std::move(spans));
}

void append(std::vector<Span>& to, const std::vector<Span>& from) { to.insert(to.end(), from.begin(), from.end()); }

void append_extent(std::string& text, const twin::Dim3& extent) {
  text += cat(extent.x, ",", extent.y, ",", extent.z, ";");
}

bool holds(const Span& all, const Span& part) { return part.begin >= all.begin && part.end <= all.end; }

// Instead of an address: the allocation's number in the high bits, the offset in it in the low bits.
constexpr unsigned kPlaceBits = 48;

std::optional<std::vector<Span>> relative_spans(const std::vector<Span>& spans, const std::vector<Span>& allocations) {
  std::vector<Span> result;
  for (const Span& span : spans) {
    const auto home = std::find_if(allocations.begin(), allocations.end(),
                                   [&](const Span& allocation) { return holds(allocation, span); });
    if (home == allocations.end()) return std::nullopt;
    const auto number = static_cast<std::uintptr_t>(home - allocations.begin()) << kPlaceBits;
    result.push_back({number + span.begin - home->begin, number + span.end - home->begin});
  }
  return result;
}

std::vector<Span> absolute_spans(const std::vector<Span>& spans, const std::vector<Span>& allocations) {
  std::vector<Span> result;
  for (const Span& span : spans) {
    const std::uintptr_t number = span.begin >> kPlaceBits;
    const std::uintptr_t home = allocations[number].begin - (number << kPlaceBits);
    result.push_back({span.begin + home, span.end + home});
  }
  return result;
}

// Removes `span` from the cached spans; returns how many of its bytes were cached.
std::size_t take_out(std::vector<Span>& held, const Span& span) {
  std::size_t hits = 0;
  std::vector<Span> kept;
  for (const Span& each : held) {
    const std::uintptr_t begin = std::clamp(span.begin, each.begin, each.end);
    const std::uintptr_t end = std::clamp(span.end, begin, each.end);
    hits += end - begin;
    for (const Span rest : {Span{each.begin, begin}, Span{end, each.end}})
      if (rest.bytes() > 0) kept.push_back(rest);
  }
  held = std::move(kept);
  return hits;
}

// Evicts from the front until at most `most` bytes are left.
void drop_oldest(std::vector<Span>& held, std::size_t most) {
  std::size_t all = 0;
  for (const Span& each : held) all += each.bytes();
  std::size_t over = all - std::min(all, most);
  std::erase_if(held, [&](Span& each) {
    const std::size_t cut = std::min(over, each.bytes());
    each.begin += cut;
    over -= cut;
    return each.bytes() == 0;
  });
}

}  // namespace

// The hit bytes of the span. Of a span larger than the L2, the start is evicted before the end is read, so that a
// second pass hits nothing.
std::size_t Clock::take(const Span& span) {
  const std::size_t hits = take_out(cached_, span);
  cached_.push_back(span);
  drop_oldest(cached_, l2_bytes_);
  return span.bytes() > l2_bytes_ ? 0 : hits;
}

std::int64_t Clock::ns(const Traffic& traffic, std::int64_t memory_rate, std::int64_t l2_rate) {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  std::size_t hits = 0;
  for (const std::vector<Span>* spans : {&traffic.reads, &traffic.writes}) {
    for (const Span& span : *spans) {
      all += span.bytes();
      hits += take(span);
    }
  }
  const auto ns = [](std::size_t bytes, std::int64_t rate) {
    return 1000.0 * static_cast<double>(bytes) / static_cast<double>(rate);
  };
  return static_cast<std::int64_t>(ns(all - hits, memory_rate) + ns(hits, l2_rate));
}

void Footprint::add_block(const std::vector<Touch>& touches) {
  const std::vector<Span> reads = spans_of(touches, twin::Access::global_store);
  const std::vector<Span> writes = spans_of(touches, twin::Access::global_load);
  const std::lock_guard lock(mutex_);
  append(reads_, reads);
  append(writes_, writes);
}

Traffic Footprint::traffic() const { return {merged(reads_), merged(writes_)}; }

RelativeLaunch::RelativeLaunch(const Grid& grid, Memory& memory) {
  append_extent(text_, grid.grid);
  append_extent(text_, grid.block);
  append_extent(text_, grid.cluster);
  text_ += cat(grid.dynamic_shared_bytes, ";");
  for (std::size_t at = 0; at < grid.parameter.size(); at += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    const std::size_t bytes = std::min(sizeof(word), grid.parameter.size() - at);
    std::memcpy(&word, grid.parameter.data() + at, bytes);
    if (!add_place(word, memory)) text_.append(reinterpret_cast<const char*>(grid.parameter.data()) + at, bytes);
  }
}

bool RelativeLaunch::add_place(std::uintptr_t address, Memory& memory) {
  const Allocation* const found = memory.find(address);
  if (found == nullptr || !found->contains(address, 1)) return false;
  const Span allocation{found->begin, found->begin + found->bytes};
  auto place = std::find(allocations_.begin(), allocations_.end(), allocation);
  if (place == allocations_.end()) place = allocations_.insert(place, allocation);
  text_ += cat("<", place - allocations_.begin(), "+", address - found->begin, " of ", found->bytes, ">");
  return true;
}

std::optional<Traffic> RelativeLaunch::relative(const Traffic& traffic) const {
  auto reads = relative_spans(traffic.reads, allocations_);
  auto writes = relative_spans(traffic.writes, allocations_);
  if (!reads || !writes) return std::nullopt;
  return Traffic{std::move(*reads), std::move(*writes)};
}

Traffic RelativeLaunch::absolute(const Traffic& relative) const {
  return {absolute_spans(relative.reads, allocations_), absolute_spans(relative.writes, allocations_)};
}

std::optional<Traffic> KnownTraffic::find(const RelativeLaunch& launch) const {
  const std::lock_guard lock(mutex_);
  const auto found = relative_.find(launch.text());
  if (found == relative_.end()) return std::nullopt;
  return launch.absolute(found->second);
}

void KnownTraffic::add(const RelativeLaunch& launch, const Traffic& traffic) {
  const std::optional<Traffic> relative = launch.relative(traffic);
  const std::lock_guard lock(mutex_);
  if (relative) relative_[launch.text()] = *relative;
}

}  // namespace quern::host
