// Definitions that the quantizers' default, constraints and launches share.
#ifndef QUERN_MXFP8_QUANTIZE_H_
#define QUERN_MXFP8_QUANTIZE_H_

#include <algorithm>
#include <string>

#include "mxfp8/matrix.h"
#include "mxfp8/parameters.h"
#include "mxfp8/params.h"

namespace quern::mxfp8 {

inline std::int64_t source_bytes(const Mxfp8& p) { return bytes(p.dtype); }
// At least one; `each` is a power of two.
inline std::int64_t pieces(std::int64_t n, std::int64_t each) {
  return std::max<std::int64_t>(1, mx::divide_up_by_power(n, each));
}

bool transposed(const Mxfp8& p);

// Whether there may be bands of fewer than 32 rows, or blocks along rows of fewer than 32 columns; the missing elements
// are read as zeros. Without blocks across rows any number of rows is legal.
bool has_cut_bands(const Mxfp8& p);

// The widest vector that divides row length and stride.
std::int64_t natural_vector(const Mxfp8& p, std::int64_t limit);

// The tile form handles every problem; the stream form reads each block separately, along rows.
bool can_stream(const Mxfp8& p);

// Whether the scales of a row are contiguous bytes of that row only, so that the blocks of a cluster can write them
// together.
bool rows_have_scales(const Mxfp8& p);

// Whether a tile's columns are as many of both halves of the matrix, so that a thread makes both gradients of dgated
// from one read, which asynchronous copies do.
bool has_halves(const Mxfp8& p, const Config& c);

// Of the tile form, in shared memory; and blocks of it that a multiprocessor's shared memory holds.
std::int32_t tile_bytes(const Mxfp8& p, const Config& c);
std::int32_t tiles_in_shared(const Mxfp8& p, const Target& target, const Config& c);

// A block of 128 along rows lies in one tile, for every vector width.
bool has_wide_tile(const Mxfp8& p);
std::int32_t tile_columns(const Mxfp8& p, const Config& c);

// The stream form.
inline Config stream_config(std::int64_t vector, std::int32_t unroll) {
  Config config;
  config[kForm] = kStream;
  config[kVector] = static_cast<std::int32_t>(vector);
  config[kUnroll] = unroll;
  config[kThreads] = 256;
  config[kRows] = 32;
  config[kStack] = 1;
  config[kPanel] = 1;
  config[kCluster] = 1;
  return config;
}

inline std::int64_t widest_access(const Target& target) { return target.arch >= 100 && target.arch < 120 ? 32 : 16; }

// `may_copy`: whether asynchronous copies can bring what a prologue reads.
Config quantize_default(const Mxfp8& p, const Target& target, const DeviceModel& model, bool may_copy = true);

// The implementation of the family's functions with these names.
std::string check(const Mxfp8& p);
std::string check_extents(const Mxfp8& p);
std::uint32_t alignment(const Mxfp8& p, const Config& config);
void specialize(const Mxfp8& p, const Config& config, Spec& spec);
void launch(const Mxfp8& p, const Mxfp8Args& a, const DeviceModel& model, const Config& config, Launch& launch);

// Of the kernel's parameter.
std::size_t params_bytes(const Mxfp8& p, const Config& config);
// The launch of the tile form for a kernel that makes the numbers: `params`, all zeros, is a part of its parameter.
void launch_tiles(const Mxfp8& p, const Mxfp8Args& a, const Config& config, TileParams& params, Launch& launch);

// Constraints of the quantizers' tile form, for the family's table.
bool stream_is_along(const Mxfp8& p, const Target&, const Config& c);
bool tile_fits_registers(const Mxfp8& p, const Target&, const Config& c);
bool parts_hold_blocks(const Mxfp8& p, const Target&, const Config& c);
bool vector_fits_columns(const Mxfp8& p, const Target&, const Config& c);
bool tile_fits_shared(const Mxfp8& p, const Target&, const Config& c);
bool copies_move_vectors(const Mxfp8& p, const Target&, const Config& c);
bool cluster_has_scales(const Mxfp8& p, const Target& t, const Config& c);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_QUANTIZE_H_
