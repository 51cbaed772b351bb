// A hash table that many threads read and few write: known plans, images in memory.
#ifndef QUERN_BASE_READ_MOSTLY_TABLE_H_
#define QUERN_BASE_READ_MOSTLY_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/striped.h"

namespace quern {

// Reading takes no lock and writes no cache line that another thread writes. Writers are one at a time: the caller has
// a lock for them. A node never changes while it is in the table; what is taken out stays until a writer collects it,
// which it can when no reader is left that may have seen it.
//
// Open addressing: a node lies in the first free slot from its hash on, and at least half of the slots are free. A slot
// has the whole hash, so that nodes of other keys are rarely looked at: a look-up touches one slot and one node.
template <class Node>
class ReadMostlyTable {
 public:
  using Pointer = std::shared_ptr<const Node>;

  ReadMostlyTable() : current_(new Slots(kFewest)), slots_(current_.get()) {}
  ReadMostlyTable(const ReadMostlyTable&) = delete;
  ReadMostlyTable& operator=(const ReadMostlyTable&) = delete;

  // A reader: what it finds stays while it lives. It must be short.
  class Reader {
   public:
    explicit Reader(const ReadMostlyTable& table) : inside_(table.readers_), slots_(*table.slots_.load()) {}
    // The node of this hash for which `is_it` holds; null if there is none.
    template <class Predicate>
    const Node* find(std::uint64_t hash, const Predicate& is_it) const {
      return slots_.at(hash, is_it).node.load();
    }

   private:
    const StripedReaders::Inside inside_;
    const typename ReadMostlyTable::Slots& slots_;
  };

  // ---- for writers

  std::size_t size() const { return owners_.size(); }
  // The same for a writer, who need not be a Reader.
  template <class Predicate>
  const Node* find(std::uint64_t hash, const Predicate& is_it) const {
    return current_->at(hash, is_it).node.load();
  }
  // Puts `node` in the place of the one for which `is_it` holds, or in a free one.
  template <class Predicate>
  void set(std::uint64_t hash, const Predicate& is_it, Pointer node);
  // Takes out those for which `goes` holds; how many.
  template <class Predicate>
  std::size_t remove_if(const Predicate& goes);
  // What was taken out and no reader can see any more, for the caller to drop, best without its lock. Nothing where
  // readers are there now, which is rare, as they stay for less than a microsecond; then the next call has it.
  [[nodiscard]] std::vector<Pointer> collect();
  template <class Visitor>
  void for_each(const Visitor& visit) const {
    for (const auto& [node, owner] : owners_) visit(*node);
  }

 private:
  static constexpr std::size_t kFewest = 64;

  struct Slot {
    std::uint64_t hash = 0;  // written before `node`, once
    std::atomic<const Node*> node{nullptr};
  };
  struct Slots {
    explicit Slots(std::size_t count) : slots(count) {}
    // The slot of the node, or the free one where it belongs.
    template <class Predicate>
    const Slot& at(std::uint64_t hash, const Predicate& is_it) const {
      const std::size_t mask = slots.size() - 1;
      for (std::size_t i = static_cast<std::size_t>(hash) & mask;; i = (i + 1) & mask) {
        const Node* node = slots[i].node.load();
        if (node == nullptr || (slots[i].hash == hash && is_it(*node))) return slots[i];
      }
    }
    void add(std::uint64_t hash, const Node* node) {
      auto& slot = const_cast<Slot&>(at(hash, [](const Node&) { return false; }));
      slot.hash = hash;
      slot.node.store(node);
    }
    std::vector<Slot> slots;  // a power of two
  };
  struct Owner {
    Pointer node;
    std::uint64_t hash;
  };

  void rebuild();

  mutable StripedReaders readers_;
  std::unique_ptr<Slots> current_;
  std::atomic<Slots*> slots_;  // current_

  // The rest is for writers, on lines that no reader looks at.
  alignas(kCacheLine) std::unordered_map<const Node*, Owner> owners_;
  std::vector<std::unique_ptr<Slots>> retired_slots_;
  std::vector<Pointer> retired_;
};

template <class Node>
template <class Predicate>
void ReadMostlyTable<Node>::set(std::uint64_t hash, const Predicate& is_it, Pointer node) {
  retired_.reserve(retired_.size() + 1);  // before anything is changed: it may throw
  const Node* const fresh = node.get();
  owners_.emplace(fresh, Owner{std::move(node), hash});
  auto& slot = const_cast<Slot&>(current_->at(hash, is_it));
  if (const Node* const before = slot.node.load()) {
    slot.node.store(fresh);
    const auto owner = owners_.find(before);
    retired_.push_back(std::move(owner->second.node));
    owners_.erase(owner);
  } else if (2 * owners_.size() > current_->slots.size()) {
    rebuild();
  } else {
    slot.hash = hash;
    slot.node.store(fresh);
  }
}

template <class Node>
template <class Predicate>
std::size_t ReadMostlyTable<Node>::remove_if(const Predicate& goes) {
  std::size_t removed = 0;
  retired_.reserve(retired_.size() + owners_.size());
  for (auto owner = owners_.begin(); owner != owners_.end();) {
    if (!goes(*owner->first)) {
      ++owner;
      continue;
    }
    retired_.push_back(std::move(owner->second.node));
    owner = owners_.erase(owner);
    ++removed;
  }
  if (removed != 0) rebuild();
  return removed;
}

// With the nodes that there are, in at least twice the space that they take.
template <class Node>
void ReadMostlyTable<Node>::rebuild() {
  std::size_t count = kFewest;
  while (count < 2 * (owners_.size() + 1)) count *= 2;
  auto slots = std::make_unique<Slots>(count);
  for (const auto& [node, owner] : owners_) slots->add(owner.hash, node);
  retired_slots_.reserve(retired_slots_.size() + 1);
  slots_.store(slots.get());
  retired_slots_.push_back(std::exchange(current_, std::move(slots)));
}

template <class Node>
std::vector<typename ReadMostlyTable<Node>::Pointer> ReadMostlyTable<Node>::collect() {
  if ((retired_.empty() && retired_slots_.empty()) || !readers_.nobody()) return {};
  retired_slots_.clear();
  return std::exchange(retired_, {});
}

}  // namespace quern

#endif  // QUERN_BASE_READ_MOSTLY_TABLE_H_
