// pass=backward on the host. Its configs are the rows and the ragged form of the family's space: vectors, or elements
// one by one.
#ifndef QUERN_POINTWISE_BACKWARD_H_
#define QUERN_POINTWISE_BACKWARD_H_

#include <string>

#include "pointwise/operands.h"
#include "rows/sums.h"

namespace quern::pointwise::backward {

inline bool has_sums(const Pointwise& p) {
  return p.bias_gradient != DType::none || p.multiplier_gradient != DType::none;
}
inline rows::SumsOf sums_of(const Pointwise& p) {
  return {p.rows, p.width, p.bias_gradient != DType::none ? 1 : 0, false, p.multiplier_gradient != DType::none};
}

Layout workspace_layout(const Pointwise& p);

// The family's functions of these names.
std::string check(const Pointwise& p);
bool has_few_elements(const Pointwise& p, const Config& c);  // in flight
int variants(const Pointwise& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);
std::uint32_t alignment(const Pointwise& p, int operand, const Config& config);
void specialize(const Pointwise& p, const Config& config, Spec& spec);
void launch(const Pointwise& p, const PointwiseArgs& a, const DeviceModel& model, const Config& config, Launch& launch);
void reference(const Pointwise& p, const PointwiseArgs& a);
Tolerance tolerance(const Pointwise& p, std::string_view operand);
bool allowance(const Pointwise& p, const PointwiseArgs& a, std::string_view operand, double* of_elements);
// Numbers below 4, one of so many a special one, which may be a NaN: without large factors, whose products with an
// error make the sums of a gradient say little.
void generate(const Layout& layout, std::uint64_t rare, bool has_nan, std::uint64_t seed, void* data);

}  // namespace quern::pointwise::backward

#endif  // QUERN_POINTWISE_BACKWARD_H_
