// gather: out[i, :] = source[index[i], :], any row length, stride, alignment and element type.
#ifndef QUERN_GATHER_H_
#define QUERN_GATHER_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"

namespace quern {

// What an index that names no row of `source` means. All but the first two need `rows`.
enum class GatherMode : std::uint8_t {
  assume_valid,       // every index is in [0, rows); anything else is undefined
  minus_one_is_zero,  // -1 gives a zero row, the others are in range
  zero,               // outside [0, rows): a zero row
  clamp,              // outside: the nearest row
  wrap_negative,      // [-rows, 0) counts from the end, as in Python; the others are in range
  trap,               // outside: the kernel asserts; the context is then lost (CUDA_ERROR_ASSERT)
  report,             // outside: a zero row, and *report becomes the lowest such position
};

// Pointers to device memory; see Operand in family.h for ownership.
struct GatherArgs {
  In source = {};   // [rows, width] of dtype, rows source_stride elements apart
  In index = {};    // [count]
  In scale = {};    // [count], where the problem has scale
  Out out = {};     // [count, width] of dtype, rows out_stride elements apart; must not overlap the inputs
  Out report = {};  // one i64 for mode report; the caller sets it to -1, and it stays -1 if every index was good
  std::int64_t rows = kOpen;
  std::int64_t count = kOpen;
};

// The bytes are moved as they are, NaN payloads included. With a scale each element is multiplied in fp32 (f64 in f64)
// and rounded once to nearest even; e4m3 and e5m2 saturate.
struct Gather {
  using Args = GatherArgs;

  std::int64_t rows = kOpen;   // of source; may stay open where the mode does not need it
  std::int64_t count = kOpen;  // of index and out
  std::int64_t width = 4096;   // elements a row
  DType dtype = DType::bf16;
  DType index = DType::i64;
  GatherMode mode = GatherMode::assume_valid;
  DType scale = DType::none;       // f32, f16 or bf16: multiply row i by scale[i]
  std::int64_t source_stride = 0;  // elements; 0: width
  std::int64_t out_stride = 0;

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_GATHER_H_
