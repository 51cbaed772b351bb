#include <algorithm>
#include <type_traits>

#include "common/geometry.h"
#include "embedding/backward_ids.h"
#include "embedding/backward_steps.h"

namespace quern::embedding {
namespace {

// Threads of a bag whose ids are counted.
constexpr std::int64_t kCountLanes = 8;

std::int64_t lanes_of(const Embedding& p, const Config& c) {
  return counts_bags(p) ? kCountLanes : c[ReadBags::kLanes];
}

Config config_for(const Embedding& p, std::int64_t elements) {
  const std::int64_t columns = common::divide_up(largest_dim(p), elements);
  Config config;
  config[ReadBags::kElements] = static_cast<std::int32_t>(elements);
  config[ReadBags::kLanes] =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(common::power_of_two_from(columns), 1, 32));
  config[ReadBags::kThreads] = 128;
  return config;
}

}  // namespace

bool ReadBags::elements_divide(const Embedding& p, const Target&, const Config& c) {
  return widest_slot(p) % c[kElements] == 0;
}

bool ReadBags::lanes_have_a_row(const Embedding& p, const Target&, const Config& c) {
  return c[kLanes] == 32 || largest_dim(p) <= std::int64_t{c[kLanes]} * c[kElements];
}

int ReadBags::variants(const Embedding& p, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
  const std::int64_t widest = is_weighted(p) ? natural_elements(p, 16 / widest_type(p)) : 1;
  int count = 0;
  if (widest > 1) out[count++] = {"vector", config_for(p, widest)};
  out[count++] = {"element", config_for(p, 1)};
  return count;
}

std::uint32_t ReadBags::alignment(const Embedding& p, int operand, const Config& config) {
  return alignment_of_slots(p, operand, config[kElements]);
}

void ReadBags::specialize(const Embedding& p, const Target&, const Config& config, Spec& spec) {
  with_room(p, [&](auto most) { spec.integer("params_bytes", sizeof(BagParamsOf<decltype(most)::value>)); });
  spec.integer("max_threads", common::kMaxThreads);
  spec.integer("lanes", lanes_of(p, config));
  specialize_ids(counts_bags(p) ? ids_alone(p) : p, config[kElements], spec);
  spec.part(is_max(p)        ? "embedding/backward_winners.cuh"
            : is_weighted(p) ? "embedding/backward_dots.cuh"
                             : "embedding/backward_counts.cuh");
}

void ReadBags::launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config,
                      Launch& launch) {
  const std::int64_t bags = bags_of(p);
  const RowArgs rows(p, a);
  const Workspace w = workspace_of(p);
  with_room(p, [&](auto most) {
    auto& params = launch.make_params<BagParamsOf<decltype(most)::value>>();
    fill_ids(p, rows.args(), config[kElements], params.ids);
    params.gradient = a.gradient.data;
    params.gradient_stride = out_stride(p) * bytes(p.dtype);
    params.sample_weights_gradient = a.sample_weights_gradient.data;
    params.counts = words_at(a, w.counts);
    params.winners = words_at(a, w.winners);
    params.words_of_id = static_cast<unsigned>(w.words_of_id);
    params.bags = static_cast<unsigned>(bags);
    params.by_batch = common::make_divisor32(static_cast<std::uint64_t>(p.batch));
  });
  const std::int64_t groups = std::max<std::int64_t>(1, bags);
  common::launch_slots(static_cast<std::uint64_t>(groups * lanes_of(p, config)), 1, config[kThreads], model, launch);
  launch.empty = is_weighted(p) ? p.count == 0 : bags == 0;
}

}  // namespace quern::embedding
