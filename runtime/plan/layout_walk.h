// Iteration over the elements of a layout, in the order of their indices or of their addresses.
#ifndef QUERN_PLAN_LAYOUT_WALK_H_
#define QUERN_PLAN_LAYOUT_WALK_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "quern/family.h"

namespace quern {

using Index = std::array<std::int64_t, kMaxRank>;

// The same elements with contiguous dimensions merged: fewer and longer runs.
inline Layout merged(const Layout& layout) {
  Layout out = layout;
  out.rank = 0;
  for (int d = 0; d < layout.rank; ++d) {
    if (layout.extents[d] == 1) continue;  // its stride has no effect
    const bool inner = out.rank > 0 && out.strides[out.rank - 1] == layout.extents[d] * layout.strides[d];
    const int to = inner ? out.rank - 1 : out.rank++;
    out.extents[to] = (inner ? out.extents[to] : 1) * layout.extents[d];
    out.strides[to] = layout.strides[d];
  }
  return out.rank == 0 && layout.rank > 0 ? Layout::list(layout.dtype, 1) : out;
}

// Calls f(offset in elements, number of contiguous elements, index-order number of the first one) for each contiguous
// run.
template <class F>
void for_each_run(const Layout& given, F f) {
  const Layout layout = merged(given);
  const std::int64_t all = layout.elements();
  if (all == 0) return;
  const int last = layout.rank - 1;
  const std::int64_t length = layout.strides[last] == 1 ? layout.extents[last] : 1;
  Index index{};
  for (std::int64_t number = 0; number < all; number += length) {
    std::int64_t offset = 0;
    for (int d = 0; d < layout.rank; ++d) offset += index[static_cast<std::size_t>(d)] * layout.strides[d];
    f(offset, length, number);
    for (int d = length == 1 ? last : last - 1; d >= 0; --d) {
      if (++index[static_cast<std::size_t>(d)] < layout.extents[d]) break;
      index[static_cast<std::size_t>(d)] = 0;
    }
  }
}

// The index of the element with this number.
inline Index index_of(const Layout& layout, std::int64_t number) {
  Index index{};
  for (int d = layout.rank - 1; d >= 0; --d) {
    index[static_cast<std::size_t>(d)] = number % layout.extents[d];
    number /= layout.extents[d];
  }
  return index;
}

// "1, 2" of the first `count` dimensions.
inline std::string index_text(const Index& index, int count) {
  std::string text;
  for (int d = 0; d < count; ++d) text += (d == 0 ? "" : ", ") + std::to_string(index[static_cast<std::size_t>(d)]);
  return text;
}

// The dimensions from the largest stride to the smallest: the order of addresses, where no elements coincide.
inline std::array<int, kMaxRank> by_stride(const Layout& layout) {
  std::array<int, kMaxRank> order{};
  for (int d = 0; d < layout.rank; ++d) order[static_cast<std::size_t>(d)] = d;
  std::stable_sort(order.begin(), order.begin() + layout.rank,
                   [&](int a, int b) { return layout.strides[a] > layout.strides[b]; });
  return order;
}

// The layout with its dimensions in the order of addresses.
inline Layout in_memory_order(const Layout& layout) {
  Layout out = layout;
  const auto order = by_stride(layout);
  for (int d = 0; d < layout.rank; ++d) {
    out.extents[d] = layout.extents[order[static_cast<std::size_t>(d)]];
    out.strides[d] = layout.strides[order[static_cast<std::size_t>(d)]];
  }
  return out;
}

// The element at an offset in elements, or the last one before it. REQUIRES: an offset within the span.
struct ElementAt {
  Index index{};
  bool in_gap = false;  // the offset is past that element, in a gap
};
inline ElementAt element_at(const Layout& layout, std::int64_t offset) {
  ElementAt found;
  const auto order = by_stride(layout);
  for (int i = 0; i < layout.rank; ++i) {
    const int d = order[static_cast<std::size_t>(i)];
    if (layout.strides[d] == 0) continue;
    const std::int64_t at = std::min(offset / layout.strides[d], layout.extents[d] - 1);
    found.index[static_cast<std::size_t>(d)] = at;
    offset -= at * layout.strides[d];
  }
  found.in_gap = offset != 0;
  return found;
}

}  // namespace quern

#endif  // QUERN_PLAN_LAYOUT_WALK_H_
