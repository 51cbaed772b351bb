#include "hostdriver/exec/access_log.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace quern::host {
namespace {

constexpr std::uintptr_t kSectorBytes = 32;
constexpr std::uintptr_t kHalfLineBytes = 64;

// One warp-level request: the accesses that its lanes make together.
struct Request {
  const Touch* begin;
  const Touch* end;
};

// Equal for all touches of a request.
auto request_of(const Touch& t) { return std::tie(t.file, t.line, t.access, t.bytes, t.memory, t.warp, t.turn); }

// Distinct units of so many bytes: sectors, or half-lines.
std::uint64_t units_of(const Request& request, std::uintptr_t unit_bytes) {
  std::set<std::uintptr_t> units;
  for (const Touch* t = request.begin; t != request.end; ++t) {
    for (std::uintptr_t u = t->address / unit_bytes; u <= (t->address + t->bytes - 1) / unit_bytes; ++u)
      units.insert(u);
  }
  return units.size();
}

// Distinct bytes, so that a broadcast counts one.
std::uint64_t bytes_of(const Request& request) {
  std::set<std::uintptr_t> begins;
  for (const Touch* t = request.begin; t != request.end; ++t) begins.insert(t->address);
  return begins.size() * request.begin->bytes;
}

// Stores and atomics do not.
bool fills_half_lines(twin::Access access) {
  return access == twin::Access::global_load || access == twin::Access::relaxed_load;
}

const char* kind_of(twin::Access access) {
  switch (access) {
    case twin::Access::global_load:
    case twin::Access::relaxed_load:
      return "load";
    case twin::Access::global_store:
    case twin::Access::relaxed_store:
      return "store";
    default:
      return "atomic";
  }
}

std::uint64_t bytes_of(const std::vector<bool>& touched) {
  return static_cast<std::uint64_t>(std::count(touched.begin(), touched.end(), true));
}

// Distinct half-lines of memory that begins at `begin`.
std::uint64_t half_lines_of(const std::vector<bool>& touched, std::uintptr_t begin) {
  std::uint64_t half_lines = 0;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (!touched[i]) continue;
    ++half_lines;
    i += kHalfLineBytes - 1 - (begin + i) % kHalfLineBytes;  // the next one
  }
  return half_lines;
}

}  // namespace

void AccessLog::Sum::add(const Sum& other) {
  requests += other.requests;
  sectors += other.sectors;
  ideal_sectors += other.ideal_sectors;
  asked_bytes += other.asked_bytes;
  half_lines += other.half_lines;
  if (touched.size() < other.touched.size()) touched.resize(other.touched.size());
  for (std::size_t i = 0; i < other.touched.size(); ++i) touched[i] = touched[i] || other.touched[i];
}

void AccessLog::add_block(std::vector<Touch>&& touches) {
  std::stable_sort(touches.begin(), touches.end(),
                   [](const Touch& a, const Touch& b) { return request_of(a) < request_of(b); });
  const std::lock_guard lock(mutex_);
  const Touch* const end = touches.data() + touches.size();
  for (const Touch* begin = touches.data(); begin != end;) {
    const Touch* const after =
        std::find_if(begin, end, [&](const Touch& t) { return request_of(t) != request_of(*begin); });
    const Request request{begin, after};
    Sum& sum =
        sums_[{begin->file, begin->line, begin->access, begin->bytes, begin->memory->name, begin->memory->begin}];
    sum.requests += 1;
    sum.sectors += units_of(request, kSectorBytes);
    if (fills_half_lines(begin->access)) sum.half_lines += units_of(request, kHalfLineBytes);
    sum.ideal_sectors += (bytes_of(request) + kSectorBytes - 1) / kSectorBytes;
    sum.asked_bytes += static_cast<std::uint64_t>(after - begin) * begin->bytes;
    for (const Touch* t = begin; t != after; ++t) {
      const std::size_t from = t->address - t->memory->begin;
      if (sum.touched.size() < from + t->bytes) sum.touched.resize(from + t->bytes);
      std::fill_n(sum.touched.begin() + static_cast<std::ptrdiff_t>(from), t->bytes, true);
    }
    begin = after;
  }
}

void AccessLog::visit(const Visitor& visitor) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, sum] : sums_) {
    visitor({key.file.c_str(), key.line, kind_of(key.access), key.memory.empty() ? "?" : key.memory.c_str(), key.bytes,
             sum.requests, sum.sectors, sum.ideal_sectors, sum.asked_bytes, bytes_of(sum.touched), sum.half_lines,
             sum.half_lines > 0 ? half_lines_of(sum.touched, key.begin) : 0});
  }
}

quernHostAccess AccessLog::total_of(const char* kind, const Sums& sums) {
  quernHostAccess total{"total", 0, kind, nullptr, 0, 0, 0, 0, 0, 0, 0, 0};
  for (const auto& [begin, sum] : sums) {
    total.requests += sum.requests;
    total.sectors += sum.sectors;
    total.ideal_sectors += sum.ideal_sectors;
    total.asked_bytes += sum.asked_bytes;
    total.unique_bytes += bytes_of(sum.touched);
    total.half_lines += sum.half_lines;
    if (sum.half_lines > 0) total.unique_half_lines += half_lines_of(sum.touched, begin);
  }
  return total;
}

void AccessLog::visit_totals(const Visitor& visitor) const {
  const std::lock_guard lock(mutex_);
  for (const twin::Access access :
       {twin::Access::global_load, twin::Access::global_store, twin::Access::global_atomic}) {
    const char* const kind = kind_of(access);
    Sums sums;
    for (const auto& [key, sum] : sums_) {
      if (std::string_view(kind) == kind_of(key.access)) sums[key.begin].add(sum);
    }
    if (!sums.empty()) visitor(total_of(kind, sums));
  }
}

void AccessLog::clear() {
  const std::lock_guard lock(mutex_);
  sums_.clear();
}

}  // namespace quern::host
