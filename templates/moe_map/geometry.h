// How the kernel divides a problem: thread blocks, warps, lanes and shared memory. Host code.
#ifndef QUERN_MOE_MAP_GEOMETRY_H_
#define QUERN_MOE_MAP_GEOMETRY_H_

#include <cstdint>

#include "moe_map/moe_map.h"
#include "moe_map/params.h"

namespace quern::moe_map {

// What a config says of it.
struct Shape {
  std::int64_t threads;
  std::int64_t routes;  // of a thread, in registers
  bool one_block;

  std::int64_t warps() const { return threads / 32; }
  std::int64_t step() const { return 32 * routes; }
};

// The most thread blocks of a launch. Each reads the counts of all.
inline constexpr std::int64_t kMostBlocks = 128;

// The smallest thread block, unless there are more experts.
inline constexpr std::int64_t kLeastThreads = 128;

// Consecutive experts of a warp, a power of two: 8 or more, so that a warp reads whole sectors of the table.
std::int64_t warp_experts(const MoeMap& p, const Shape& s);

// Pieces of 16 experts, up to a power of two.
std::int64_t pieces_of(const MoeMap& p);

// Warps that have routes.
std::int64_t counters_of(const MoeMap& p, const Shape& s);

// Words of a block in the workspace: lines of 128 bytes.
std::int64_t table_stride(const MoeMap& p);

// Words from the counters of a warp to those of the next.
std::int64_t stride_of(const MoeMap& p, const Shape& s);

struct Blocks {
  std::int64_t count;
  std::int64_t tokens;  // of a block
};
// As many as keep their routes in registers, at most `most`.
Blocks blocks_of(const MoeMap& p, const Shape& s, std::int64_t most);

// The most of a launch in any config: those that keep their routes in registers where a block has fewest. Fewer, where
// their table would be more than 16 bytes a route and 64 KB.
std::int64_t most_blocks(const MoeMap& p);

// The workspace, in words.
std::int64_t table_words(const MoeMap& p);

// Of counts: as many as give each warp some hundred tokens, at most `most`.
struct Warps {
  std::int64_t blocks;
  std::int64_t tokens;  // of a warp
};
Warps warps_of(const MoeMap& p, const Shape& s, std::int64_t most);

// The shared memory of a block, in words. row_tokens is part of it if `staged`.
struct Shared {
  Places places;
  std::int64_t list;  // masks: of a warp
  std::int64_t words;
  bool staged;
};
Shared shared_of(const MoeMap& p, const Shape& s);

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_GEOMETRY_H_
