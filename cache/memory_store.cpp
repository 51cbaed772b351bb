#include "cache/memory_store.h"

#include <cstring>
#include <mutex>
#include <utility>

namespace quern::cache {

std::size_t KeyHash::operator()(const Key& key) const {
  std::uint64_t what = 0;
  std::uint64_t who = 0;
  std::memcpy(&what, key.what_hash.bytes.data(), sizeof(what));
  std::memcpy(&who, key.who_hash.bytes.data(), sizeof(who));
  return static_cast<std::size_t>(what ^ (who << 1));
}

// Not the bits that choose the bucket within the map.
MemoryStore::Shard& MemoryStore::shard(const Key& key) { return shards_[key.what_hash.bytes[15] % kShards]; }

EntryPointer MemoryStore::find(const Key& key) {
  Shard& home = shard(key);
  const std::shared_lock lock(home.mutex);
  const auto place = home.map.find(key);
  if (place == home.map.end() || !place->second) return nullptr;
  home.hits.fetch_add(1, std::memory_order_relaxed);
  return place->second;
}

bool MemoryStore::forgotten(const Key& key) {
  Shard& home = shard(key);
  const std::shared_lock lock(home.mutex);
  const auto place = home.map.find(key);
  return place != home.map.end() && !place->second;
}

EntryPointer MemoryStore::add(const Key& key, const EntryPointer& entry) {
  Shard& home = shard(key);
  const std::unique_lock lock(home.mutex);
  return home.map.try_emplace(key, entry).first->second;
}

void MemoryStore::replace(const Key& key, EntryPointer entry) {
  Shard& home = shard(key);
  const std::unique_lock lock(home.mutex);
  home.map.insert_or_assign(key, std::move(entry));
}

bool MemoryStore::forget(const Key& key, const EntryPointer& expected, EntryPointer* was) {
  Shard& home = shard(key);
  const std::unique_lock lock(home.mutex);
  EntryPointer& there = home.map[key];
  if (expected && there && there != expected) return false;
  *was = std::exchange(there, nullptr);
  return true;
}

void MemoryStore::clear() {
  for (Shard& home : shards_) {
    const std::unique_lock lock(home.mutex);
    home.map.clear();
  }
}

std::uint64_t MemoryStore::hits() const {
  std::uint64_t total = 0;
  for (const Shard& home : shards_) total += home.hits.load(std::memory_order_relaxed);
  return total;
}

}  // namespace quern::cache
