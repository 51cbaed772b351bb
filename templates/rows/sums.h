// The tiles of sums over a matrix on the host, their launch and their workspace.
#ifndef QUERN_ROWS_SUMS_H_
#define QUERN_ROWS_SUMS_H_

#include <algorithm>
#include <cstdint>

#include "common/geometry.h"
#include "rows/sums.cuh"

namespace quern::rows {

// Which sums a matrix has.
struct SumsOf {
  std::int64_t rows;
  std::int64_t columns;
  int parts;  // sums of a column; 0: none
  bool row_sums;
  bool total;
};

// Offsets of TileSums in the workspace, in words. A matrix of zero rows has one tile, whose sums are zeros.
struct SumsWorkspace {
  std::int64_t tiles;
  std::int64_t segments;
  std::int64_t chunks;
  std::int64_t chunk_sums;
  std::int64_t arrived;
  std::int64_t row_sums;
  std::int64_t arrived_rows;
  std::int64_t total;
  std::int64_t words;
};

inline SumsWorkspace sums_workspace(const SumsOf& s) {
  using common::divide_up;
  SumsWorkspace w{};
  w.tiles = std::max<std::int64_t>(1, divide_up(s.rows, kTileRows));
  w.segments = std::max<std::int64_t>(1, divide_up(s.columns, kTileColumns));
  w.chunks = divide_up(w.tiles, kChunkTiles);
  w.chunk_sums = w.tiles * s.parts * s.columns;
  w.arrived = w.chunk_sums + w.chunks * s.parts * s.columns;
  w.row_sums = w.arrived + (s.parts != 0 ? divide_up(s.columns, 32) * (w.chunks + 1) : 0);
  const bool across = s.row_sums && w.segments > 1;
  w.arrived_rows = w.row_sums + (across ? w.segments * s.rows : 0);
  w.total = w.arrived_rows + (across ? w.tiles * (kTileThreads / 32) : 0);
  const std::int64_t all = w.tiles * w.segments, chunks_of_all = divide_up(all, kChunkTiles);
  w.words = w.total + (s.total ? all + chunks_of_all + chunks_of_all + 1 : 0);
  return w;
}

// Blocks of a multiprocessor that the compiler has to leave registers for, by the rows that are on their way to a
// thread. One more would spill in the loop, which takes a third longer or more on an H200.
inline int resident_blocks(const SumsOf& s, int rows) { return rows == 2 && s.parts == 1 && !s.total ? 3 : 2; }

// Dynamic shared memory: the sums of each warp's columns, then its total.
inline std::uint32_t sums_shared_bytes(const SumsOf& s) {
  constexpr int kWarps = kTileThreads / 32;
  return static_cast<std::uint32_t>(kWarps * s.parts * kTileColumns * 4 + (s.total ? kWarps * 4 : 0));
}

// A block for each tile, and the kernel's parameter; more blocks than a grid has are refused by the caller.
inline TileSums launch_tiles(const SumsOf& s, void* workspace, Launch& launch) {
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 31;
  const SumsWorkspace w = sums_workspace(s);
  launch.block[0] = kTileThreads;
  launch.shared_bytes = sums_shared_bytes(s);
  launch.grid[0] = w.tiles >= kMostBlocks / w.segments ? ~0U : static_cast<std::uint32_t>(w.tiles * w.segments);
  auto* const words = static_cast<unsigned*>(workspace);
  return {words,
          words + w.chunk_sums,
          words + w.arrived,
          words + w.row_sums,
          words + w.arrived_rows,
          words + w.total,
          static_cast<unsigned>(w.segments),
          common::make_divisor32(static_cast<std::uint64_t>(w.segments))};
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_SUMS_H_
