// An item of a sort, a key and the value that travels with it, and the words that it has in memory: a pair, and of a
// wide key another word for the bits from 31 on.
#ifndef QUERN_SORT_ITEM_CUH_
#define QUERN_SORT_ITEM_CUH_

#include "common/shared.cuh"
#include "common/sync.cuh"
#include "common/vector.cuh"
#include "sort/buffers.cuh"
#include "spec.cuh"

namespace quern::sort {

using namespace common;

struct NarrowItem {
  u32 key;
  u32 value;
};
struct WideItem {
  u32 key;  // its lowest 31 bits
  u32 value;
  u32 high;
};

template <bool Wide>
struct TypesOf {
  using Key = u32;
  using Item = NarrowItem;
};
template <>
struct TypesOf<true> {
  using Key = u64;
  using Item = WideItem;
};
using Key = TypesOf<spec::wide_keys>::Key;
using Item = TypesOf<spec::wide_keys>::Item;

QUERN_DEVICE NarrowItem item_of(u32 key, u32 value) { return {key, value}; }
QUERN_DEVICE WideItem item_of(u64 key, u32 value) {
  return {static_cast<u32>(key) & ~kFlag, value, static_cast<u32>(key >> kFlagBit)};
}

// The key's bits from `shift` on.
QUERN_DEVICE u32 bits_from(const NarrowItem& item, u32 shift) { return item.key >> shift; }
QUERN_DEVICE u32 bits_from(const WideItem& item, u32 shift) {
  return static_cast<u32>((static_cast<u64>(item.high) << kFlagBit | item.key) >> shift);
}

// ---- In a buffer. The highest bit of the words of a key says whether they are there: it is that of `flag`.

QUERN_DEVICE bool is_missing(u32 word, u32 flag) { return ((word ^ flag) & kFlag) != 0; }
QUERN_DEVICE bool is_missing(const NarrowItem& item, u32 flag) { return is_missing(item.key, flag); }
QUERN_DEVICE bool is_missing(const WideItem& item, u32 flag) {
  return is_missing(item.key, flag) || is_missing(item.high, flag);
}

QUERN_DEVICE void set_missing(NarrowItem& item, u32 flag) { item.key = flag ^ kFlag; }
QUERN_DEVICE void set_missing(WideItem& item, u32 flag) { item.key = item.high = flag ^ kFlag; }

QUERN_DEVICE void load_item(const Spare& from, u64 i, u32, NarrowItem& item) {
  const u64 pair = load_relaxed(from.pairs + i);
  item = {static_cast<u32>(pair), static_cast<u32>(pair >> 32)};
}
QUERN_DEVICE void load_item(const Spare& from, u64 i, u32 flag, WideItem& item) {
  if (is_missing(item.high, flag)) item.high = load_relaxed(from.highs + i);
  if (!is_missing(item.key, flag)) return;
  const u64 pair = load_relaxed(from.pairs + i);
  item.key = static_cast<u32>(pair);
  item.value = static_cast<u32>(pair >> 32);
}

QUERN_DEVICE void remove_flag(NarrowItem& item) { item.key &= ~kFlag; }
QUERN_DEVICE void remove_flag(WideItem& item) {
  item.key &= ~kFlag;
  item.high &= ~kFlag;
}

QUERN_DEVICE void store_item(const Spare& to, u64 i, const NarrowItem& item, u32 flag) {
  store_relaxed(to.pairs + i, static_cast<u64>(item.value) << 32 | item.key | flag);
}
QUERN_DEVICE void store_item(const Spare& to, u64 i, const WideItem& item, u32 flag) {
  store_item(to, i, NarrowItem{item.key, item.value}, flag);
  store_relaxed(to.highs + i, item.high | flag);
}

// ---- In the result.

QUERN_DEVICE void store_item(const Pairs& to, u32 i, const NarrowItem& item) {
  store_relaxed(to.keys + i, item.key);
  store_relaxed(to.values + i, item.value);
}
QUERN_DEVICE void store_item(const Pairs& to, u32 i, const WideItem& item) {
  store_item(to, i, NarrowItem{item.key, item.value});
  store_relaxed(to.highs + i, item.high);
}

// ---- In shared memory: pair i, and high word i.

QUERN_DEVICE void stage_item(u8* pair, u8*, const NarrowItem& item) {
  store_shared<8>(pair, Vector<8>{{item.key, item.value}});
}
QUERN_DEVICE void stage_item(u8* pair, u8* high, const WideItem& item) {
  store_shared<8>(pair, Vector<8>{{item.key, item.value}});
  store_shared<4>(high, Vector<4>{{item.high}});
}
QUERN_DEVICE void load_staged(const u8* pair, const u8*, NarrowItem& item) {
  const Vector<8> words = load_shared<8>(pair);
  item = {words.w[0], words.w[1]};
}
QUERN_DEVICE void load_staged(const u8* pair, const u8* high, WideItem& item) {
  const Vector<8> words = load_shared<8>(pair);
  item = {words.w[0], words.w[1], load_shared<4>(high).w[0]};
}

}  // namespace quern::sort

#endif  // QUERN_SORT_ITEM_CUH_
