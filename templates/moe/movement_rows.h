// What a row of a movement has, for the default config and for the launch.
#ifndef QUERN_MOE_MOVEMENT_ROWS_H_
#define QUERN_MOE_MOVEMENT_ROWS_H_

#include <algorithm>

#include "common/geometry.h"
#include "moe/movement.h"

namespace quern::moe {

inline bool has_gradient(const Movement& m) { return has_dots(m); }
inline std::int64_t element_bytes(const Movement& m) { return bytes(m.dtype); }
inline std::int64_t natural_vector(const Movement& m) { return common::common_alignment({row_bytes(m)}, 16); }
// Vectors of a block that shares a scale.
inline std::int64_t block_vectors(const Movement& m, std::int64_t vector) {
  return quantizes(m) ? std::max<std::int64_t>(1, block_length(m) * element_bytes(m) / vector) : 1;
}
// Whether the scales of a row that is quantized can be words of four bytes. Accesses of an element allow any address.
inline bool scales_fill_words(const Movement& m, std::int64_t vector) {
  return quantizes(m) && scale_type(m) == e8m0 && made_scales_of_row(m) % 4 == 0 && vector > element_bytes(m);
}

// Padding rows that a map of the problem's fields lists, at most: only the device knows how many there are.
inline std::int64_t most_pads(const Movement& m) {
  if (!clears_pads(m)) return 0;
  return m.rules.list_tail ? capacity_of(m) : std::min(capacity_of(m), m.rules.experts * m.rules.align);
}

// The lanes of a dot product, the chunks of each in a segment, and the warps.
struct DotShape {
  std::int64_t lanes;
  std::int64_t unroll;
  std::int64_t warps;
};

// Routes of a token that a team has, a multiple of those that it has at once. Of few tokens several teams share them,
// up to a team for each; but dense probabilities of a token are written by one team. On an H200 three tokens of 14208
// bytes from ten rows take 4.0 us, with one team 11.3; 42 of 3072 bytes from seven 3.1 and 7.0. With fewer than four
// chunks of a lane twice as many warps fit a multiprocessor: 100 of 8192 bytes from eight 6.25 us, with 16 of
// them 7.41.
inline std::int64_t routes_of_team(const Movement& m, const DotShape& dot, std::int64_t at_once,
                                   const DeviceModel& model) {
  if (m.form != Form::combine_gradient || m.dense) return m.topk;
  const std::int64_t of_multiprocessor = dot.unroll < 4 ? 32 : 16;
  const std::int64_t warps = std::max<std::int64_t>(1, m.tokens * dot.warps * dot.lanes / 32);
  const std::int64_t most_teams = std::max<std::int64_t>(1, of_multiprocessor * model.multiprocessors / warps);
  return common::divide_up(common::divide_up(m.topk, at_once), most_teams) * at_once;
}

}  // namespace quern::moe

#endif  // QUERN_MOE_MOVEMENT_ROWS_H_
