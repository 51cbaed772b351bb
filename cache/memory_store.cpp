#include "cache/memory_store.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace quern::cache {
namespace {

// Compares the hashes first: they nearly always differ, and then no text is read.
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

Rejected MemoryStore::rejected(const Key& key) {
  const Table::Reader reader(table_);
  const Known* known = reader.find(KeyHash()(key), has(key));
  return known == nullptr ? Rejected() : known->rejected;
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

const MemoryStore::Known* MemoryStore::known(const Key& key) const { return table_.find(KeyHash()(key), has(key)); }

EntryPointer MemoryStore::add(const Key& key, const EntryPointer& entry) {
  const std::lock_guard lock(writing_);
  const Known* const there = known(key);
  if (there != nullptr && !there->entry.empty()) return there->entry.get();
  if (there != nullptr && is_rejected(*entry, there->rejected)) return nullptr;
  set(key, entry, there == nullptr ? Rejected() : there->rejected);
  return entry;
}

void MemoryStore::replace(const Key& key, const EntryPointer& entry) {
  const std::lock_guard lock(writing_);
  const Known* const there = known(key);
  set(key, entry, there == nullptr ? Rejected() : there->rejected);
}

bool MemoryStore::reject(const Key& key, const EntryPointer& expected, EntryPointer* was) {
  const std::lock_guard lock(writing_);
  const Known* const there = known(key);
  EntryPointer entry = there == nullptr ? nullptr : there->entry.get();
  if (expected && entry && entry != expected) return false;
  Rejected rejected = there == nullptr ? Rejected() : there->rejected;
  if (const EntryPointer& bad = entry ? entry : expected; bad && !is_rejected(*bad, rejected))
    rejected.push_back(image_hash(*bad));
  *was = std::move(entry);
  set(key, nullptr, std::move(rejected));
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

void MemoryStore::set(const Key& key, const EntryPointer& entry, Rejected rejected) {
  table_.set(KeyHash()(key), has(key), key, entry, std::move(rejected));
  static_cast<void>(table_.collect());
}

}  // namespace quern::cache
