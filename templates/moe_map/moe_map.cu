// The kernel. The spec includes one of ids.cuh and mask.cuh, which count and write the routes.
#include "moe_map/params.h"
#include "spec.cuh"

#include "moe_map/rows.cuh"

static_assert(sizeof(quern::moe_map::Params) == quern::spec::params_bytes, "host and device disagree about Params");

namespace quern::moe_map {

QUERN_DEVICE void clear_row_ids(const Params& p, const Tokens& tokens) {
  const u64 width = 2 * p.experts + 1;
  int* const first = p.row_id_map + tokens.first * width;
  for (u64 i = threadIdx.x; i < tokens.count * width; i += blockDim.x) put(first + i, ~0u);
}

QUERN_DEVICE void map_tokens(const Params& p) {
  const Tokens tokens = tokens_of_block(p);
  count_routes(p, tokens);
  publish(p);
  if constexpr (spec::row_id_map) clear_row_ids(p, tokens);
  place_experts(p);
  write_routes(p, tokens);
  clear_table(p);
}

}  // namespace quern::moe_map

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, 1)
    quern_moe_map(const __grid_constant__ quern::moe_map::Params params) {
  quern::moe_map::map_tokens(params);
}
