// The kernel's parameter structs. Read by host and kernel.
#ifndef QUERN_POINTWISE_PARAMS_H_
#define QUERN_POINTWISE_PARAMS_H_

#include "common/slots.cuh"
#include "pointwise/pointwise_choices.h"
#include "rows/sums.cuh"

namespace quern::pointwise {

using quern::Spread;

struct Params {
  const void* x;
  const void* y;
  // Flat form with broadcasts: a row is a cycle, of which there is one in each group of as many as a thread has slots.
  common::Slots slots;
  const void* bias;
  void* out;
  long long x_stride;  // elements between rows
  long long y_stride;
  long long out_stride;
  long long width;  // of a row; of all rows together if the kernel processes them as one row
  common::Divisor32 by_period;
  float multiplier;
  float alpha;
  long long period;          // the problem's width of a row, after which broadcasts repeat
  unsigned cycle_rows;       // flat form with broadcasts: the fewest rows that are whole slots together
  unsigned tail_block;       // flat form: the block that has the operands' last slot, if that is not whole
  common::Divisor by_cycle;  // of slots
};

// Of a program. Its operands and numbers are as many as it has: the host writes the parts one after the other.
struct ProgramShape {
  long long width;   // as in Params, like the others
  long long period;  // elements between rows of full operands, too: they are packed
  common::Divisor32 by_period;
  unsigned cycle_rows;
  unsigned tail_block;
  common::Divisor by_cycle;
};
template <int N>
struct ProgramOperands {
  common::Slots slots;
  void* operands[N];  // the inputs, then the outputs
};
template <int N>
struct ProgramNumbers {
  float numbers[N];
};
template <int Operands, int Numbers>
struct ProgramParams : ProgramOperands<Operands>, ProgramShape, ProgramNumbers<Numbers> {};

// Of a program with reductions: whose rows a thread block has, and its sums on their way to other blocks, in words that
// are 0 between launches.
struct ReductionShape {
  long long rows;
  long long rows_with_scales;  // blocked ones, with their padding
  int width;
  int segments;     // of a row
  unsigned groups;  // of a row's segments: one, or side by side in as many blocks
  common::Divisor32 by_groups;
  long long rows_of_block;
  unsigned chunks;    // of so many rows, one below the other
  unsigned* columns;  // [sums over rows, chunks, width], then [sums over rows, groups of chunks, width]
  unsigned* totals;   // [sums over all, blocks]
  unsigned* arrived;  // [groups, groups of chunks + 1], then one of all blocks
};
template <int N>
struct ReductionOperands {
  ReductionShape shape;
  void* operands[N];  // the inputs, then the outputs, then the scales
};
template <int Operands, int Numbers>
struct ReductionParams : ReductionOperands<Operands>, ProgramNumbers<Numbers> {};

// Of pass=backward.
struct BackwardParams {
  const void* x;
  long long x_stride;  // elements between rows; of the gradients too
  common::Slots slots;
  const void* gradient;
  long long gradient_stride;
  void* x_gradient;
  int width;
  float multiplier;
  float alpha;
  const void* y;
  long long y_stride;
  const void* bias;
  void* y_gradient;
  void* bias_gradient;
  void* multiplier_gradient;
  long long rows;
  rows::TileSums sums;
};

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_PARAMS_H_
