// What a radix sort of pairs is handed. Read by host and kernel.
#ifndef QUERN_SORT_BUFFERS_CUH_
#define QUERN_SORT_BUFFERS_CUH_

namespace quern::sort {

// Keys and values are below it; wide keys below its square. In the workspace it is a flag: see Pass.
constexpr unsigned kFlag = 0x80000000u;
constexpr int kFlagBit = 31;

// Keys and the values that travel with them.
struct Pairs {
  unsigned* keys;
  unsigned* values;
  unsigned* highs = nullptr;  // of wide keys what is above 31 bits
};

// Pairs as words of 8 bytes, of which the key is the low one.
struct Spare {
  unsigned long long* pairs;
  unsigned* highs = nullptr;  // of wide keys
};

// A kernel's parameters derive from it.
struct Buffers {
  Pairs out;
  Spare spare[2];     // workspace: what all passes but the last write, in turn
  unsigned* table;    // workspace: [passes, blocks, digits], each count plus 1
  unsigned* ended;    // workspace: a number of blocks
  unsigned* barrier;  // workspace
  unsigned count;
  unsigned block_items;  // of a thread block
  unsigned passes;
};

}  // namespace quern::sort

#endif  // QUERN_SORT_BUFFERS_CUH_
