// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_MOE_MAP_PARAMS_H_
#define QUERN_MOE_MAP_PARAMS_H_

#include "common/divide.cuh"

namespace quern::moe_map {

// The most experts. A thread block has a thread for each.
constexpr int kMaxExperts = 1024;

struct Params {
  const void* map;
  const int* expert_map;
  void* counts;
  void* offsets;
  int* token_rows;
  int* token_experts;
  int* row_tokens;
  int* pads;
  int* totals;
  int* row_id_map;
  unsigned* table;  // workspace: [blocks, experts + 1], then a number of blocks
  long long tokens;
  unsigned block_tokens;  // of a thread block, a multiple of 32
  unsigned experts;
  unsigned valid;     // ids: the exclusive upper bound of expert ids
  unsigned counters;  // ids: warps that count routes, as many as shared memory has counters for
  unsigned topk;
  unsigned align;
  unsigned capacity;
  common::Divisor by_align;
  common::Divisor by_topk;
};

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_PARAMS_H_
