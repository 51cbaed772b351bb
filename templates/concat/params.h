// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_CONCAT_PARAMS_H_
#define QUERN_CONCAT_PARAMS_H_

#include "common/device.cuh"

namespace quern::concat {

// A slot is one access: `vector` bytes. Columns and widths are counted in slots.

// A part of the matrix that is cut into tiles: all of it in the layout columns, the rows of one source in flat. A tile
// has `lanes` adjacent columns, a power of two, one for each of as many adjacent threads.
struct Block {
  unsigned long long matrix;  // the address of its first row
  long long rows;
  unsigned columns;
  unsigned last : 28;  // columns of the last row
  unsigned lanes_log2 : 4;
};

// What is put side by side; backward, what the matrix is split to.
struct Source {
  unsigned long long at;  // the address of column 0 of the block's row 0, if the source had that column
  long long stride;       // bytes
};

struct Pick {
  const void* index;
  long long rows;  // of the source
};

// `Most`, a power of two, is at least the number of sources, and a launch copies no more than these.
template <int Most, bool Flat, bool Indexed>
struct ParamsOf {
  long long matrix_stride;  // bytes; columns
  unsigned first[Most];     // a source's first column; flat: its first tile. Rising; after the last source 2^32 - 1
  Source sources[Most];
  Block blocks[Flat ? Most : 1];
  Pick picks[Indexed ? Most : 1];
};

}  // namespace quern::concat

#endif  // QUERN_CONCAT_PARAMS_H_
