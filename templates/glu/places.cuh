// Where the numbers of an element are in a row of x. Read by host and kernel.
#ifndef QUERN_GLU_PLACES_CUH_
#define QUERN_GLU_PLACES_CUH_

#include "common/device.cuh"
#include "glu/glu_choices.h"

namespace quern::glu {

using quern::GluLayout;

// The columns of a and g; with GluLayout::split of x and of gate. A row of x has at most 2^31 - 2 numbers.
struct Columns {
  int a;
  int g;
};

QUERN_DEVICE Columns columns_of(GluLayout layout, int block, int width, int column) {
  switch (layout) {
    case GluLayout::halves:
      return {column, width + column};
    case GluLayout::swapped:
      return {width + column, column};
    case GluLayout::interleaved:
      return {2 * column, 2 * column + 1};
    case GluLayout::blocks: {
      const int a = column + column / block * block;
      return {a, a + block};
    }
    case GluLayout::split:
      break;
  }
  return {column, column};
}

// The inverse: whose number a column of x has, and whether it is its a. Of another layout than split.
struct ElementPlace {
  int element;
  bool of_a;
};

QUERN_DEVICE ElementPlace element_of(GluLayout layout, int block, int width, int column) {
  const bool first = column < width;
  switch (layout) {
    case GluLayout::interleaved:
      return {column / 2, column % 2 == 0};
    case GluLayout::blocks: {
      const int parts = column / block, of_g = parts % 2;
      return {column - (parts + of_g) / 2 * block, of_g == 0};
    }
    default:
      return {first ? column : column - width, first == (layout == GluLayout::halves)};
  }
}

// In the bias and its gradient, which have both parts of `split` one after the other.
QUERN_DEVICE Columns bias_columns(GluLayout layout, int block, int width, int column) {
  return columns_of(layout == GluLayout::split ? GluLayout::halves : layout, block, width, column);
}

}  // namespace quern::glu

#endif  // QUERN_GLU_PLACES_CUH_
