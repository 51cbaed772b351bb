// skeleton: out[r] = the sum of x[r, :], in fp32. The family to copy: docs/adding-a-family.md walks through it.
//
// The header that applications include: the problem, its arguments, and access to the descriptor.
#ifndef QUERN_SKELETON_H_
#define QUERN_SKELETON_H_

#include <cstdint>

#include "quern/family.h"

namespace quern {

// The arguments of a launch: pointers to device memory, extents that the problem left open, run-time numbers (floats).
// Each member has a default, so that a compiler does not warn if a caller omits one.
struct SkeletonArgs {
  In x = {};                  // [rows, width] of dtype
  Out out = {};               // [rows] of f32; must not overlap x
  std::int64_t rows = kOpen;  // kOpen: as the problem says
};

// The problem as the caller describes it: shapes, types, options. A standard-layout aggregate of at most
// kMaxProblemBytes bytes; every member has a default and a row in the family's field table. The name is the folder's in
// CamelCase.
struct Skeleton {
  using Args = SkeletonArgs;

  std::int64_t rows = kOpen;  // may stay open until the launch, so one plan serves any number of rows
  std::int64_t width = 4096;  // elements in a row
  DType dtype = DType::bf16;  // of x: f32, f16 or bf16

  QUERN_API static const Family& family();  // exported, so that applications find it in libquern.so
};

}  // namespace quern

#endif  // QUERN_SKELETON_H_
