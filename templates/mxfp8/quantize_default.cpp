// The default configs of the quantizers, with the measurements that support them.
#include <algorithm>

#include "mxfp8/columns.h"
#include "mxfp8/params.h"
#include "mxfp8/quantize.h"

namespace quern::mxfp8 {
namespace {

// The compiler chooses the number of registers, but see resident_for: on sm_90a it needs at most 128 for lines of bf16,
// so four blocks fit.
Config tile_config(std::int64_t vector, std::int32_t rows) {
  Config config = stream_config(vector, 1);
  config[kForm] = kTile;
  config[kThreads] = kTileThreads;
  config[kRows] = rows;
  config[kPanel] = 4;
  return config;
}

// An open extent counts as large: 2^40 tiles, which leaves room to multiply.
std::int64_t tiles_of(const Mxfp8& p, const Config& config) {
  const Matrix m = matrix_of(p);
  if (m.experts == kOpen || m.rows == kOpen || m.cols == kOpen) return std::int64_t{1} << 40;
  if (has_matrices(p)) return most_elements(p) / (std::int64_t{kTileRows} * tile_columns(p, config));
  return m.experts * pieces(m.rows, kTileRows) * pieces(m.cols, tile_columns(p, config));
}
// Whether there are at least `each` tiles per multiprocessor.
bool has_tiles(const Mxfp8& p, const DeviceModel& model, const Config& config, std::int64_t each) {
  return tiles_of(p, config) >= each * model.multiprocessors;
}

// Tiles by the rows that they have: one of a matrix of up to 32 rows counts as a quarter, as three of four warps have
// none.
std::int64_t filled_tiles(const Mxfp8& p, const Config& config) {
  const std::int64_t rows = matrix_of(p).rows;
  return rows != kOpen && rows < kTileRows && p.groups == 0
             ? tiles_of(p, config) * std::max<std::int64_t>(rows, kBand) / kTileRows
             : tiles_of(p, config);
}

// Narrows tiles while half of one would have no columns (29440 x 32, direction col: 3.5 us on an H200, narrower 2.7),
// or some multiprocessors would have no tile, as long as a tile holds a block and a vector two elements. With blocks
// along rows a tile of one block writes partial sectors: on an H200 tiles of two blocks were 18 % faster although they
// left a sixth of the multiprocessors idle (64 x 7168). Where they would leave three of four idle, or more than half if
// bands are cut, tiles of one block are faster in both directions: 64 x 2048 takes 2.87 us, with them 2.70; 128 x 4096
// 3.2 and 4.0; 153 x 1536 5.05 and 3.7. Along rows only, the rows that a tile has count: 36 matrices of 32 x 512 take
// 2.85 us, narrower 2.69; in both directions 72 of them take 5.3 and 5.7.
void spread_tiles(const Mxfp8& p, const DeviceModel& model, Config& config) {
  if (has_wide_tile(p)) return;
  const Matrix m = matrix_of(p);
  const auto is_idle = [&] { return m.cols != kOpen && tile_columns(p, config) >= 2 * m.cols; };
  const auto narrow_enough = [&] {
    const std::int64_t tiles = m.across ? tiles_of(p, config) : filled_tiles(p, config);
    if (tiles >= model.multiprocessors) return true;
    if (!m.along || tile_columns(p, config) > 2 * kBlockElements) return false;
    return !m.across || tiles * (has_cut_bands(p) ? 2 : 4) > model.multiprocessors;
  };
  while ((is_idle() || !narrow_enough()) && tile_columns(p, config) > kBlockElements &&
         config[kVector] > 2 * source_bytes(p))
    config[kVector] /= 2;
}

// Half a band per thread if a vector has at least two elements: half the reads and writes, of twice the width. Bounds
// checks for each row need registers.
Config usual_tile(const Mxfp8& p) {
  const std::int64_t vector = natural_vector(p, has_cut_bands(p) && matrix_of(p).across ? 8 : 16);
  if (has_wide_tile(p)) return tile_config(vector, vector >= 8 * source_bytes(p) ? 16 : 32);
  return vector > source_bytes(p) ? tile_config(vector, 16) : tile_config(vector, 32);
}

// Whether rounding `n` up to a multiple of `each` adds at most an eighth.
bool wastes_little(std::int64_t n, std::int64_t each) { return (round_up_to(n, each) - n) * 8 <= n; }

// Clusters of fewer than 8 were slower than none: they write as many partial sectors. With a prologue none is faster:
// its blocks have more to wait for (16384 x 4096, gated silu, direction both: 117.5 us on an H200, in clusters 121.5).
std::int32_t cluster_for(std::int64_t across) { return across >= 8 && wastes_little(across, 8) ? 8 : 1; }

// A stack of two tiles needs matrices with at least as many rows; groups are assumed to have the average size.
bool has_tall_matrices(const Mxfp8& p) {
  const std::int64_t rows = matrix_of(p).rows;
  return rows == kOpen || wastes_little(rows / std::max<std::int64_t>(1, p.groups), std::int64_t{2} * kTileRows);
}

// With direction both, some kernels take a few more than 128 registers if unlimited, and do not spill if limited to
// 128. (policy=te and padded scales on sm_100 would spill.)
bool fits_four(const Mxfp8& p, const Target& target) {
  if (has_cut_bands(p)) return false;
  return target.arch == 90 || (target.arch > 90 && target.arch < 120 && p.policy == Mxfp8Policy::ao && !padded(p));
}

// Asynchronous copies of 16 bytes where at least three blocks fit a multiprocessor's shared memory, and registers for
// as many. With sums, and on sm_100 with gelu, a fourth block's kernel would spill. Narrower ones were slower than
// reads (an H200, gated silu: 16001 x 4096 133.8 us and 130.9, 1024 x 2048 7.6 and 7.2).
void choose_copies(const Mxfp8& p, const Target& target, Config& config) {
  if (p.prologue == Mxfp8Prologue::none || config[kVector] < 16) return;
  Config copies = config;
  copies[kAsyncCopies] = 1;
  if (!copies_move_vectors(p, target, copies) || tiles_in_shared(p, target, copies) < 3) return;
  copies[kResident] = has_sums(p) || target.arch != 90 ? 3 : std::min(4, tiles_in_shared(p, target, copies));
  config = copies;
}

// With a prologue for which the compiler would use a few more registers, four blocks were faster although some kernels
// spill (16384 x 16384, silu, direction both: 70 % against 64 %; silu's derivative 78 % against 72 %). Three inputs and
// blocked scales spill more.
bool made_in_four(const Mxfp8& p, const Target& target) {
  if (p.prologue == Mxfp8Prologue::none || p.prologue == Mxfp8Prologue::dgated) return false;
  return target.arch == 90 && !blocked(p) && matrix_of(p).across && !has_cut_bands(p);
}

// Squares of 16-bit types took up to 167 registers if unlimited, depending on the compiler's version; squares of fp32
// take fewer than 128, and the other variant of fp32 would spill.
bool summed_in_four(const Mxfp8& p, const Target& target) {
  if (has_cut_bands(p) || target.arch < 90) return false;
  return square(p) ? p.dtype != f32 : target.arch == 90;
}

// Tiles per multiprocessor from which writing larger parts of a line at a time outweighs having fewer blocks, and
// blocks that wait for each other. On an H200, direction both: 2048 x 2048 takes 7.1 us, and 8.4 us with clusters; 8192
// x 5120 takes 48.3 us, 46.5 us with clusters, and 47.6 us with stacks; README.md has more.
constexpr std::int64_t kTilesForClusters = 8;
constexpr std::int64_t kTilesForStacks = 32;
// The same of tiles with two columns a thread, and of stacks of those: 4001 x 2048 takes 10.7 us, with stacks 11.1;
// 8001 x 2048 18.0 and 18.4; 36645 x 896 39.1 and 33.0.
constexpr std::int64_t kTilesForNarrow = 4, kTilesForNarrowStacks = 20;

// The number of blocks at which the kernel does not spill, or hardly: the barrier between the bands of blocks of 128
// keeps more registers live, and partial blocks even more.
std::int32_t fp32_resident(const Mxfp8& p, const Target& target) {
  if (target.arch < 90 || !matrix_of(p).across || p.dtype == f32 || has_cut_bands(p)) return 0;
  if (p.prologue != Mxfp8Prologue::none) return 0;
  return p.scaling == Mxfp8Scaling::block128 ? 3 : 4;
}

// See the parameter `resident`.
std::int32_t resident_for(const Mxfp8& p, const Target& target) {
  const Matrix m = matrix_of(p);
  if (has_fp32_scales(p)) return fp32_resident(p, target);
  if (p.prologue != Mxfp8Prologue::none) return made_in_four(p, target) ? 4 : 0;
  if (has_sums(p)) return summed_in_four(p, target) ? 4 : 0;
  if (m.along && m.across && !square(p) && !has_sums(p) && fits_four(p, target)) return 4;
  // Blocked scales of 131072 x 7168: 102.2 % of a copy's speed, against 101.4 % with registers for five blocks; 16384 x
  // 16384 with squares 102.0 % against 101.6 %, and with columns that are contiguous in memory 101.9 % against 101.1 %.
  return !m.across && target.arch == 90 && p.groups == 0 ? 3 : 0;
}

// A stack only makes transposed lines longer; without them it does not help (16384 x 16384, direction both,
// out_order=cols: 94.0 % of a copy's speed, against 95.7 % without stacks). With a prologue the code of one tile is
// already long; with sums and blocks across rows only, stacks of two tiles were slower (16384 x 16384: 86 % against 94
// %).
bool is_stacked(const Mxfp8& p) {
  return transposed(p) && !has_fp32_scales(p) && p.prologue == Mxfp8Prologue::none &&
         (!has_sums(p) || matrix_of(p).along);
}

// With stacks, three blocks with more registers each were faster than more blocks: with direction both (131072 x 7168:
// 90.0 % of a copy's speed against 89.2 %), and with direction col and bounds checks for rows (16001 x 16000: 83 %
// against 76 %). They were slower with groups (16384 x 16384, direction both: 89 % against 90 %), with direction both
// and bounds checks (16001 x 16000: 58 % against 66 %), and with single tiles (8192 x 5120, direction both: 88 %
// against 90 %).
bool stacks_in_three(const Mxfp8& p, const Target& target) {
  if (p.groups > 0 || has_sums(p) || square(p)) return false;
  const bool along = matrix_of(p).along;
  return fits_four(p, target) ? along : target.arch == 90 && has_cut_bands(p) && !along;
}

// Blocks across rows of 16-bit types, transposed, and nothing else made of them: a thread may have two columns.
bool may_narrow(const Mxfp8& p, const Target& target) {
  return target.arch == 90 && is_stacked(p) && !matrix_of(p).along && p.groups == 0 && source_bytes(p) == 2 &&
         !has_wide_tile(p) && natural_vector(p, 4) == 4;
}
Config narrow_tile(Config config) {
  config[kVector] = 4;
  config[kRows] = 32;
  config[kResident] = 8;
  config[kPanel] = 1;
  return config;
}

// With two columns a thread a tile is half as wide, needs few registers for bounds checks, and eight blocks hide them.
// On an H200 lines that begin at any address: 36645 x 896 takes 32.8 us for 38.1, 20001 x 2048 39.4 for 41.0, 16001 x
// 16000 212 for 219; where those would be few, half as many rows a thread: 377 x 8832 5.6 us for 6.4 and 6.2. Whole
// lines, up to eight tiles a multiprocessor: 1024 x 4096 5.2 us for 5.6, 1984 x 2560 5.6 for 6.3, 45 of 96 x 896 5.0
// for 5.9; 4096 x 4096 14.3 for 14.4; 8192 x 5120 33.0 for 32.6. Two columns of 16 rows without a limit of registers
// have few loads in flight: 128 x 384 3.05 us, with it 2.15.
Config column_tile(const Mxfp8& p, const DeviceModel& model, Config config) {
  const bool cut = has_cut_bands(p), tall = has_tall_matrices(p);
  const auto has = [&](std::int64_t each) { return has_tiles(p, model, config, each); };
  const bool narrow =
      cut ? tall && has(kTilesForNarrow) : tile_columns(p, config) == kTileRows && !has(kTilesForClusters);
  if (narrow && (cut || !square(p))) {
    config[kStack] = cut && has(kTilesForNarrowStacks) ? 2 : 1;
    return narrow_tile(config);
  }
  if (cut && !square(p) && !has(kTilesForNarrow)) config[kVector] = 4;
  if (config[kVector] == 4 && !square(p)) config[kResident] = 3;
  if (!cut && tall && has(kTilesForStacks)) config[kStack] = 2;
  return config;
}

Config preferred_tile(const Mxfp8& p, const Target& target, const DeviceModel& model, bool may_copy) {
  Config config = usual_tile(p);
  spread_tiles(p, model, config);
  if (has_matrices(p)) {  // their parameters are in registers
    config[kResident] = 0;
    return config;
  }
  config[kResident] = resident_for(p, target);
  if (matrix_of(p).along) config[kPanel] = 0;
  // Blocked scales are of 128 columns, of which the other tiles have padding only: they come last. 42 matrices of 450 x
  // 32 take 4.0 us on an H200, so 3.6.
  if (!matrix_of(p).along && p.cols != kOpen && p.cols <= tile_columns(p, config)) config[kPanel] = 1;
  if (target.arch < 90 || target.arch >= 120) return config;
  if (rows_have_scales(p) && p.prologue == Mxfp8Prologue::none && p.cols != kOpen &&
      has_tiles(p, model, config, kTilesForClusters))
    config[kCluster] = cluster_for(pieces(p.cols, tile_columns(p, config)));
  if (may_copy) choose_copies(p, target, config);
  if (may_narrow(p, target)) return column_tile(p, model, config);
  if (is_stacked(p) && has_tiles(p, model, config, kTilesForStacks) && has_tall_matrices(p)) {
    config[kStack] = 2;
    if (stacks_in_three(p, target)) config[kResident] = 3;
  }
  return config;
}

// The smallest power of two that is at least `n`, clamped to `least` and `most`.
std::int32_t power_for(std::int64_t n, std::int32_t least, std::int32_t most) {
  while (least < n && least < most) least *= 2;
  return least;
}

// One warp for a row that fits in 4 vectors per lane, else as many threads as hold it with 4 vectors each, up to 512.
// The rest of a longer row is read twice: registers for more vectors would halve the warps per multiprocessor.
Config preferred_rows(const Mxfp8& p, const Target& target) {
  const std::int64_t vector = natural_vector(p, std::min<std::int64_t>(16, widest_access(target)));
  const std::int64_t vectors = p.cols * source_bytes(p) / vector;
  if (vectors <= 128) return stream_config(vector, power_for(pieces(vectors, 32), 1, 4));
  Config config = stream_config(vector, 4);
  config[kThreads] = power_for(pieces(vectors, 4), 64, 512);
  return config;
}

// Two vectors per thread if every multiprocessor still gets four blocks.
Config preferred_stream(const Mxfp8& p, const Target& target, const DeviceModel& model) {
  Config config = stream_config(natural_vector(p, widest_access(target)), 2);
  if (p.experts == kOpen || p.rows == kOpen || p.cols == kOpen) return config;
  const std::int64_t vectors = p.experts * p.rows * pieces(p.cols * source_bytes(p), config[kVector]);
  if (vectors < std::int64_t{4} * model.multiprocessors * config[kUnroll] * config[kThreads]) config[kUnroll] = 1;
  return config;
}

}  // namespace

Config quantize_default(const Mxfp8& p, const Target& target, const DeviceModel& model, bool may_copy) {
  if (p.scaling == Mxfp8Scaling::row) return preferred_rows(p, target);
  if (has_short_columns(p)) return columns_default(p, model);
  if (!can_stream(p)) return preferred_tile(p, target, model, may_copy);
  return preferred_stream(p, target, model);
}

}  // namespace quern::mxfp8
