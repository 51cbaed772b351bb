#include "cache/memory_store.h"

#include <cstring>
#include <utility>

namespace quern::cache {
namespace {

constexpr std::size_t kFirstSlots = 64;

// The hashes first: where they differ, and they nearly always do, no text is read.
bool same(const Key& left, const Key& right) {
  return left.what_hash == right.what_hash && left.who_hash == right.who_hash && left.what == right.what &&
         left.who == right.who;
}

}  // namespace

std::size_t KeyHash::operator()(const Key& key) const {
  std::uint64_t what = 0;
  std::uint64_t who = 0;
  std::memcpy(&what, key.what_hash.bytes.data(), sizeof(what));
  std::memcpy(&who, key.who_hash.bytes.data(), sizeof(who));
  return static_cast<std::size_t>(what ^ (who << 1));
}

MemoryStore::Slot& MemoryStore::Table::slot(const Key& key) {
  const std::size_t mask = slots.size() - 1;
  for (std::size_t at = KeyHash()(key) & mask;; at = (at + 1) & mask) {
    const Known* known = slots[at];
    if (known == nullptr || same(known->key, key)) return slots[at];
  }
}

MemoryStore::MemoryStore() : owned_(std::make_unique<Table>(kFirstSlots)) { table_ = owned_.get(); }

MemoryStore::~MemoryStore() {
  for (const Slot& slot : owned_->slots) delete slot.load();
}

// ---- reading

// REQUIRES: the caller is among readers_, or is the writer.
const MemoryStore::Known* MemoryStore::look_up(const Key& key) { return table_.load()->slot(key); }

EntryPointer MemoryStore::find(const Key& key) {
  const StripedReaders::Inside inside(readers_);
  const Known* known = look_up(key);
  if (known == nullptr || known->entry.empty()) return nullptr;
  hits_.add();
  return known->entry.get();
}

bool MemoryStore::forgotten(const Key& key) {
  const StripedReaders::Inside inside(readers_);
  const Known* known = look_up(key);
  return known != nullptr && known->entry.empty();
}

std::vector<EntryPointer> MemoryStore::entries() {
  std::vector<EntryPointer> all;
  const std::lock_guard lock(writing_);
  for (const Slot& slot : owned_->slots) {
    const Known* known = slot;
    if (known != nullptr && !known->entry.empty()) all.push_back(known->entry.get());
  }
  return all;
}

// ---- writing

EntryPointer MemoryStore::add(const Key& key, const EntryPointer& entry) {
  const std::lock_guard lock(writing_);
  if (const Known* known = look_up(key)) return known->entry.get();
  set(key, entry);
  return entry;
}

void MemoryStore::replace(const Key& key, const EntryPointer& entry) {
  const std::lock_guard lock(writing_);
  set(key, entry);
}

bool MemoryStore::forget(const Key& key, const EntryPointer& expected, EntryPointer* was) {
  const std::lock_guard lock(writing_);
  const Known* known = look_up(key);
  EntryPointer there = known == nullptr ? nullptr : known->entry.get();
  if (expected && there && there != expected) return false;
  *was = std::move(there);
  set(key, nullptr);
  return true;
}

void MemoryStore::clear() {
  const std::lock_guard lock(writing_);
  retired_.reserve(retired_.size() + owned_->used);
  publish(std::make_unique<Table>(kFirstSlots));
  for (const Slot& slot : retired_tables_.back()->slots) retire(slot);
  drop_retired();
}

void MemoryStore::set(const Key& key, const EntryPointer& entry) {
  std::unique_ptr<const Known> known(new Known{key, StripedPointer<Entry>(entry)});
  if (2 * (owned_->used + 1) > owned_->slots.size()) publish(grown());
  Slot& slot = owned_->slot(key);
  if (slot.load() == nullptr) ++owned_->used;
  retired_.reserve(retired_.size() + 1);
  retire(slot.exchange(known.release()));
  drop_retired();
}

// With the same entries, in twice the space.
std::unique_ptr<MemoryStore::Table> MemoryStore::grown() const {
  auto larger = std::make_unique<Table>(2 * owned_->slots.size());
  for (const Slot& slot : owned_->slots) {
    const Known* known = slot;
    if (known != nullptr) larger->slot(known->key) = known;
  }
  larger->used = owned_->used;
  return larger;
}

void MemoryStore::publish(std::unique_ptr<Table> table) {
  retired_tables_.reserve(retired_tables_.size() + 1);  // before anything is changed: it may throw
  table_ = table.get();
  retired_tables_.push_back(std::exchange(owned_, std::move(table)));
}

void MemoryStore::retire(const Known* known) {
  if (known != nullptr) retired_.emplace_back(known);
}

// Readers stay for less than a microsecond, so it is rare that some are there; then the next writer drops it.
void MemoryStore::drop_retired() {
  if (retired_.empty() && retired_tables_.empty()) return;
  if (!readers_.nobody()) return;
  retired_.clear();
  retired_tables_.clear();
}

}  // namespace quern::cache
