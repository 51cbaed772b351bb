// chunk_sort: the chunks of a matrix's rows in another order, and the gradient of that.
//
// With expert parallelism rows arrive grouped by rank, then by expert; experts want them grouped by expert, then by
// rank. Sizes and order stay on the device.
#ifndef QUERN_CHUNK_SORT_H_
#define QUERN_CHUNK_SORT_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/moe_choices.h"

namespace quern {

struct ChunkSortArgs {
  In source = {};  // [rows, hidden]; backward: the gradient of the forward's out
  In sizes = {};   // [chunks] of `index`: the rows of each chunk of the forward's source, 0 or more
  In order = {};   // [chunks] of `index`, a permutation: chunk i of the forward's out is chunk order[i] of its source
  In probs = {};   // probs other than none, [rows]: a number for each row of source, which moves with it
  Out out = {};    // [rows, hidden]; must not overlap source
  Out out_probs = {};   // probs other than none, [rows]
  In scales = {};       // scaling other than none: the scales of source, [rows, scales], as in moe_permute
  Out out_scales = {};  // their copies, of the same shape
  std::int64_t rows = kOpen;
};

// Rows after the last chunk stay where they are, so all of out is written. If sizes are negative or add up to more than
// `rows`, or order is not a permutation, the contents of out are undefined, but no access is out of bounds.
// COST: one launch; each row is read once and written once.
struct ChunkSort {
  using Args = ChunkSortArgs;

  std::int64_t rows = kOpen;   // of source and out
  std::int64_t hidden = 4096;  // elements in a row
  std::int64_t chunks = 8;     // up to 4096
  MoePass pass = MoePass::forward;
  DType dtype = DType::bf16;              // f32, f16, bf16, e4m3, e5m2 or u8: moved as bits
  DType probs = DType::none;              // f32, f16 or bf16
  MoeScaling scaling = MoeScaling::none;  // of e4m3, e5m2 and u8
  DType index = DType::i32;               // of sizes and order: i32 or i64

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_CHUNK_SORT_H_
