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

#include "base/slabs.h"
#include "base/striped.h"

namespace quern {

// Reading takes no lock and writes no cache line that another thread writes. Writers are one at a time: the caller has
// a lock for them. A node never changes while it is in the table; what is taken out stays until a writer collects it,
// which it can when no reader is left that may have seen it.
//
// Open addressing: a node lies in the first free slot from its hash on, and at least a quarter of the slots are free. A
// slot has 32 bits, the node's number and 8 bits of its hash: 100,000 take half a MiB, and a look-up among them one
// node.
template <class Node>
class ReadMostlyTable {
  struct Slots;

 public:
  using Pointer = std::shared_ptr<const Node>;

  ReadMostlyTable() : current_(new Slots(kFewest, std::make_shared<Slabs>())), slots_(current_.get()) {}
  ReadMostlyTable(const ReadMostlyTable&) = delete;
  ReadMostlyTable& operator=(const ReadMostlyTable&) = delete;

  // A reader: what it finds stays while it lives. It must be short.
  class Reader {
   public:
    explicit Reader(const ReadMostlyTable& table) : inside_(table.readers_), slots_(*table.slots_.load()) {}
    // The node of this hash for which `is_it` holds; null if there is none.
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
  // The same for a writer, who need not be a Reader.
  template <class Predicate>
  const Node* find(std::uint64_t hash, const Predicate& is_it) const {
    return current_->find(hash, is_it);
  }
  // Makes a node of `arguments`, in the place of the one for which `is_it` holds, or in a free one. Throws
  // std::bad_alloc, and then nothing has changed.
  template <class Predicate, class... Arguments>
  const Node& set(std::uint64_t hash, const Predicate& is_it, Arguments&&... arguments);
  // Takes out those for which `goes` holds; how many. Throws std::bad_alloc likewise.
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
  static constexpr std::uint32_t kNumber = (1U << 24) - 1;  // in a slot, plus one; the rest is of the hash

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
    // The slot of the node, or the free one where it belongs. What it held is returned with it: a reader must not look
    // at the slot again, where a writer may have put another node meanwhile.
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

  // The rest is for writers, on lines that no reader looks at.
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
  if (owners_.empty()) current_->offset = current_->slabs->offset_of(fresh, number);  // no reader has a slot yet
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
  auto slots = make_slots(owners_.size());  // the last that may throw
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

// Free ones, with room for `nodes`, and all else that replace_slots needs.
template <class Node>
auto ReadMostlyTable<Node>::make_slots(std::size_t nodes) -> std::unique_ptr<Slots> {
  std::size_t count = kFewest;
  while (3 * count < 4 * (nodes + 1)) count *= 2;
  retired_slots_.reserve(retired_slots_.size() + 1);
  return std::make_unique<Slots>(count, std::make_shared<Slabs>());
}

// Fills them with the nodes that there are. An empty table begins with new slabs: the old ones' memory goes with the
// last node that somebody holds.
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
  if ((retired_.empty() && retired_slots_.empty()) || !readers_.nobody()) return {};
  retired_slots_.clear();
  return std::exchange(retired_, {});
}

}  // namespace quern

#endif  // QUERN_BASE_READ_MOSTLY_TABLE_H_
