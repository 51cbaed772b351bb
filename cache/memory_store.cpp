#include "cache/memory_store.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace quern::cache {
namespace {

// The hashes first: where they differ, and they nearly always do, no text is read.
bool same(const Key& left, const Key& right) {
  return left.what_hash == right.what_hash && left.who_hash == right.who_hash && left.what == right.what &&
         left.who == right.who;
}

auto has(const Key& key) {
  return [&key](const auto& known) { return same(known.key, key); };
}

}  // namespace

std::size_t KeyHash::operator()(const Key& key) const {
  std::uint64_t what = 0;
  std::uint64_t who = 0;
  std::memcpy(&what, key.what_hash.bytes.data(), sizeof(what));
  std::memcpy(&who, key.who_hash.bytes.data(), sizeof(who));
  return static_cast<std::size_t>(what ^ (who << 1));
}

// ---- reading

EntryPointer MemoryStore::find(const Key& key) {
  const Table::Reader reader(table_);
  const Known* known = reader.find(KeyHash()(key), has(key));
  if (known == nullptr || known->entry.empty()) return nullptr;
  hits_.add();
  return known->entry.get();
}

bool MemoryStore::forgotten(const Key& key) {
  const Table::Reader reader(table_);
  const Known* known = reader.find(KeyHash()(key), has(key));
  return known != nullptr && known->entry.empty();
}

std::vector<EntryPointer> MemoryStore::entries() {
  std::vector<EntryPointer> all;
  const std::lock_guard lock(writing_);
  table_.for_each([&](const Known& known) {
    if (!known.entry.empty()) all.push_back(known.entry.get());
  });
  return all;
}

// ---- writing

EntryPointer MemoryStore::add(const Key& key, const EntryPointer& entry) {
  const std::lock_guard lock(writing_);
  if (const Known* known = table_.find(KeyHash()(key), has(key))) return known->entry.get();
  set(key, entry);
  return entry;
}

void MemoryStore::replace(const Key& key, const EntryPointer& entry) {
  const std::lock_guard lock(writing_);
  set(key, entry);
}

bool MemoryStore::forget(const Key& key, const EntryPointer& expected, EntryPointer* was) {
  const std::lock_guard lock(writing_);
  const Known* known = table_.find(KeyHash()(key), has(key));
  EntryPointer there = known == nullptr ? nullptr : known->entry.get();
  if (expected && there && there != expected) return false;
  *was = std::move(there);
  set(key, nullptr);
  return true;
}

void MemoryStore::clear() {
  const std::lock_guard lock(writing_);
  table_.remove_if([](const Known&) { return true; });
  static_cast<void>(table_.collect());
}

void MemoryStore::drop_unused() {
  const std::lock_guard lock(writing_);
  table_.remove_if([](const Known& known) { return !known.entry.empty() && !known.entry.shared(); });
  static_cast<void>(table_.collect());
}

void MemoryStore::set(const Key& key, const EntryPointer& entry) {
  table_.set(KeyHash()(key), has(key), key, entry);
  static_cast<void>(table_.collect());
}

}  // namespace quern::cache
