// A lane's part of any element-aligned row: 16-byte aligned windows of out, as in rows/windows.cuh, from the first to
// the last whose reads stay in the row; and one element, or more, of what is before and after them.
#ifndef QUERN_GATHER_ROW_WINDOWS_CUH_
#define QUERN_GATHER_ROW_WINDOWS_CUH_

#include "gather/by_row.cuh"
#include "rows/windows.cuh"

namespace quern::gather {

constexpr u32 kElementBytes = spec::element_bytes;

// The windows of a row begin at byte `begin`. Their two aligned reads begin `offset` bytes earlier.
struct Middle {
  u32 begin;
  u32 count;
  u32 offset;
};

QUERN_DEVICE Middle middle_of(const Params& p, const RowPlace& place) {
  u32 begin = -static_cast<u32>(reinterpret_cast<u64>(place.out)) & 15u;
  const u32 offset = kReadsElements ? 0 : static_cast<u32>(reinterpret_cast<u64>(place.source.at(begin))) & 15u;
  begin += offset > begin ? 16 : 0;
  const i64 last = p.row_bytes - begin - (offset == 0 ? 16 : 32 - offset);  // where the last window may begin
  return {begin, last < 0 ? 0 : static_cast<u32>(last / 16) + 1, offset};
}

QUERN_DEVICE Vector<16> load_window(const RowPlace& place, const Middle& middle, u32 window, bool inside) {
  const i64 begin = middle.begin + i64{window} * 16;
  const bool wanted = inside && !place.source.zero;
  if constexpr (kReadsElements) return read_elements(wanted, place.source, begin);
  const auto low = load_if<16, kLoad>(wanted, place.source.at(begin - middle.offset));
  const auto high = load_if<16, kLoad>(wanted && middle.offset != 0, place.source.at(begin - middle.offset + 16));
  return realign(low, high, middle.offset);
}

// What is before the windows, and then what is after them; all of a row without windows.
struct Ends {
  u32 before;  // elements
  u32 count;   // elements of both
  i64 after;   // the byte after the windows
  QUERN_DEVICE i64 byte(u32 i) const {
    return i < before ? i64{i} * kElementBytes : after + i64{i - before} * kElementBytes;
  }
};

QUERN_DEVICE Ends ends_of(const Params& p, const Middle& middle) {
  if (middle.count == 0) return {0, static_cast<u32>(p.row_bytes) / kElementBytes, 0};
  const u32 before = middle.begin / kElementBytes;
  const i64 after = middle.begin + i64{middle.count} * 16;
  return {before, before + static_cast<u32>(p.row_bytes - after) / kElementBytes, after};
}

using End = Vector<spec::element_bytes>;

QUERN_DEVICE End load_end(const RowPlace& place, const Ends& ends, u32 i) {
  const bool wanted = i < ends.count && !place.source.zero;
  return load_if<spec::element_bytes>(wanted, place.source.at(ends.byte(i)));
}
QUERN_DEVICE void store_end(const Params& p, const RowPlace& place, const Ends& ends, u32 i, const End& element) {
  if (i < ends.count) store<spec::element_bytes>(place.out + ends.byte(i), scaled(p, place.row, element));
}

QUERN_DEVICE void move_middle(const Params& p, const RowPlace& place, const Middle& middle) {
#pragma unroll 1
  for (u32 first = place.lane; first < middle.count; first += kRowThreads * spec::unroll) {
    Vector<16> values[spec::unroll];
    for_columns(first, middle.count,
                [&](int i, u32 window, bool inside) { values[i] = load_window(place, middle, window, inside); });
    for_columns(first, middle.count, [&](int i, u32 window, bool inside) {
      u8* const to = place.out + middle.begin + i64{window} * 16;
      if (inside) store<16, kStore>(to, scaled(p, place.row, values[i]));
    });
  }
}

// Where a row's windows begin depends on its index.
QUERN_DEVICE bool has_part(const Params&, u32) { return true; }

// A lane's first element of the ends is in flight with its windows.
QUERN_DEVICE void move_row(const Params& p, const RowPlace& place) {
  const Middle middle = middle_of(p, place);
  const Ends ends = ends_of(p, middle);
  const End element = load_end(place, ends, place.lane);
  move_middle(p, place, middle);
  store_end(p, place, ends, place.lane, element);
#pragma unroll 1
  for (u32 i = place.lane + kRowThreads; i < ends.count; i += kRowThreads)
    store_end(p, place, ends, i, load_end(place, ends, i));
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_ROW_WINDOWS_CUH_
