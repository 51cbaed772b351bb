// Writes a route.
#ifndef QUERN_MOE_MAP_ROUTES_CUH_
#define QUERN_MOE_MAP_ROUTES_CUH_

#include "moe_map/block.cuh"

namespace quern::moe_map {

// `at`: its place in token_rows.
QUERN_DEVICE void write_route(const Params& p, u64 at, u64 token, u32 row) {
  const bool inside = row < p.capacity;
  put(p.token_rows + at, inside ? row : ~0u);
  if (inside) put(p.row_tokens + row, static_cast<u32>(token));
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_ROUTES_CUH_
