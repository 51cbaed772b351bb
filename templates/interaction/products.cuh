// Which products a row of out has, of all or of those in the upper triangle, and where each is.
#ifndef QUERN_INTERACTION_PRODUCTS_CUH_
#define QUERN_INTERACTION_PRODUCTS_CUH_

#include "interaction/numbers.cuh"

namespace quern::interaction {

constexpr u32 kOffDiagonal = spec::diagonal ? 0 : 1;

// The first j of the products of i.
QUERN_DEVICE u32 first_of_row(u32 i) { return spec::upper ? i + kOffDiagonal : 0; }

QUERN_DEVICE u32 products_of(u32 width) {
  return spec::upper ? width * (width + 1) / 2 - kOffDiagonal * width : width * width;
}

// Where the product of i and 0 is, or would be. It may be before the row of out.
QUERN_DEVICE i64 row_place(u32 i, u32 width) {
  const i64 n = i;
  return spec::upper ? n * (width - kOffDiagonal) - n * (n - 1) / 2 - first_of_row(i) : n * width;
}

struct Product {
  u32 i;
  u32 j;
};

QUERN_DEVICE u32 triangle(u32 n) { return n * (n + 1) / 2; }

// From the last product on, the rows of the triangle have 1, 2, 3 … products. A root in fp32 is wrong by one at most.
QUERN_DEVICE Product product_of_triangle(u32 width, u32 place) {
  const u32 from_end = products_of(width) - 1 - place;
  u32 row = static_cast<u32>((sqrtf(8.0f * static_cast<float>(from_end) + 1.0f) - 1.0f) * 0.5f);
  if (triangle(row) > from_end) --row;
  if (triangle(row + 1) <= from_end) ++row;
  return {width - 1 - kOffDiagonal - row, width - 1 - (from_end - triangle(row))};
}

QUERN_DEVICE Product product_at(const Params& p, u32 width, u32 place) {
  if constexpr (spec::upper) return product_of_triangle(width, place);
  const u32 i = divide32(place, p.per_row);
  return {i, place - i * width};
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_PRODUCTS_CUH_
