// A hash table with lock-free readers and rare writers: known plans, images in memory.
#ifndef QUERN_BASE_READ_MOSTLY_TABLE_H_
#define QUERN_BASE_READ_MOSTLY_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/slabs.h"
#include "base/striped.h"

namespace quern {

// Readers take no lock and write no shared cache line. Writers are serialized by the caller's lock. A node never
// changes while it is in the table. A removed node is kept until a writer collects it, once no reader that may have
// seen it is left.
//
// Open addressing with linear probing: a node is in the first free slot from its hash on, and at least a quarter of the
// slots are free. A slot has 32 bits, the node's number and 8 bits of its hash: the slots of 100,000 nodes take half a
// MiB, and a look-up among them reads one node.
template <class Node>
class ReadMostlyTable {
  struct Slots;

 public:
  using Pointer = std::shared_ptr<const Node>;

  ReadMostlyTable() : current_(new Slots(kFewest, std::make_shared<Slabs>())), slots_(current_.get()) {}
  ReadMostlyTable(const ReadMostlyTable&) = delete;
  ReadMostlyTable& operator=(const ReadMostlyTable&) = delete;

  // A reader's critical section: nodes found stay valid while it exists. Must be short.
  class Reader {
   public:
    explicit Reader(const ReadMostlyTable& table) : inside_(table.readers_), slots_(*table.slots_.load()) {}
    // Returns the node with this hash for which `is_it` returns true, or null.
    template <class Predicate>
    const Node* find(std::uint64_t hash, const Predicate& is_it) const {
      return slots_.find(hash, is_it);
    }

   private:
    const StripedReaders::Inside inside_;
    const Slots& slots_;
  };

  // ---- for writers

  std::size_t size() const { return owners_.size(); }
  // The same for a writer, which needs no Reader.
  template <class Predicate>
  const Node* find(std::uint64_t hash, const Predicate& is_it) const {
    return current_->find(hash, is_it);
  }
  // Constructs a node from `arguments`. It replaces the node for which `is_it` returns true, or takes a free slot. If
  // it throws std::bad_alloc, the table is unchanged.
  template <class Predicate, class... Arguments>
  const Node& set(std::uint64_t hash, const Predicate& is_it, Arguments&&... arguments);
  // Removes the nodes for which `goes` returns true and returns their number. If it throws std::bad_alloc, the table is
  // unchanged.
  template <class Predicate>
  std::size_t remove_if(const Predicate& goes);
  // Returns removed nodes that no reader can see any more. The caller destroys them, best without its lock. Empty if
  // there are readers now, which is rare, as they stay for less than a microsecond; the next call returns the nodes
  // then.
  [[nodiscard]] std::vector<Pointer> collect();
  template <class Visitor>
  void for_each(const Visitor& visit) const {
    for (const auto& [node, owner] : owners_) visit(*node);
  }

 private:
  static constexpr std::size_t kFewest = 64;
  static constexpr std::uint32_t kNumber =
      (1U << 24) - 1;  // a node's number plus one; the remaining bits are from its hash

  using Slot = std::atomic<std::uint32_t>;  // 0: free
  struct Place {
    std::size_t index;
    std::uint32_t slot;
  };
  struct Slots {
    Slots(std::size_t count, std::shared_ptr<Slabs> own_slabs) : slots(count), slabs(std::move(own_slabs)) {}

    const Node* node_of(std::uint32_t slot) const {
      return reinterpret_cast<const Node*>(static_cast<const unsigned char*>(slabs->at((slot & kNumber) - 1)) + offset);
    }
    // The slot of the node, or the free slot for it, and the value that was read. A reader must not read the slot
    // again: a writer may have put another node there.
    template <class Predicate>
    Place place(std::uint64_t hash, const Predicate& is_it) const {
      const std::size_t mask = slots.size() - 1;
      for (std::size_t i = static_cast<std::size_t>(hash) & mask;; i = (i + 1) & mask) {
        const std::uint32_t slot = slots[i].load();
        if (slot == 0 || (((slot ^ tag(hash)) & ~kNumber) == 0 && is_it(*node_of(slot)))) return {i, slot};
      }
    }
    template <class Predicate>
    const Node* find(std::uint64_t hash, const Predicate& is_it) const {
      const std::uint32_t slot = place(hash, is_it).slot;
      return slot == 0 ? nullptr : node_of(slot);
    }
    static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32) & ~kNumber; }

    std::vector<Slot> slots;  // a power of two
    std::shared_ptr<Slabs> slabs;
    std::size_t offset = 0;  // of a node in its slab: what std::allocate_shared has before it
  };
  struct Owner {
    Pointer node;
    std::uint64_t hash;
    std::uint32_t number;
  };

  std::unique_ptr<Slots> make_slots(std::size_t nodes);
  void replace_slots(std::unique_ptr<Slots> slots);
  void fill(Slots& slots, const Owner& owner, std::size_t place) {
    slots.slots[place].store(Slots::tag(owner.hash) | (owner.number + 1));
  }

  mutable StripedReaders readers_;
  std::unique_ptr<Slots> current_;
  std::atomic<Slots*> slots_;  // current_

  // Writers only, on cache lines that readers do not touch.
  alignas(kCacheLine) std::unordered_map<const Node*, Owner> owners_;
  std::vector<std::unique_ptr<Slots>> retired_slots_;
  std::vector<Pointer> retired_;
};

template <class Node>
template <class Predicate, class... Arguments>
const Node& ReadMostlyTable<Node>::set(std::uint64_t hash, const Predicate& is_it, Arguments&&... arguments) {
  retired_.reserve(retired_.size() + 1);
  if (4 * (owners_.size() + 1) > 3 * current_->slots.size()) replace_slots(make_slots(2 * owners_.size()));
  Pointer node =
      std::allocate_shared<Node>(SlabAllocator<Node>(current_->slabs), std::forward<Arguments>(arguments)...);
  const std::uint32_t number = current_->slabs->number_of(node.get());
  if (number >= kNumber) throw std::bad_alloc();
  const Node* const fresh = node.get();
  if (owners_.empty())
    current_->offset = current_->slabs->offset_of(fresh, number);  // before any reader can have a slot
  const Owner& owner = owners_.emplace(fresh, Owner{std::move(node), hash, number}).first->second;
  const auto [place, before] = current_->place(hash, is_it);
  fill(*current_, owner, place);
  if (before != 0) {
    const auto old = owners_.find(current_->node_of(before));
    retired_.push_back(std::move(old->second.node));
    owners_.erase(old);
  }
  return *fresh;
}

template <class Node>
template <class Predicate>
std::size_t ReadMostlyTable<Node>::remove_if(const Predicate& goes) {
  std::size_t removed = 0;
  retired_.reserve(retired_.size() + owners_.size());
  auto slots = make_slots(owners_.size());  // nothing after this throws
  for (auto owner = owners_.begin(); owner != owners_.end();) {
    if (!goes(*owner->first)) {
      ++owner;
      continue;
    }
    retired_.push_back(std::move(owner->second.node));
    owner = owners_.erase(owner);
    ++removed;
  }
  if (removed != 0) replace_slots(std::move(slots));
  return removed;
}

// Empty slots with room for `nodes`. Allocates everything that replace_slots needs.
template <class Node>
auto ReadMostlyTable<Node>::make_slots(std::size_t nodes) -> std::unique_ptr<Slots> {
  std::size_t count = kFewest;
  while (3 * count < 4 * (nodes + 1)) count *= 2;
  retired_slots_.reserve(retired_slots_.size() + 1);
  return std::make_unique<Slots>(count, std::make_shared<Slabs>());
}

// Inserts the existing nodes into the new slots. An empty table starts with new slabs: the memory of the old ones is
// freed with the last node that is still held.
template <class Node>
void ReadMostlyTable<Node>::replace_slots(std::unique_ptr<Slots> slots) {
  if (!owners_.empty()) slots->slabs = current_->slabs;
  slots->offset = current_->offset;
  for (const auto& [node, owner] : owners_)
    fill(*slots, owner, slots->place(owner.hash, [](const Node&) { return false; }).index);
  slots_.store(slots.get());
  retired_slots_.push_back(std::exchange(current_, std::move(slots)));
}

template <class Node>
std::vector<typename ReadMostlyTable<Node>::Pointer> ReadMostlyTable<Node>::collect() {
  if ((retired_.empty() && retired_slots_.empty()) || !readers_.quiescent()) return {};
  retired_slots_.clear();
  return std::exchange(retired_, {});
}

}  // namespace quern

#endif  // QUERN_BASE_READ_MOSTLY_TABLE_H_
