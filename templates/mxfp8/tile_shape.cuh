// The dimensions of a tile, and the layout of its shared memory.
#ifndef QUERN_MXFP8_TILE_SHAPE_CUH_
#define QUERN_MXFP8_TILE_SHAPE_CUH_

#include "common/shared.cuh"
#include "common/sync.cuh"
#include "mxfp8/source.cuh"

namespace quern::mxfp8 {

using KernelParams = WithPitches<WithMatrices<WithInputs<TileParams>, spec::varying>, spec::out_strides>;

constexpr int kRows = spec::rows;        // of a thread
constexpr int kParts = kBand / kRows;    // of a warp's rows, each of other lanes
constexpr int kPartLanes = 32 / kParts;  // adjacent
constexpr int kTileColumns = spec::tile_columns;
constexpr int kColumns = kTileColumns / kPartLanes;           // of a thread
constexpr int kPieceColumns = spec::vector / sizeof(Source);  // of one access
constexpr int kPieces = kColumns / kPieceColumns;
constexpr int kLanes = kBlock / kColumns;                                       // that share a block along a row
constexpr int kTileBlocks = kTileColumns < kBlock ? 1 : kTileColumns / kBlock;  // along a row
static_assert(!spec::row || kLanes <= kPartLanes, "a block along a row lies in one part");
static_assert(kBlock <= kTileRows, "a block along a column lies in one tile");
// Half of a tile's columns are of the matrix's first half, the others the same of its second half.
constexpr bool kHalves = spec::halves;
constexpr int kStackColumns = kHalves ? kTileColumns / 2 : kTileColumns;  // from a stack to the next
static_assert(!kHalves || (kTileBlocks >= 2 && kPieces == 1), "a half has whole blocks, and a thread one access");
constexpr int kStack = spec::stack;
constexpr int kLineBytes = kStack * kTileRows;  // of a transposed line
constexpr int kCluster = spec::cluster;
constexpr bool kOnceASquare = spec::block == Block::square && !spec::blocked;
constexpr bool kSquare = spec::block != Block::line;
constexpr bool kTransposed = spec::col && spec::transposed;

// Blocked scales of a tile that are a whole atom, or whole parts of its 16-byte units, are combined before they are
// written.
constexpr bool kRowAtoms = spec::row && spec::atoms && kTileBlocks == 4 && !kHalves;
constexpr bool kColumnAtoms = spec::col && spec::atoms;

constexpr bool kMakesRowScales = spec::row && !spec::given_scale;

// Blocks along columns that lie in more than one warp.
constexpr bool kTallBlocks = spec::col && kBlock > kBand && !spec::given_scale;

constexpr TileShared kShared =
    tile_shared({kTileColumns, kBlock, kScaleBytes, kStack, kTransposed, kMakesRowScales && !kSquare, kMakesRowScales,
                 kCluster > 1, kColumnAtoms, spec::groups || spec::varying, spec::bias_gradient, kTallBlocks,
                 kMakes ? static_cast<int>(sizeof(Source)) : 0, spec::landing_halves});

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_SHAPE_CUH_
