// The measures of a tile, and where its shared memory has what.
#ifndef QUERN_MXFP8_TILE_SHAPE_CUH_
#define QUERN_MXFP8_TILE_SHAPE_CUH_

#include "common/shared.cuh"
#include "common/sync.cuh"
#include "mxfp8/prologue.cuh"

namespace quern::mxfp8 {

using KernelParams = TileParams;

constexpr int kRows = spec::rows;                        // of a thread
constexpr int kParts = kBlock / kRows;                   // of a warp's rows, each of other lanes
constexpr int kPartLanes = 32 / kParts;                  // side by side
constexpr int kColumns = spec::vector / sizeof(Source);  // of a thread
constexpr int kLanes = kBlock / kColumns;                // that share a block along a row
constexpr int kTileColumns = kPartLanes * kColumns;
constexpr int kTileBlocks = kTileColumns / kBlock;  // along a row
static_assert(kLanes <= kPartLanes, "a block along a row lies in one part");
constexpr int kStack = spec::stack;
constexpr int kLineBytes = kStack * kTileRows;  // of a transposed line
constexpr int kCluster = spec::cluster;
constexpr bool kOnceASquare = spec::block == Block::square && !spec::blocked;
constexpr bool kSquare = spec::block != Block::line;
constexpr bool kTransposed = spec::col && spec::transposed;

// Blocked scales of a tile that are a whole atom, or whole parts of its 16-byte units, are put together before they are
// written.
constexpr bool kRowAtoms = spec::row && spec::atoms && kTileBlocks == 4;
constexpr bool kColumnAtoms = spec::col && spec::atoms;

constexpr TileShared kShared = tile_shared({kTileColumns, kStack, kTransposed, spec::row && !kSquare, spec::row,
                                            kCluster > 1, kColumnAtoms, spec::groups, spec::bias_gradient});

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_SHAPE_CUH_
