// scatter's kernel: tuning space, default config, constants and launch.
#ifndef QUERN_SCATTER_STEP_H_
#define QUERN_SCATTER_STEP_H_

#include "scatter/problem.h"

namespace quern::scatter {

// In the order of kOperands of the family.
enum Operands { kSource, kIndex, kOrder, kScale, kOut, kWorkspace, kGradient, kSourceGradient, kScaleGradient };

// In the order of Step::kParameters.
enum Parameters { kForm, kVector, kUnroll, kBatch, kLanes, kPositions, kThreads, kLoadOnce, kStoreStream };
enum Forms { kWhole, kRagged };
inline constexpr std::int32_t kForms[] = {kWhole, kRagged, kNoMore};
inline constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, 32, kNoMore};
inline constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
inline constexpr std::int32_t kLaneCounts[] = {4, 8, 16, 32, kNoMore};
inline constexpr std::int32_t kPositionCounts[] = {1, 2, 4, 8, 16, 32, kNoMore};
inline constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
inline constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};

bool vector_divides(const Scatter& p, const Target&, const Config& c);
bool vector_exists(const Scatter& p, const Target& t, const Config& c);
bool vector_holds_elements(const Scatter& p, const Target&, const Config& c);
bool ragged_has_small_elements(const Scatter& p, const Target&, const Config& c);
bool row_has_few_slots(const Scatter& p, const Target&, const Config& c);
bool registers_suffice(const Scatter& p, const Target&, const Config& c);
bool threads_have_registers(const Scatter& p, const Target&, const Config& c);
bool lanes_have_a_row(const Scatter& p, const Target&, const Config& c);
bool dots_have_whole_steps(const Scatter& p, const Target&, const Config& c);

int scatter_variants(const Scatter& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);
std::uint32_t operand_alignment(const Scatter& p, int operand, const Config& c);
void specialize_scatter(const Scatter& p, const Config& c, Spec& spec);
void launch_scatter(const Scatter& p, const ScatterArgs& a, const DeviceModel& model, const Config& c, Launch& launch);

// What the family inherits.
struct Step {
  static bool is_forward(const Scatter& p, const Config&) { return !is_backward(p); }
  static bool is_whole(const Scatter&, const Config& c) { return c[kForm] == kWhole; }
  static bool has_order(const Scatter& p, const Config&) { return is_ordered(p); }
  static bool has_lanes(const Scatter& p, const Config&) {
    return is_ordered(p) || is_unique(p) || (is_backward(p) && !has_dots(p));
  }
  static bool has_batch(const Scatter& p, const Config& c) { return adds(p) && !is_unique(p) && has_lanes(p, c); }
  template <bool (*F)(const Scatter&, const Config&)>
  static constexpr auto applies = &applies_to<Scatter, F>;
  template <bool (*F)(const Scatter&, const Target&, const Config&)>
  static constexpr auto holds = &holds_for<Scatter, F>;

  static constexpr Parameter kParameters[] = {
      {"form", kForms, true, "0: whole vectors; 1: ragged, for rows that no vector divides", applies<is_forward>},
      {"vector", kVectors, true, "bytes per access; the ragged form has 16", applies<is_whole>, 16},
      {"unroll", kUnrolls, true, "accesses in flight per thread; with order, and backward, of each row"},
      {"batch", kUnrolls, true, "rows that are read before they are added or stored", applies<has_batch>, 1},
      {"lanes", kLaneCounts, true, "adjacent threads that share a row", applies<has_lanes>, 32},
      {"positions", kPositionCounts, true, "positions of the order for a warp", applies<has_order>, 1},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small"},
      {"load_once", kSwitch, true, "1: loads of source are evict-first"},
      {"store_stream", kSwitch, true, "1: stores of out are evict-first"},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide the row length and both strides", holds<vector_divides>},
      {"32-byte accesses exist on sm_100 and sm_103 only, and here forward without order or unique indices",
       holds<vector_exists>},
      {"rows that are added need vectors of whole elements", holds<vector_holds_elements>},
      {"the ragged form works on elements below 16 bytes", holds<ragged_has_small_elements>},
      {"a row must have fewer than 2^30 vectors", holds<row_has_few_slots>},
      {"vector times unroll times batch must fit the registers: 128 bytes, and half of it in the ragged form and again "
       "where rows are added without order, or backward, or indices are unique; in sums vector times unroll must be at "
       "most 32",
       holds<registers_suffice>},
      {"sums and the backward pass have at most 256 threads in a block", holds<threads_have_registers>},
      {"fewer than 32 lanes need rows of at most lanes times unroll accesses", holds<lanes_have_a_row>},
      {"the gradient of a scale of rows needs at least 8 elements in flight", holds<dots_have_whole_steps>},
  };

  static int variants(const Scatter& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
    return scatter_variants(p, target, model, out);
  }
  static std::uint32_t alignment(const Scatter& p, int operand, const Config& c) {
    return operand_alignment(p, operand, c);
  }
  static void specialize(const Scatter& p, const Target&, const Config& c, Spec& spec) {
    specialize_scatter(p, c, spec);
  }
  static void launch(const Scatter& p, const ScatterArgs& a, const DeviceModel& model, const Config& c,
                     Launch& launch) {
    launch_scatter(p, a, model, c, launch);
  }
};

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_STEP_H_
