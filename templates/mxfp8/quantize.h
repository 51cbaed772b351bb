// What the quantizers' default, constraints and launches agree on.
#ifndef QUERN_MXFP8_QUANTIZE_H_
#define QUERN_MXFP8_QUANTIZE_H_

#include <algorithm>

#include "mxfp8/room.h"

namespace quern::mxfp8 {

inline std::int64_t source_bytes(const Mxfp8& p) { return bytes(p.dtype); }
inline std::int64_t pieces(std::int64_t n, std::int64_t each) {
  return std::max<std::int64_t>(1, (n + each - 1) / each);
}

bool transposed(const Mxfp8& p);

// Whether the kernel meets bands of fewer than 32 rows, or blocks along rows of fewer than 32 columns: those are read
// as zeros. Rows that no block lies across may be any number.
bool has_cut_bands(const Mxfp8& p);

// What row length and stride have in common: the widest vector.
std::int64_t natural_vector(const Mxfp8& p, std::int64_t limit);

// The tile form can do everything; the other reads each block by itself, along rows.
bool can_stream(const Mxfp8& p);

// Whether scales of a row lie together and are its own bytes: what the blocks of a cluster can put together.
bool rows_have_scales(const Mxfp8& p);

// Blocks of 128 along rows lie in one tile, however narrow its vectors.
bool has_wide_tile(const Mxfp8& p);
std::int32_t tile_columns(const Mxfp8& p, const Config& c);

Config quantize_default(const Mxfp8& p, const Target& target, const DeviceModel& model);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_QUANTIZE_H_
