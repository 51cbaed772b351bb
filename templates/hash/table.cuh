// A hash table from integer keys to positions, open addressing with linear probing. It is the ordered hash table of
// Amble and Knuth (Ordered hash tables, The Computer Journal 17, 1974): from a key's home slot to its own, each slot
// has a smaller key. So a set of keys has one layout, whatever the order in which threads insert them, and a search for
// a key that is not there ends at the first larger one.
//
// `mask` is the number of slots, a power of two, minus 1.
#ifndef QUERN_HASH_TABLE_CUH_
#define QUERN_HASH_TABLE_CUH_

#include "common/sync.cuh"
#include "common/vector.cuh"

namespace quern::hash {

using common::i64;
using common::load;
using common::LoadHint;
using common::u32;
using common::u64;
using common::u8;
using common::Vector;

// A slot of a finished table: 16 bytes.
struct Entry {
  i64 key;       // 0 in an empty slot
  i64 position;  // kNoPosition in an empty slot
};
constexpr i64 kNoPosition = -1;

// The slot where the search for a key begins. It is part of a table's format: tables are kept.
QUERN_DEVICE u32 home(i64 key, u32 mask) {
  constexpr u64 kGoldenRatio = 0x9e3779b97f4a7c15;  // 2^64 over it
  u64 x = static_cast<u64>(key);
  x = (x ^ (x >> 32)) * kGoldenRatio;
  x = (x ^ (x >> 29)) * kGoldenRatio;
  return static_cast<u32>(x >> 32) & mask;
}

QUERN_DEVICE u32 slot_after(u32 slot, u32 mask) { return (slot + 1) & mask; }

// ---- Searching: in kernels, and on the host

// In accesses of so many bytes, 8 or 16, to which the table must be aligned. No thread may write the table meanwhile.
template <int Access = 16>
QUERN_DEVICE Entry read_entry(const void* table, u32 slot) {
  const u8* at = static_cast<const u8*>(table) + static_cast<u64>(slot) * sizeof(Entry);
  Vector<16> bits = {};
  QUERN_UNROLL for (int i = 0; i < 16 / Access; ++i, at += Access)
      common::put_piece(bits, i, load<Access, LoadHint::keep>(at));
  return common::bit_cast<Entry>(bits);
}

// Continues a search at a slot that was read: so a thread can begin several searches before it waits for one.
template <int Access = 16>
QUERN_DEVICE i64 find_from(const void* table, u32 mask, i64 key, u32 slot, Entry entry) {
  for (u32 left = mask; entry.position >= 0 && entry.key <= key; --left) {
    if (entry.key == key) return entry.position;
    if (left == 0) break;  // no slot is empty
    slot = slot_after(slot, mask);
    entry = read_entry<Access>(table, slot);
  }
  return kNoPosition;
}

// The position of the key, or kNoPosition. COST: of a table that is at most half full 1.5 reads on average, each of one
// entry at random.
template <int Access = 16>
QUERN_DEVICE i64 find(const void* table, u32 mask, i64 key) {
  const u32 slot = home(key, mask);
  return find_from<Access>(table, mask, key, slot, read_entry<Access>(table, slot));
}

// ---- Inserting: in kernels

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

// Adds the key at `position` to a table of words: a word is a position plus 1, or 0 in an empty slot, and its key is
// `key_at(position)`. Any number of threads may insert at once. Of equal keys the smallest position stays.
// REQUIRES: fewer different keys than slots.
//
// A thread swaps its key for a larger one that it meets, and goes on with that one. So the key of a slot only ever
// becomes smaller: what a thread has passed stays passed, and two threads with equal keys meet in one slot.
template <class KeyAt>
QUERN_DEVICE void insert(u32* words, u32 mask, const KeyAt& key_at, u32 position) {
  u32 word = position + 1;
  i64 key = key_at(position);
  u32 slot = home(key, mask), found = common::load_relaxed(words + slot);
  const auto go_on = [&] {
    slot = slot_after(slot, mask);
    found = common::load_relaxed(words + slot);
  };
  for (;;) {
    const i64 other = found == 0 ? key : key_at(found - 1);
    if (other < key) {
      go_on();
      continue;
    }
    if (other == key && found != 0 && found < word) return;
    const u32 before = atomicCAS(words + slot, found, word);
    if (before != found) {
      found = before;
      continue;
    }
    if (other == key) return;
    word = found;
    key = other;
    go_on();
  }
}

#endif

}  // namespace quern::hash

#endif  // QUERN_HASH_TABLE_CUH_
