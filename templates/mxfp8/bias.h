// The bias gradient on the host: its workspace, and its plain reference.
#ifndef QUERN_MXFP8_BIAS_H_
#define QUERN_MXFP8_BIAS_H_

#include <functional>

#include "mxfp8/matrix.h"
#include "mxfp8/params.h"

namespace quern::mxfp8 {

// Offsets in the workspace, in 4-byte words: the sums of tiles, [experts, tiles, cols]; the sums of chunks of 32 tiles,
// [experts, chunks, cols]; and for each strip of columns the number of finished tiles of each chunk and of finished
// chunks, [experts, strips, chunks + 1]. A strip has 32 columns, the last one possibly fewer. All zeros between
// launches.
struct BiasWorkspace {
  std::int64_t tiles;
  std::int64_t chunks;
  std::int64_t chunk_sums;
  std::int64_t arrived;
  std::int64_t words;
};

inline BiasWorkspace bias_workspace(const Mxfp8& p) {
  const auto pieces = [](std::int64_t n, std::int64_t each) { return round_up_to(n, each) / each; };
  BiasWorkspace w{};
  w.tiles = pieces(p.rows, kTileRows);
  w.chunks = pieces(w.tiles, kChunkTiles);
  w.chunk_sums = p.experts * w.tiles * p.cols;
  w.arrived = w.chunk_sums + p.experts * w.chunks * p.cols;
  if (p.rows == 0) return w;  // blocks exchange no data
  w.words = w.arrived + p.experts * pieces(p.cols, kBlockElements) * (w.chunks + 1);
  return w;
}

inline Layout bias_workspace_layout(const Mxfp8& p) {
  const bool open = p.rows == kOpen || p.experts == kOpen;
  return Layout::list(i32, open ? kOpen : bias_workspace(p).words);
}

// The sum of one column's `rows` numbers, in the order that all implementations use.
float column_sum(std::int64_t rows, const std::function<float(std::int64_t row)>& number);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_BIAS_H_
