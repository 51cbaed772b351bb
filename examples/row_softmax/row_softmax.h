// row_softmax: out[r, :] = softmax(x[r, :]). What the program sees of the family.
#ifndef EXAMPLES_ROW_SOFTMAX_H_
#define EXAMPLES_ROW_SOFTMAX_H_

#include <cstdint>

#include "quern/family.h"

namespace examples {

// What a launch gives.
struct RowSoftmaxArgs {
  quern::In x = {};                  // [rows, width] of dtype
  quern::Out out = {};               // [rows, width] of dtype; must not overlap x
  std::int64_t rows = quern::kOpen;  // kOpen: as the problem says
};

struct RowSoftmax {
  using Args = RowSoftmaxArgs;

  std::int64_t rows = quern::kOpen;         // may stay open until the launch
  std::int64_t width = 4096;                // elements in a row
  quern::DType dtype = quern::DType::bf16;  // of x and out: f32, f16 or bf16

  static const quern::Family& family();
};

}  // namespace examples

#endif  // EXAMPLES_ROW_SOFTMAX_H_
