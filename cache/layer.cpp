#include "cache/layer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace quern::cache {
namespace {

constexpr const char* kForeign = "holds another key's entry";
constexpr const char* kNewer = "made by a later quern, with another entry schema";
constexpr std::size_t kHashDigits = 2 * sizeof(Hash128::bytes);

// Why these bytes are not an entry of this schema.
void set_miss(Reading& reading, bool newer) {
  reading.miss = newer ? MissReason::newer : MissReason::damaged;
  if (newer) reading.why = kNewer;
}

}  // namespace

void Layer::note_skipped(const std::string& path, const Reading& reading) {
  AtomicCounters& counters = services_.counters;
  std::atomic<std::uint64_t>* const rows[] = {
      nullptr,           nullptr,           &counters.unreadable, &counters.untrusted,
      &counters.damaged, &counters.foreign, &counters.untrusted,  &counters.newer};
  std::atomic<std::uint64_t>* const row = rows[static_cast<int>(reading.miss)];
  if (row == nullptr) return;
  ++*row;
  services_.log.info(cat("cache: skipped ", path, ": ", reading.why));
  if (reading.miss == MissReason::refused && !warned_of_refused_.exchange(true))
    services_.log.warning(cat("cache: ", path, " is not used: ", reading.why));
  if (reading.miss == MissReason::untrusted) on_untrusted(path, reading.why);
}

void Layer::expect(Reading& reading, const Wanted& wanted) {
  const std::string* const who = wanted.who;
  if (!reading.entry) return;
  if (reading.entry->what == wanted.what && (who == nullptr || reading.entry->who == *who)) return;
  reading.entry.reset();
  reading.miss = MissReason::foreign;
  reading.why = kForeign;
}

EntryPointer Layer::accept(const std::string& path, Reading reading, const Wanted& wanted) {
  services_.counters.bytes_read += reading.bytes;
  expect(reading, wanted);
  if (reading.entry && is_rejected(*reading.entry, wanted.rejected)) return nullptr;
  if (reading.entry) return std::make_shared<const Entry>(*std::move(reading.entry));
  note_skipped(path, reading);
  return nullptr;
}

void parse_into(Reading& reading, std::string_view bytes) {
  reading.entry = parse(bytes, &reading.why);
  reading.miss = MissReason::none;
  if (!reading.entry) set_miss(reading, is_of_newer_schema(bytes));
}

void parse_head_into(Reading& reading, std::string_view head, std::uint64_t file_bytes) {
  reading.entry = parse_head(head, file_bytes, &reading.why);
  reading.miss = MissReason::none;
  if (!reading.entry) set_miss(reading, begins_as_newer_schema(head));
}

Reading read_description(const std::function<Reading(std::size_t most, std::string* bytes)>& read) {
  constexpr std::uint64_t kUsual = 4096;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 26;  // an upper bound for a file with an invalid size
  Reading reading;
  std::string beginning;
  std::uint64_t needed = kUsual;
  for (std::uint64_t had = 0; needed > had && needed <= kMost;) {
    had = needed;
    reading = read(static_cast<std::size_t>(needed), &beginning);
    if (reading.miss != MissReason::none) return reading;
    reading.entry = parse_description(beginning, reading.bytes, &needed, &reading.why);
  }
  if (reading.entry) return reading;
  if (needed != 0) reading.why = "truncated";
  set_miss(reading, begins_as_newer_schema(beginning));
  return reading;
}

bool is_damaged(const Item& item) { return !item.damage.empty() && !item.newer && !item.untrusted && !item.refused; }

bool is_rejected(const Entry& entry, const Rejected& rejected) {
  return !rejected.empty() && std::find(rejected.begin(), rejected.end(), image_hash(entry)) != rejected.end();
}

bool is_hash(std::string_view name) {
  return name.size() == kHashDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_newer_name(std::string_view name) {
  if (name.size() < kHashDigits + 2 || !is_hash(name.substr(0, kHashDigits)) || name[kHashDigits] != '.') return false;
  return parse_integer(name.substr(kHashDigits + 1)).value_or(0) > kEntrySchema;
}

bool is_item_key(std::string_view key) {
  return key.size() == 2 * kHashDigits + 1 && is_hash(key.substr(0, kHashDigits)) && key[kHashDigits] == '/' &&
         is_hash(key.substr(kHashDigits + 1));
}

std::string item_key_of(const Entry& entry) { return cat(hash128(entry.what).hex(), "/", hash128(entry.who).hex()); }

Reading of_its_own_name(const std::string& item_key, Reading reading) {
  if (!reading.entry || item_key_of(*reading.entry) == item_key) return reading;
  reading.entry.reset();
  reading.miss = MissReason::foreign;
  reading.why = kForeign;
  return reading;
}

Reading if_trusted(Reading reading, const Trust& trust, std::uint32_t user) {
  if (!reading.entry) return reading;
  reading.why = why_code_untrusted(reading.entry->what, reading.owner, trust, user);
  if (reading.why.empty()) return reading;
  reading.entry.reset();
  reading.miss = MissReason::refused;
  return reading;
}

bool newer(const Entry& left, const Entry& right) {
  return std::tie(left.compiler_order, left.created_unix_ns) > std::tie(right.compiler_order, right.created_unix_ns);
}

Item describe(const std::string& layer, const std::string& item_key, Reading reading) {
  Item item;
  item.key = item_key;
  item.layer = layer;
  item.bytes = reading.bytes;
  item.damage = reading.why;
  item.newer = reading.miss == MissReason::newer;
  item.untrusted = reading.miss == MissReason::untrusted;
  item.refused = reading.miss == MissReason::refused;
  if (!reading.entry) return item;
  Entry& entry = *reading.entry;
  if (item_key != item_key_of(entry)) item.damage = kForeign;
  item.created_unix_ns = entry.created_unix_ns;
  item.prewarmed = entry.prewarmed;
  item.compiler = std::move(entry.compiler);
  item.kernel = std::move(entry.kernel);
  item.what = std::move(entry.what);
  item.who = std::move(entry.who);
  return item;
}

}  // namespace quern::cache
