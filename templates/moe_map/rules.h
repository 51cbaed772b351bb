// What follows from a problem of moe_map: shapes, refusals, test data and the plain reference.
#ifndef QUERN_MOE_MAP_RULES_H_
#define QUERN_MOE_MAP_RULES_H_

#include <string>
#include <string_view>

#include "common/host_types.h"
#include "moe/routing.h"
#include "moe_map/moe_map.h"

namespace quern::moe_map {

// `capacity`: of the rules, if the problem gives none.
moe::RowRules rules_of(const MoeMap& p, std::int64_t capacity);

inline bool has_ids(const MoeMap& p) { return p.map == MoeMapKind::ids; }
inline bool has_counts(const MoeMap& p) { return p.map == MoeMapKind::counts; }
inline bool has_mask(const MoeMap& p) { return !has_ids(p) && !has_counts(p); }
inline bool has_pads(const MoeMap& p) { return moe::lists_pads(rules_of(p, 0)); }
inline bool has_row_ids(const MoeMap& p) { return p.row_id_map == MoeRowIdMap::write; }
inline DType index_of(const MoeMap& p) { return p.index != DType::none ? p.index : has_mask(p) ? u8 : i32; }
// The map is a matrix: of tokens, or of ranks if it has counts.
inline std::int64_t map_height(const MoeMap& p) { return has_counts(p) ? p.ranks : p.tokens; }
inline std::int64_t map_width(const MoeMap& p) {
  return has_ids(p) ? p.topk : p.map == MoeMapKind::bits ? (p.experts + 7) / 8 : p.experts;
}

// kOpen if `tokens` is.
std::int64_t capacity_of(const MoeMap& p);

std::string check_map(const MoeMap& p);
bool generate_map(const MoeMap& p, std::string_view operand, std::uint64_t seed, void* data);
void write_map(const MoeMap& p, const MoeMapArgs& a);

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_RULES_H_
