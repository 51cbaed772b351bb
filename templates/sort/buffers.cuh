// What a radix sort of pairs is handed. Read by host and kernel.
#ifndef QUERN_SORT_BUFFERS_CUH_
#define QUERN_SORT_BUFFERS_CUH_

namespace quern::sort {

// Keys and values are below it. In the workspace it is a flag: see Pass.
constexpr unsigned kFlag = 0x80000000u;

// Keys and the values that travel with them.
struct Pairs {
  unsigned* keys;
  unsigned* values;
};

// A kernel's parameters derive from it.
struct Buffers {
  Pairs out;
  unsigned long long*
      spare[2];       // workspace: pairs that all passes but the last write, in turn; the key is the low word
  unsigned* table;    // workspace: [passes, blocks, digits], each count plus 1
  unsigned* ended;    // workspace: a number of blocks
  unsigned* barrier;  // workspace
  unsigned count;
  unsigned block_items;  // of a thread block
  unsigned passes;
};

}  // namespace quern::sort

#endif  // QUERN_SORT_BUFFERS_CUH_
