// Outputs of a program in 8 bits whose scales are made, on the host: which they are, which elements share a scale, and
// where scales are.
#ifndef QUERN_POINTWISE_SCALED_H_
#define QUERN_POINTWISE_SCALED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mx/scales.h"
#include "pointwise/program.h"
#include "quern/choice.h"
#include "quern/spec.h"

namespace quern::pointwise::scaled {

inline constexpr const char* kModes[] = {QUERN_SCALE_MODES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kPolicies[] = {QUERN_SCALE_POLICIES(QUERN_CHOICE_NAME) nullptr};

// With scaling=row 0.
inline std::int64_t block_length(const Pointwise& p) {
  return p.scaling == PointwiseScaling::mx ? 32 : p.scaling == PointwiseScaling::block128 ? 128 : 0;
}
inline bool has_whole_rows(const Pointwise& p) { return p.scaling == PointwiseScaling::row; }
inline bool has_atoms(const Pointwise& p) { return p.scale_layout == MxScaleLayout::blocked; }

// Outputs with scales. Their scales are in the order of the outputs.
int count(const Pointwise& p);

// Rows that threads are there for: those of blocked scales' padding too.
inline std::int64_t rows_to_do(const Pointwise& p) { return has_atoms(p) ? mx::round_up_to(p.rows, 128) : p.rows; }
inline std::int64_t columns_to_do(const Pointwise& p) { return has_atoms(p) ? mx::round_up_to(p.width, 128) : p.width; }

// Of the family's list of operands.
Layout scales_layout(const Pointwise& p, int entry);
int scales_count(const void* p);
std::string scales_name(const void* p, int entry);
std::int64_t bytes(const Pointwise& p);  // of all

// The rules between the fields.
std::string check(const Pointwise& p);

// Each output's number among those with scales; "-1": it has none.
std::vector<std::string> places(const Pointwise& p);
void specialize(const Pointwise& p, Spec& spec);

// Blocked scales have padding, which is 0.
void clear_scales(const Pointwise& p, const PointwiseArgs& a);
// Quantizes a row of an output. `scale`: the output's number among those with scales.
void quantize_row(const Pointwise& p, const PointwiseArgs& a, int output, int scale, std::int64_t row,
                  const float* numbers);

// Gives each 32 elements of an operand another magnitude, so that scales differ.
void spread_magnitudes(const Layout& layout, std::uint64_t seed, void* data);

Tolerance tolerance(const Pointwise& p, int output);
Tolerance tolerance_of_scales(const Pointwise& p, int entry);

}  // namespace quern::pointwise::scaled

#endif  // QUERN_POINTWISE_SCALED_H_
