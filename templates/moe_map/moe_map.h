// moe_map: from the experts of each token to rows: where each token's copies go, grouped by expert, and back.
//
// Rows are by expert, inside of an expert by token, and inside of a token in the order of its routes. The rows of an
// expert are padded to a multiple of `align`. The host learns no count: sizes follow from `capacity`, and what is
// counted stays on the device.
#ifndef QUERN_MOE_MAP_H_
#define QUERN_MOE_MAP_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/moe_choices.h"

namespace quern {

struct MoeMapArgs {
  In map = {};             // the routes, of `index`, see MoeMapKind
  In expert_map = {};      // global > 0, [global] of i32: which of `experts` has this number everywhere, or -1
  Out counts = {};         // [experts] of `offset`: routes of each
  Out offsets = {};        // [experts + 1] of `offset`: the first row of each, and the end of the last
  Out token_rows = {};     // [tokens, topk] of i32: the row of each route; -1 without one or behind the capacity
  Out token_experts = {};  // mask and bits, [tokens, topk] of i32: the expert of each route, or -1
  Out row_tokens = {};     // [capacity] of i32: the token of each row; -1 in those without one
  Out pads = {};           // align > 1 or tail=list, [capacity] of i32: the rows that have no token; then -1
  Out totals = {};         // [3] of i32: rows, which may be more than the capacity; entries of `pads` before the first
                           // -1; routes that have no row: behind the capacity or, of a mask, more than topk of a token
  Out row_id_map = {};  // row_id_map=write, [tokens, 2 * experts + 1] of i32: the map of TransformerEngine. The rows as
                        // without padding, from the last to the first, from column `experts` on their experts, in
                        // the last column how many there are; the rest is -1
  Out workspace = {};   // its scratch memory: zeros, which each launch restores; one launch at a time
  std::int64_t tokens = kOpen;
};

// COST: the map is read twice, from memory once. One launch, in which thread blocks wait for each other once; none if
// there are few tokens.
struct MoeMap {
  using Args = MoeMapArgs;

  std::int64_t tokens = kOpen;
  std::int64_t experts = 8;  // up to 1024
  std::int64_t topk = 2;     // routes of a token, at most
  MoeMapKind map = MoeMapKind::ids;
  DType index = DType::none;  // of the map; ids: i32, or i64; mask: u8, or i32; bits: u8. none: the first of them
  std::int64_t global = 0;    // ids: experts everywhere, of which expert_map says those here; 0: no expert_map
  std::int64_t align = 1;     // rows
  MoeEmpty empty = MoeEmpty::none;
  std::int64_t capacity = 0;  // rows; 0: as many as any routing can need
  MoeTail tail = MoeTail::leave;
  DType offset = DType::i32;  // of counts and offsets: i32 or i64
  MoeRowIdMap row_id_map = MoeRowIdMap::none;

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_MOE_MAP_H_
