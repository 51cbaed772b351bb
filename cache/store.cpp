#include "cache/store.h"

#include <chrono>
#include <exception>
#include <utility>

namespace quern::cache {
namespace {

std::int64_t now_unix_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::unique_ptr<DiskStore> make_disk(const Store::Settings& settings, const Log& log, FileSystem& files,
                                     AtomicCounters& counters) {
  if (settings.mode == CacheMode::off) return nullptr;
  const bool writable = settings.mode == CacheMode::read_write;
  return std::make_unique<DiskStore>(settings.dir, writable, settings.match, log, files, counters);
}

}  // namespace

const char* name(Origin origin) {
  static constexpr const char* kNames[] = {"memory", "disk", "built"};
  return kNames[static_cast<int>(origin)];
}

Store::Store(const Settings& settings, const Log& log, FileSystem& files)
    : disk_(make_disk(settings, log, files, counters_)) {}

// Whatever goes wrong there, memory and a log sink that throws included, the caller still gets its image.
template <class Operation>
void Store::on_disk(const Operation& operation) {
  if (!disk_) return;
  try {
    operation(*disk_);
  } catch (const std::exception&) {
    ++counters_.failures;
  }
}

EntryPointer Store::from_disk(const Key& key) {
  EntryPointer entry;
  if (memory_.forgotten(key)) return entry;
  on_disk([&](DiskStore& disk) { entry = disk.find(key); });
  return entry ? memory_.add(key, entry) : entry;
}

EntryPointer Store::keep(const Key& key, Entry entry) {
  entry.what = key.what;
  entry.who = key.who;
  if (entry.created_unix_ns == 0) entry.created_unix_ns = now_unix_ns();
  auto kept = std::make_shared<const Entry>(std::move(entry));
  memory_.replace(key, kept);
  return kept;
}

Found Store::lead(const Key& key, const Build& build) {
  // Once more: another thread may have built it between our look-up and the start of this flight.
  if (auto entry = memory_.find(key)) return {std::move(entry), Origin::memory};
  if (auto entry = from_disk(key)) return {std::move(entry), Origin::disk};
  Entry made = build();
  ++counters_.builds;
  return {keep(key, std::move(made)), Origin::built};
}

Found Store::get_or_build(const Key& key, const Build& build) {
  if (auto entry = memory_.find(key)) return {std::move(entry), Origin::memory};
  bool led = false;
  Found found = flights_.run(
      key, [&] { return lead(key, build); }, &led);
  if (!led) {
    ++counters_.waits;
    found.origin = Origin::memory;
  } else if (found.origin == Origin::built) {
    on_disk([&](DiskStore& disk) { disk.put(key, *found.entry); });
  }
  return found;
}

EntryPointer Store::find(const Key& key) {
  if (auto entry = memory_.find(key)) return entry;
  return from_disk(key);
}

EntryPointer Store::put(const Key& key, Entry entry) {
  auto kept = keep(key, std::move(entry));
  on_disk([&](DiskStore& disk) { disk.put(key, *kept); });
  return kept;
}

void Store::forget(const Key& key, const EntryPointer& rejected) {
  EntryPointer was;
  if (!memory_.forget(key, rejected, &was)) return;
  on_disk([&](DiskStore& disk) { disk.remove(key, rejected ? rejected.get() : was.get()); });
}

Counters Store::counters() const {
  return {memory_.hits(),        counters_.disk_hits, counters_.builds,  counters_.waits,     counters_.failures,
          counters_.disk_misses, counters_.damaged,   counters_.foreign, counters_.untrusted, counters_.unreadable};
}

std::vector<Item> Store::list() {
  std::vector<Item> items;
  on_disk([&](DiskStore& disk) { items = disk.list(); });
  return items;
}

EntryPointer Store::load(const std::string& item_key, std::string* why_not) {
  EntryPointer entry;
  if (!disk_ && why_not != nullptr) *why_not = "the cache is off";
  on_disk([&](DiskStore& disk) { entry = disk.load(item_key, why_not); });
  return entry;
}

std::size_t Store::clear() {
  std::size_t removed = 0;
  memory_.clear();
  on_disk([&](DiskStore& disk) { removed = disk.clear(); });
  return removed;
}

std::string Store::directory() const { return disk_ ? disk_->directory() : std::string(); }

std::string Store::unusable() {
  std::string why;
  on_disk([&](DiskStore& disk) { why = disk.unusable(); });
  return why;
}

}  // namespace quern::cache
