// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_GLU_PARAMS_H_
#define QUERN_GLU_PARAMS_H_

#include "common/slots.cuh"
#include "glu/gated.cuh"

namespace quern::glu {

// The sums of gradients are taken over tiles of so many rows and columns of out. A chunk is 32 tiles, one below the
// other.
constexpr int kTileRows = 128;
constexpr int kTileColumns = 256;
constexpr int kTileThreads = 256;
constexpr int kChunkTiles = 32;
constexpr int kTileSharedBytes = kTileThreads / 32 * 2 * kTileColumns * 4;  // the columns' sums of each warp

// What blocks tell each other, as words that are 0 between launches.
struct Sums {
  unsigned* tiles;         // [tiles, 2, width]
  unsigned* chunks;        // [chunks, 2, width]
  unsigned* arrived;       // [strips of 32 columns, chunks + 1]
  unsigned* rows;          // [segments, rows]
  unsigned* arrived_rows;  // [16 rows each]
  unsigned segments;       // of a row: tiles side by side
  common::Divisor32 by_segments;
};

struct Params {
  const void* x;
  const void* gate;
  const void* bias;
  const void* scale;
  const void* counts;
  const void* gradient;
  void* out;
  void* x_gradient;
  void* gate_gradient;
  void* bias_gradient;
  void* scale_gradient;
  const void* given_scale;
  void* scales;
  long long x_stride;  // elements between rows
  long long out_stride;
  long long gradient_stride;
  long long x_gradient_stride;
  long long rows;  // of all groups
  long long group_rows;
  int width;
  int line;  // numbers of a row of what is quantized
  GateNumbers numbers;
  common::Divisor by_rows;  // of a group
  common::Slots slots;
  Sums sums;
};

}  // namespace quern::glu

#endif  // QUERN_GLU_PARAMS_H_
