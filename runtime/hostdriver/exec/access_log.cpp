#include "hostdriver/exec/access_log.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace quern::host {
namespace {

constexpr std::uintptr_t kSectorBytes = 32;

// One warp-level request: the accesses that its lanes make together.
struct Request {
  const Touch* begin;
  const Touch* end;
};

// Equal for all touches of a request.
auto request_of(const Touch& t) { return std::tie(t.file, t.line, t.access, t.bytes, t.memory, t.warp, t.turn); }

std::uint64_t sectors_of(const Request& request) {
  std::set<std::uintptr_t> sectors;
  for (const Touch* t = request.begin; t != request.end; ++t) {
    for (std::uintptr_t s = t->address / kSectorBytes; s <= (t->address + t->bytes - 1) / kSectorBytes; ++s)
      sectors.insert(s);
  }
  return sectors.size();
}

// Distinct bytes, so that a broadcast counts one.
std::uint64_t bytes_of(const Request& request) {
  std::set<std::uintptr_t> begins;
  for (const Touch* t = request.begin; t != request.end; ++t) begins.insert(t->address);
  return begins.size() * request.begin->bytes;
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

}  // namespace

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
    sum.sectors += sectors_of(request);
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

void AccessLog::visit(const std::function<void(const quernHostAccess&)>& visitor) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, sum] : sums_) {
    const auto unique = static_cast<std::uint64_t>(std::count(sum.touched.begin(), sum.touched.end(), true));
    visitor({key.file.c_str(), key.line, kind_of(key.access), key.memory.empty() ? "?" : key.memory.c_str(), key.bytes,
             sum.requests, sum.sectors, sum.ideal_sectors, sum.asked_bytes, unique});
  }
}

void AccessLog::clear() {
  const std::lock_guard lock(mutex_);
  sums_.clear();
}

}  // namespace quern::host
