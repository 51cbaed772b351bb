// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_INDEX_SORT_PARAMS_H_
#define QUERN_INDEX_SORT_PARAMS_H_

namespace quern::index_sort {

// The most bits of a digit.
constexpr int kMostBits = 8;
// A key or a position is below it. In the workspace it is a flag: see Pass.
constexpr unsigned kFlag = 0x80000000u;

// Keys and the positions that they had in `index`.
struct Pairs {
  unsigned* keys;
  unsigned* positions;
};

struct Params {
  const void* index;
  Pairs out;          // sorted and order
  Pairs spare[2];     // workspace: what all passes but the last write, in turn
  unsigned* table;    // workspace: [passes, blocks, digits], each count plus 1
  unsigned* ended;    // workspace: a number of blocks
  unsigned* barrier;  // workspace
  long long rows;
  unsigned count;
  unsigned block_items;  // of a thread block, a multiple of 32
  unsigned passes;
};

}  // namespace quern::index_sort

#endif  // QUERN_INDEX_SORT_PARAMS_H_
