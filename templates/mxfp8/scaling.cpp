// What goes with a scaling.
#include "mxfp8/room.h"

namespace quern::mxfp8 {
namespace {

// What a scaling that is not mx has not.
std::string check_fp32_scales(const Mxfp8& p) {
  const std::string scaling = std::string("scaling=") + kScalings[static_cast<int>(p.scaling)];
  if (p.policy == Mxfp8Policy::te) return "policy=te goes with scaling=mx; " + scaling + " has policy=ao";
  if (blocked(p)) return "scale_layout=blocked goes with scaling=mx; " + scaling + " has plain scales";
  if (square(p)) return "blocks of squares go with scaling=mx; " + scaling + " has block=line";
  return {};
}

}  // namespace

std::string check_scaling(const Mxfp8& p) {
  const bool along_cols = p.source_order == Mxfp8Order::cols;
  switch (p.scaling) {
    case Mxfp8Scaling::tensor:
      if (p.mode != Mxfp8Mode::rceil)
        return "mode is for scales that are made; scaling=tensor takes given_scale, and the default, mode=rceil";
      break;
    case Mxfp8Scaling::row:
      if (p.direction != Mxfp8Direction::row || !along_cols)
        return "scaling=row goes with direction=row and source_order=cols";
      if (p.tail == Mxfp8Tail::pad) return "tail=pad is for blocks; with scaling=row a row has any length";
      if (has_sums(p)) return "bias_gradient goes with the other scalings: scaling=row reads row by row";
      break;
    case Mxfp8Scaling::block128:
      if (!along_cols) return "scaling=block128 goes with source_order=cols";
      if (p.groups > 0 && p.direction != Mxfp8Direction::row)
        return "groups with scaling=block128 go with direction=row";
      break;
    default:
      return p.mode == Mxfp8Mode::exact ? "mode=exact is for fp32 scales: scaling=block128 or scaling=row" : "";
  }
  return check_fp32_scales(p);
}

}  // namespace quern::mxfp8
