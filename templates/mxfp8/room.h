// The operations of the family, values of the field `op`: each is a room of its own, with a file and a kernel.
#ifndef QUERN_MXFP8_ROOM_H_
#define QUERN_MXFP8_ROOM_H_

#include <string>

#include "mxfp8/matrix.h"
#include "mxfp8/parameters.h"

namespace quern::mxfp8 {

// The values of fields, in the order of their enums.
inline constexpr const char* kOps[] = {"quantize", "dequantize", nullptr};
inline constexpr const char* kDirections[] = {"row", "col", "both", nullptr};
inline constexpr const char* kModes[] = {"floor", "rceil", "ceil", "even", "exact", nullptr};
inline constexpr const char* kScalings[] = {"mx", "tensor", "row", "block128", nullptr};
inline constexpr const char* kPolicies[] = {"ao", "te", nullptr};
inline constexpr const char* kBlocks[] = {"line", "square", "square_spread", nullptr};
inline constexpr const char* kOrders[] = {"cols", "rows", nullptr};
inline constexpr const char* kScaleLayouts[] = {"plain", "blocked", nullptr};
inline constexpr const char* kNoops[] = {"never", "flag", nullptr};
inline constexpr const char* kPrologues[] = {"none", "act", "gated", "dact", "dgated", nullptr};
inline constexpr const char* kBiasGradients[] = {"none", "sums", nullptr};
inline constexpr const char* kTails[] = {"refuse", "pad", nullptr};

// The memory of one operand; of type none where the problem has no such operand.
using LayoutOf = Layout (*)(const Mxfp8&);

inline Layout absent(const Mxfp8&) { return {}; }

// What the device says of the launch: where groups end, if there are any, and whether there is anything to do.
inline Layout offsets_layout(const Mxfp8& p) { return p.groups == 0 ? Layout{} : Layout::list(p.offset, p.groups); }
inline Layout status_layout(const Mxfp8& p) { return p.groups == 0 ? Layout{} : Layout::list(i32, 1); }
inline Layout given_scale_layout(const Mxfp8& p) { return has_given_scale(p) ? Layout::list(f32, 1) : Layout{}; }
inline Layout noop_layout(const Mxfp8& p) { return p.noop == Mxfp8Noop::never ? Layout{} : Layout::list(f32, 1); }

// The operands of an operation. One function each: a launch asks for every one.
struct Operands {
  LayoutOf source = absent;
  LayoutOf out = absent;
  LayoutOf source_scales = absent;
  LayoutOf scales = absent;
  LayoutOf input = absent;
  LayoutOf out_col = absent;
  LayoutOf scales_col = absent;
  LayoutOf bias_gradient = absent;
  LayoutOf workspace = absent;
  LayoutOf given_scale = given_scale_layout;
  LayoutOf offsets = offsets_layout;
  LayoutOf status = status_layout;
  LayoutOf noop = noop_layout;
};

// Each is as the family's function of that name.
struct Room {
  std::string (*check)(const Mxfp8&);
  Matrix (*matrix)(const Mxfp8&);  // source as it lies in memory
  Operands operands;
  // The widest vector that the memory's shape allows, in bytes, and the narrowest, of one element.
  std::int64_t (*natural_vector)(const Mxfp8&, std::int64_t limit);
  std::int64_t (*unit)(const Mxfp8&);
  Config (*preferred)(const Mxfp8&, const Target&, const DeviceModel&);
  std::uint32_t (*alignment)(const Mxfp8&, const Config&);
  void (*specialize)(const Mxfp8&, const Config&, Spec&);
  void (*launch)(const Mxfp8&, const Mxfp8Args&, const DeviceModel&, const Config&, Launch&);
  void (*reference)(const Mxfp8&, const Mxfp8Args&);
  std::int64_t (*bytes)(const Mxfp8&);
};

extern const Room kQuantize, kDequantize;

// The stream form of a room's kernel.
inline Config stream_config(std::int64_t vector, std::int32_t unroll) {
  Config config;
  config[kForm] = kStream;
  config[kVector] = static_cast<std::int32_t>(vector);
  config[kUnroll] = unroll;
  config[kThreads] = 256;
  config[kRows] = 32;
  config[kStack] = 1;
  config[kPanel] = 1;
  config[kCluster] = 1;
  return config;
}

// Of a kernel that moves whole vectors. One of a single element takes any address of it.
inline std::uint32_t vector_alignment(std::int64_t unit, const Config& config) {
  return config[kVector] == unit ? 1 : static_cast<std::uint32_t>(config[kVector]);
}

inline std::int64_t widest_access(const Target& target) { return target.arch >= 100 && target.arch < 120 ? 32 : 16; }

inline constexpr std::int64_t kMaxSlots = std::int64_t{1} << 30;  // of a row, see common::Slots

// What does not go with a scaling.
std::string check_scaling(const Mxfp8& p);

// Constraints of the quantizers' tile form, for the family's table.
bool stream_is_along(const Mxfp8& p, const Target&, const Config& c);
bool tile_fits_registers(const Mxfp8& p, const Target&, const Config& c);
bool parts_hold_blocks(const Mxfp8& p, const Target&, const Config& c);
bool vector_fits_columns(const Mxfp8& p, const Target&, const Config& c);
bool tile_fits_shared(const Mxfp8& p, const Target&, const Config& c);
bool cluster_has_scales(const Mxfp8& p, const Target& t, const Config& c);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_ROOM_H_
