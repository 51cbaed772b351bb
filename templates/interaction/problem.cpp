#include "interaction/problem.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "interaction/shape.h"

namespace quern::interaction {
namespace {

std::string check_extents(const Interaction& p) {
  if (p.features < 1) return "features must be at least 1";
  if (p.dim < 1) return "dim must be at least 1";
  if (is_lower(p) && p.features > kMostFeatures)
    return cat("features must be at most ", kMostFeatures, " in form=lower");
  if (is_lower(p) && p.dim > kMostDim) return "dim must be at most 2^24";
  if (!is_lower(p) && (p.features > kMostNumbers || p.dim > kMostNumbers || numbers_of(p) > kMostNumbers))
    return cat("features times dim must be at most ", kMostNumbers, " in form=outer and form=upper");
  return {};
}

std::string check_columns(const Interaction& p) {
  if (p.form == InteractionForm::outer && p.diagonal != 0)
    return "diagonal is of form=lower and form=upper; form=outer has all products";
  if (!is_lower(p) && p.dense != 0) return "dense is of form=lower; the other forms have products only";
  if (p.dense > numbers_of(p))
    return cat("dense is above features times dim, ", numbers_of(p), ", the numbers of a sample");
  return {};
}

std::string check_strides(const Interaction& p) {
  if (is_backward(p) && source_stride(p) < numbers_of(p))
    return cat("source_stride is below features times dim, ", numbers_of(p),
               ", so samples of source_gradient would overlap");
  if (!is_backward(p) && out_stride(p) < columns_of(p))
    return cat("out_stride is below the columns of a row, ", columns_of(p), ", so rows of out would overlap");
  const std::int64_t row = std::max({numbers_of(p), columns_of(p), source_stride(p), out_stride(p)});
  std::int64_t all = 0;
  if (p.batch != kOpen && (__builtin_mul_overflow(p.batch, row, &all) || all > kMaxExtent))
    return "batch is too large for rows of this length: at most 2^46 elements";
  return {};
}

}  // namespace

std::string check(const Interaction& p) {
  if (std::string refusal = check_extents(p); !refusal.empty()) return refusal;
  if (std::string refusal = check_columns(p); !refusal.empty()) return refusal;
  return check_strides(p);
}

// The order in which tensor cores add is not documented. Of n products of numbers up to 4, partial sums are at most
// 16 n, and each of n additions is wrong by 2^-23 of that at most, where an addend is cut off. All else is exact: fp32
// sums are fmaf in a fixed order, and products are rounded once.
Tolerance tolerance(const Interaction& p) {
  if (!by_tensor_cores(p)) return {};
  const auto terms = static_cast<double>(is_backward(p) ? p.features + 2 : p.dim);
  return {1, std::ldexp(terms * terms, 4 - 23)};
}

}  // namespace quern::interaction
