#include "rope/scaled.h"

#include <algorithm>
#include <limits>

#include "common/geometry.h"
#include "rope/tensors.h"

namespace quern::rope {
namespace {

// Threads that share a row's heads.
std::int64_t team(const Rope& p, const Config& c) { return std::max<std::int64_t>(1, units_of(p, c)); }

// Fewer where a problem is small, but never fewer than have a head.
std::int64_t threads_of(const Rope& p, const Config& c, const DeviceModel& model, std::int64_t rows) {
  std::int64_t threads = c[kThreads];
  while (threads > 32 && threads / 2 >= team(p, c) &&
         common::divide_up(rows, threads / team(p, c)) < std::int64_t{2} * model.multiprocessors)
    threads /= 2;
  return threads;
}

void set_scales(const Rope& p, const RopeArgs& a, int tensor, MadeScales& scales) {
  const Strides strides = scale_strides(p, tensor);
  const AxisOrder order = axis_order(p);
  scales.to = scales_of(a, tensor);
  for (int i = 0; i < 3; ++i) scales.strides[i] = strides.of[order.axis[i]] * bytes(scale_type(p));
}

}  // namespace

// On an H200, mx scales of 4 x 4096 x (32 + 8): 63.9 us; blocks of 128 threads with one head each 77.2. With wide
// offsets, a cache or cosines that are computed, two heads take up to 91 registers, but not in accesses of one element;
// a cache of 256 tokens gained 0.05 us. One head in all has the image of several.
Config scaled_config(const Rope& p, Config c) {
  const bool has_registers = c[kOffsets] == 32 || c[kVector] == element_bytes(p);
  c[kRounds] = 1;
  c[kUnroll] = has_registers && has_cosines(p) && !has_cache(p) ? 2 : 1;
  c[kThreads] = static_cast<std::int32_t>(common::power_of_two_from(team(p, c), 64));
  return c;
}

bool block_has_whole_heads(const Rope& p, const Target&, const Config& c) {
  return !makes_scales(p) || team(p, c) <= c[kThreads];
}

void specialize_scaled(const Rope& p, Spec& spec) {
  spec.header("common/scaling.cuh");
  spec.choice("common::ScaleMode", "mode", kScaleModes[static_cast<int>(p.mode)]);
  spec.choice("common::ScalePolicy", "policy", kScalePolicies[static_cast<int>(p.policy)]);
  spec.choice("common::ScaleFormat", "scale_format", has_fp32_scales(p) ? "fp32" : "e8m0");
  spec.integer("block_length", block_length(p));
  spec.part("rope/scaled.cuh");
}

template <int kBits>
void launch_scaled(const Rope& p, const RopeArgs& a, const DeviceModel& model, const Config& c,
                   ScaledParamsOf<kBits>& params, Launch& launch) {
  const std::int64_t rows = batches(p) * p.seq * groups_of(p, c), threads = threads_of(p, c, model, rows);
  const std::int64_t teams = threads / team(p, c);
  params.rows = static_cast<std::uint64_t>(rows);
  for (int tensor = 0; tensor < kTensors; ++tensor) set_scales(p, a, tensor, params.scales[tensor]);
  launch.empty = rows == 0 || is_idle(p);
  launch.block[0] = static_cast<std::uint32_t>(threads);
  launch.grid[0] = static_cast<std::uint32_t>(
      std::min<std::int64_t>(common::divide_up(rows, teams), std::numeric_limits<std::uint32_t>::max()));
  launch.shared_bytes = static_cast<std::uint32_t>(teams * c[kUnroll] * scales_of_head(p) * 4);
}

template void launch_scaled(const Rope&, const RopeArgs&, const DeviceModel&, const Config&, ScaledParamsOf<32>&,
                            Launch&);
template void launch_scaled(const Rope&, const RopeArgs&, const DeviceModel&, const Config&, ScaledParamsOf<64>&,
                            Launch&);

}  // namespace quern::rope
