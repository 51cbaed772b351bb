// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_MOE_MAP_PARAMS_H_
#define QUERN_MOE_MAP_PARAMS_H_

#include "common/divide.cuh"

namespace quern::moe_map {

// The most experts. A warp has up to 32 of them, one a lane.
constexpr int kMaxExperts = 1024;

// The most counts: a block has a table of them.
constexpr int kMaxRuns = 4096;

// Where an array begins in the shared memory of a block, in words. The sums of warps are at 0.
struct Places {
  unsigned experts;
  unsigned padding;
  unsigned counters;
  unsigned lists;
  unsigned rows;
  unsigned runs;  // counts: two words of each run, and one
};

struct Params {
  const void* map;
  const int* expert_map;
  void* counts;
  void* offsets;
  void* sizes;
  int* token_rows;
  int* token_experts;
  int* row_tokens;
  int* pads;
  int* totals;
  int* row_id_map;
  int* table;  // workspace: [blocks, a multiple of 32 experts], then a number of blocks, then [blocks]
  long long tokens;
  unsigned block_tokens;  // of a thread block
  unsigned experts;
  unsigned valid;   // ids: the exclusive upper bound of expert ids
  unsigned batch;   // masks: routes that a warp lists at once, of whole tokens
  unsigned list;    // masks: words of a warp's list
  unsigned staged;  // one block: 1 if row_tokens is written to shared memory first
  unsigned topk;
  unsigned align;
  unsigned capacity;
  unsigned ranks;        // counts
  unsigned runs;         // ranks times experts
  unsigned warp_tokens;  // of a warp of the grid
  Places places;
  common::Divisor32 by_align;
  common::Divisor32 by_topk;
};

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_PARAMS_H_
