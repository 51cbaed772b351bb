// Where a token's keys and values are placed in a cache.
#ifndef QUERN_ROPE_CACHE_CUH_
#define QUERN_ROPE_CACHE_CUH_

#include "rope/position.cuh"

namespace quern::rope {

constexpr bool kHasCache = spec::cache != RopeCache::none;

// Of a token in a tensor; in a cache its batch is a page.
struct Place {
  i64 batch;
  i64 token;
  bool exists;
};

constexpr Place kNowhere = {0, 0, false};

QUERN_DEVICE Place place_of_slot(const Params& p, i64 slot) {
  if (slot < 0) return kNowhere;
  const i64 page = static_cast<i64>(divide(static_cast<u64>(slot), p.by_page));
  return page < p.cache_pages ? Place{page, slot - page * p.page_size, true} : kNowhere;
}

QUERN_DEVICE Place place_in_pages(const Params& p, i64 batch, i64 position) {
  if (position < 0) return kNowhere;
  const i64 number = static_cast<i64>(divide(static_cast<u64>(position), p.by_page));
  if (number >= p.max_pages) return kNowhere;
  const i64 page = bit_cast<i32>(load<4, LoadHint::keep>(p.pages + batch * p.max_pages + number));
  return page >= 0 && page < p.cache_pages ? Place{page, position - number * p.page_size, true} : kNowhere;
}

// Of a token that is at `here` in q and k.
QUERN_DEVICE Place place_in_cache(const Params& p, const Position& position, const Place& here) {
  if (!position.exists) return kNowhere;  // of no sequence, which has no pages
  if constexpr (spec::cache == RopeCache::slots) {
    return place_of_slot(p, read_integer(p.slots_of_tokens, here.batch * p.seq + here.token));
  }
  const i64 number = position.numbers[0];
  if constexpr (spec::cache == RopeCache::pages) return place_in_pages(p, position.batch, number);
  return number >= 0 && number < p.page_size ? Place{position.batch, number, true} : kNowhere;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_CACHE_CUH_
