// moe_map: the row of each token copy in a matrix that is grouped by expert, from a routing of tokens to experts.
//
// Rows are sorted by expert, then by token, then by the order of a token's routes. The rows of an expert are padded to
// a multiple of `align`. Nothing is read on the host: sizes follow from `capacity`, counts stay on the device.
//
// torchtitan's generate_permute_indices is map=counts topk=1 empty=fill: its permuted_indices is row_tokens, its
// m_sizes is sizes, and its m_offsets are the entries of offsets after the first.
#ifndef QUERN_MOE_MAP_H_
#define QUERN_MOE_MAP_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/moe_choices.h"

namespace quern {

// A route is a pair of a token and an expert.
struct MoeMapArgs {
  In map = {};             // the routing, of `index`; see MoeMapKind
  In expert_map = {};      // global > 0, [global] of i32: global expert id to local expert; -1: on another device
  Out counts = {};         // [experts] of `offset`: routes of each expert, before any is dropped
  Out offsets = {};        // [experts + 1] of `offset`: the first row of each expert, then the end of the last
  Out sizes = {};          // counts, [experts] of `offset`: rows of each expert, padding among them
  Out token_rows = {};     // [tokens, topk] of i32: the row of each route; -1: no route, or dropped
  Out token_experts = {};  // mask and bits, [tokens, topk] of i32: the expert of each route; -1: no route
  Out row_tokens = {};     // [capacity] of i32: the token of each row; -1 in padding and unused rows
  Out pads = {};        // align > 1, empty=fill or tail=list, [capacity] of i32: the padding rows, ascending, then -1
  Out totals = {};      // [3] of i32: rows that the routing needs, which may exceed the capacity; padding rows in
                        // `pads`; dropped routes: beyond the capacity, beyond the topk-th of a token in a mask, or of
                        // counts that exceed `tokens`
  Out row_id_map = {};  // row_id_map=write, [tokens, 2 * experts + 1] of i32: TransformerEngine's. A token's rows for
                        // align=1, descending; from column `experts` on their experts; in the last column their number;
                        // -1 elsewhere
  Out workspace =
      {};  // other than counts, scratch: zeros before the first launch; each launch restores them; one launch at a time
  std::int64_t tokens = kOpen;
};

// COST: one launch that reads the map once; twice, if it has more routes than the registers of all blocks hold.
// Cooperative: thread blocks wait for each other once; with few routes one thread block does it all. Of counts each
// block reads them all, and none waits.
struct MoeMap {
  using Args = MoeMapArgs;

  std::int64_t tokens = kOpen;
  std::int64_t experts = 8;  // up to 1024
  std::int64_t topk = 2;     // the most routes of a token; counts: 1
  MoeMapKind map = MoeMapKind::ids;
  DType index = DType::none;  // element type of the map; ids, counts: i32, i64; mask: u8, i32; bits: u8. none: the
                              // first one
  std::int64_t global = 0;    // ids: experts on all devices (expert parallelism); 0: ids are local, no expert_map
  std::int64_t ranks = 1;     // counts: ranks that the tokens come from; ranks times experts: up to 4096
  std::int64_t align = 1;     // rows
  MoeEmpty empty = MoeEmpty::none;
  std::int64_t capacity = 0;  // rows of the grouped matrix; 0: enough for any routing
  MoeTail tail = MoeTail::leave;
  DType offset = DType::i32;  // of counts and offsets: i32 or i64
  MoeRowIdMap row_id_map = MoeRowIdMap::none;

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MOE_MAP_H_
