// gather: out[i, :] = source[index[i], :], any row length, stride, alignment and element type; of one matrix or of
// several by the same index.
#ifndef QUERN_GATHER_H_
#define QUERN_GATHER_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/gather_choices.h"

namespace quern {

// Pointers to device memory; see Operand in family.h for ownership.
struct GatherArgs {
  In source = {};   // [outer, rows, width] of dtype, rows source_stride elements apart
  In index = {};    // [count]
  In scale = {};    // [count], where the problem has scale
  Out out = {};     // [outer, count, width] of dtype, rows out_stride elements apart; must not overlap the inputs
  Out report = {};  // one i64 for mode report; the caller sets it to -1, and it stays -1 if every index was good
  std::int64_t rows = kOpen;
  std::int64_t count = kOpen;
  std::int64_t outer = kOpen;
};

// The bytes are moved unchanged, NaN payloads included. With a scale each element is multiplied in fp32 (f64 in f64)
// and rounded once to nearest even; e4m3 and e5m2 saturate. The modes are in quern/gather_choices.h.
struct Gather {
  using Args = GatherArgs;

  std::int64_t rows = kOpen;   // of source; may stay open where the mode does not need it and outer is 1
  std::int64_t count = kOpen;  // of index and out
  std::int64_t width = 4096;   // elements per row
  DType dtype = DType::bf16;
  DType index = DType::i64;
  GatherMode mode = GatherMode::assume_valid;
  DType scale = DType::none;       // f32, f16 or bf16: multiply row i by scale[i]
  std::int64_t source_stride = 0;  // elements; 0: width
  std::int64_t out_stride = 0;
  std::int64_t outer = 1;  // matrices whose rows the index picks: out[o, i, :] = source[o, index[i], :]

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_GATHER_H_
