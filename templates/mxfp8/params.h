// The kernel's parameter structs. Read by host and kernel.
#ifndef QUERN_MXFP8_PARAMS_H_
#define QUERN_MXFP8_PARAMS_H_

#include "common/slots.cuh"
#include "mx/mx_choices.h"
#include "mx/scale_params.cuh"
#include "mxfp8/mxfp8_choices.h"

namespace quern::mxfp8 {

using Block = MxBlock;
using Prologue = Mxfp8Prologue;

using mx::kAtomBytes;

// The problem from the quantizers' point of view: for each expert a matrix of `rows` rows of `cols` contiguous
// elements. Blocks lie along the rows (row direction), across them (col direction), or both.
//
// What a plain call reads is in the first two lines, see common::Slots.
struct Params {
  const void* source;
  long long cols;
  long long source_stride;  // elements from a row to the next
  long long rows;
  const void* noop;      // a float; 1: nothing is done
  long long row_blocks;  // blocks of a row, rounded up
  void* row_out;         // [experts, rows, cols]
  void* row_scales;
  void* col_out;  // [experts, cols, rows], or [experts, rows, cols] where it is not transposed
  void* col_scales;
  long long col_blocks;  // blocks of a column
  long long expert_gap;  // expert_stride: how much further, or nearer, an expert is than the one before it and its rows
  const void* offsets;   // ends of groups of rows
  int* status;           // error status of these ends
  unsigned groups;
  float alpha;              // of the prologue's activation
  const void* input;        // of the prologue
  const void* given_scale;  // of everything, a float
  common::Divisor by_rows;  // expert_stride and padded scales: of an expert
};

// A slot is a lane's share of a block, one vector of source or more; the rows of all experts count as one sequence.
struct StreamSlots {
  common::Slots slots;
};
struct StreamParams : StreamSlots, Params {};

struct RowParams : Params {
  long long all_rows;  // of all experts
};

// The thread blocks of a matrix, and their number as a divisor.
struct ColumnParams : Params {
  long long blocks;
  common::Divisor by_blocks;
};

// A block of the tile form processes a stack of tiles, one below the other. Stacks are numbered so that those that run
// at the same time cover a part of the matrix with good memory locality: `panel` side by side, then the next such row.
// Concurrent writes should be adjacent along rows for the row direction and along columns for the other.
struct Stacks {
  unsigned across;  // stacks side by side
  unsigned down;
  unsigned panel;
  common::Divisor32 by_panel;       // panel * down: its stacks
  common::Divisor32 by_width;       // panel
  common::Divisor32 by_last_width;  // of the last panel, which may be narrower
  common::Divisor by_stacks;        // of an expert
};
struct TileParams : Stacks, Params {
  void* bias_gradient;  // [experts, cols]
  void* tile_sums;      // see BiasWorkspace
  void* chunk_sums;
  void* arrived;
};

// A form's parameters, with those of outputs that have gaps between their lines: elements from a line to the next.
template <class Form, bool Pitches>
struct WithPitches : Form {};
template <class Form>
struct WithPitches<Form, true> : Form {
  long long row_pitch;
  long long col_pitch;
};

// Those of groups that are matrices of their own.
template <class Form, bool Matrices>
struct WithMatrices : Form {};
template <class Form>
struct WithMatrices<Form, true> : Form {
  const void* col_offsets;
  long long elements;  // all groups have at most as many
  unsigned unit;       // of a group, on the device: which of its stacks
};

constexpr int kPartBytes = 128;
constexpr int kBarrierBytes = 16;  // including padding that keeps the rest aligned

// A tile: 128 rows, a warp for 32 of them, a band.
constexpr int kTileRows = 128;
constexpr int kBand = 32;
constexpr int kTileThreads = 128;

// For the bias gradient.
constexpr int kChunkTiles = 32;         // tiles whose sums one block adds
constexpr unsigned kNan = 0x7fffffffu;  // the only NaN that is stored

// Offsets in a block's shared memory, in bytes: transposed lines of the stack; reciprocals of a tile's blocks along
// rows; scales of the stack's blocks along rows; scales received from the other blocks of the cluster, for a share of
// the rows, and the barrier that counts them; scales of the stack's blocks along columns, in atoms; the part of the
// rows that the block processes; sums of the stack's bands; largest magnitudes of the columns of the stack's bands;
// what a prologue makes of a tile, and the inputs that have no room there, which without a stack lie where the lines
// will be.
struct TileShared {
  int reciprocals;
  int row_scales;
  int gathered;
  int arrived;
  int column_scales;
  int part;
  int sums;
  int maxima;
  int made;
  int landing;
  int bytes;
};
struct TileUse {
  int columns;
  int block;        // elements that share a scale
  int scale_bytes;  // of a scale
  int stack;
  bool lines;
  bool reciprocals;
  bool row_scales;
  bool cluster;
  bool column_atoms;
  bool groups;
  bool sums;
  bool maxima;
  int made_bytes;      // of a number that a prologue makes; 0: there is none
  int landing_halves;  // inputs of a prologue that land beside, each as many as half of a tile
};
QUERN_HOST_DEVICE constexpr TileShared tile_shared(const TileUse& use) {
  const int blocks = use.columns / use.block * kTileRows, scales = use.stack * blocks * use.scale_bytes;
  TileShared at = {};
  const int lines = use.lines ? use.stack * use.columns * kTileRows : 0;
  const int made = kTileRows * use.columns * use.made_bytes;
  const int first = made + use.landing_halves * (made / 2);
  at.reciprocals = use.stack == 1 && first > lines ? first : lines;
  at.row_scales = at.reciprocals + (use.reciprocals ? 4 * blocks : 0);
  at.gathered = at.row_scales + (use.row_scales ? scales : 0);
  at.arrived = at.gathered + (use.cluster ? scales : 0);
  at.column_scales = at.arrived + (use.cluster ? kBarrierBytes : 0);
  at.part = at.column_scales + (use.column_atoms ? use.stack * kAtomBytes : 0);
  at.sums = at.part + (use.groups ? kPartBytes : 0);
  at.maxima = at.sums + (use.sums ? use.stack * 4 * use.columns * 4 : 0);
  at.bytes = at.maxima + (use.maxima ? use.stack * 4 * use.columns * 4 : 0);
  if (use.stack > 1) {
    at.made = at.bytes;
    at.bytes += first;
  }
  at.landing = at.made + made;
  return at;
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_PARAMS_H_
