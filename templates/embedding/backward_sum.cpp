#include <algorithm>
#include <type_traits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "embedding/backward_ids.h"
#include "embedding/backward_steps.h"
#include "embedding/lengths.h"
#include "quern/error.h"

namespace quern::embedding {
namespace {

using common::divide_up;

std::int64_t columns_of_row(const Embedding& p, const Config& c) { return largest_dim(p) / c[SumRows::kElements]; }

// Enough places for a warp that it reads its neighbors' rarely, but so few that all multiprocessors have work.
std::int32_t positions_of(const Embedding& p, const DeviceModel& model) {
  if (ids_of(p) == kOpen) return 8;
  std::int32_t positions = 32;
  while (positions > 2 && ids_of(p) / positions < std::int64_t{32} * model.multiprocessors) positions /= 4;
  return positions;
}

// Not measured on a GPU. With one block of a multiprocessor more the kernel spills.
Config config_for(const Embedding& p, std::int64_t elements, const Target& target, const DeviceModel& model) {
  Config config;
  config[SumRows::kElements] = static_cast<std::int32_t>(elements);
  const std::int64_t columns = columns_of_row(p, config);
  config[SumRows::kLanes] =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(common::power_of_two_from(columns), 1, 32));
  config[SumRows::kBatch] = is_adam(p) ? 1 : 2;  // a row of Adam has two more
  config[SumRows::kPositions] = positions_of(p, model);
  config[SumRows::kThreads] = 256;
  config[SumRows::kResident] = elements > 4 || target.arch >= 120 ? 2 : 3;
  return config;
}

unsigned long long address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// 1 - base^n in fp64 by squaring, so that it is the same wherever it is computed.
double rest_of_power(double base, std::int64_t n) {
  double power = 1;
  for (; n > 0; n /= 2, base *= base) power *= n % 2 != 0 ? base : 1;
  return 1 - power;
}

SumTable table_of(const Embedding& p, const EmbeddingArgs& a, int t, const Config& c) {
  SumTable table{};
  table.at = address((has_optimizer(p) ? a.updated : a.weights_gradient).entries[t].data);
  if (has_moments(p)) table.moments = address(a.moments.entries[t].data);
  if (is_adam(p)) table.squares = address(a.squares.entries[t].data);
  table.stride = static_cast<unsigned>(stride_of(p, t) * bytes(type_of(p, t)));
  table.columns = static_cast<unsigned>(dim_of(p, t) / c[SumRows::kElements]) & 0xfffffffU;
  table.type = row_type(type_of(p, t)) & 0xfU;
  return table;
}

template <int Most>
void fill_tables(const Embedding& p, const EmbeddingArgs& a, const Config& c, SumParamsOf<Most>& params) {
  std::int64_t base = 0, column = p.dense;
  for (int t = 0; t < tables(p); ++t) {
    params.tables[t] = table_of(p, a, t, c);
    params.tables[t].base = static_cast<unsigned long long>(base);
    params.tables[t].first = static_cast<unsigned>(column * bytes(p.dtype));
    base += rows_of(p, t);
    column += dim_of(p, t);
  }
  params.rows = static_cast<unsigned long long>(base);
}

template <int Most>
void fill_workspace(const Embedding& p, const EmbeddingArgs& a, SumParamsOf<Most>& params) {
  const Workspace w = workspace_of(p);
  params.sorted = {words_at(a, w.keys), words_at(a, w.values), words_at(a, w.highs)};
  params.counts = words_at(a, w.counts);
  params.winners = words_at(a, w.winners);
  params.words_of_id = static_cast<unsigned>(w.words_of_id);
  params.cleared = words_at(a, w.keys);
  params.cleared_words = static_cast<std::uint64_t>(w.sums - w.keys);
  params.barrier = words_at(a, w.ended + 2);
  params.ended = words_at(a, w.ended);
  const std::int64_t counters = w.sums + (w.groups + w.chunks) * w.stride;
  params.sums = {words_at(a, w.sums), words_at(a, w.sums + w.groups * w.stride), words_at(a, counters),
                 words_at(a, counters + w.groups), static_cast<std::uint64_t>(w.stride)};
}

template <int Most>
void fill_numbers(const Embedding& p, const EmbeddingArgs& a, SumParamsOf<Most>& params) {
  params.seed = static_cast<std::uint64_t>(a.seed);
  params.numbers = {a.learning_rate, a.epsilon, a.beta1, a.beta2, 1 - a.beta1, 1 - a.beta2, 1, 1};
  if (!is_adam(p)) return;
  params.numbers.correction1 = static_cast<float>(rest_of_power(a.beta1, a.step));
  params.numbers.correction2 = static_cast<float>(rest_of_power(a.beta2, a.step));
}

template <int Most>
void fill(const Embedding& p, const EmbeddingArgs& a, const Config& c, SumParamsOf<Most>& params) {
  const std::int64_t size = bytes(p.dtype), divisor = is_pooled(p) ? p.batch : p.tables;
  params.count = ids_of(p);
  params.windows = static_cast<std::uint64_t>(divide_up(ids_of(p), c[SumRows::kPositions]));
  params.bags = static_cast<unsigned>(bags_of(p));
  params.divisor = static_cast<unsigned>(divisor);
  params.by_divisor = common::make_divisor32(static_cast<std::uint64_t>(divisor));
  params.gradient = a.gradient.data;
  params.gradient_stride = out_stride(p) * size;
  params.offsets = offsets_at(p, a);
  params.sample_weights = a.sample_weights.data;
  params.dense_columns = static_cast<unsigned>(p.dense / c[SumRows::kElements]);
  params.dense_gradient = a.dense_gradient.data;
  params.dense_stride = dense_stride(p) * size;
  params.dense_slots = static_cast<std::uint64_t>(p.batch) * params.dense_columns;
  params.by_dense = common::make_divisor(std::max(1U, params.dense_columns));
  fill_tables(p, a, c, params);
  fill_workspace(p, a, params);
  fill_numbers(p, a, params);
}

}  // namespace

bool SumRows::elements_divide(const Embedding& p, const Target&, const Config& c) {
  return widest_slot(p) % c[kElements] == 0;
}
bool SumRows::lanes_have_a_row(const Embedding& p, const Target&, const Config& c) {
  return c[kLanes] == 32 || columns_of_row(p, c) <= c[kLanes];
}
bool SumRows::blocks_are_resident(const Embedding&, const Target& target, const Config& c) {
  return c[kThreads] * c[kResident] <= common::resident_threads(target);
}

int SumRows::variants(const Embedding& p, const Target& target, const DeviceModel& model,
                      Variant (&out)[kMaxVariants]) {
  const std::int64_t widest = natural_elements(p, 16 / widest_type(p));
  int count = 0;
  if (widest > 1) out[count++] = {"vector", config_for(p, widest, target, model)};
  out[count++] = {"element", config_for(p, 1, target, model)};
  return count;
}

std::uint32_t SumRows::alignment(const Embedding& p, int operand, const Config& config) {
  return alignment_of_slots(p, operand, config[kElements]);
}

void SumRows::specialize(const Embedding& p, const Target&, const Config& c, Spec& spec) {
  with_room(p, [&](auto most) {
    constexpr int kMost = decltype(most)::value;
    spec.integer("params_bytes", sizeof(SumParamsOf<kMost>));
    spec.integer("most", kMost);
  });
  spec.integer("elements", c[kElements]);
  spec.integer("lanes", c[kLanes]);
  spec.integer("batch", c[kBatch]);
  spec.integer("positions", c[kPositions]);
  spec.integer("threads", c[kThreads]);
  spec.integer("resident", c[kResident]);
  spec.flag("one_slot", columns_of_row(p, c) <= c[kLanes]);
  spec.flag("dense", p.dense != 0);
  spec.flag("pooled", is_pooled(p));
  spec.flag("mean", p.pooling == EmbeddingPooling::mean);
  spec.flag("counted", counts_bags(p));
  spec.flag("maximum", is_max(p));
  spec.flag("weighted", is_weighted(p));
  spec.flag("values_are_bags", values_are_bags(p));
  spec.flag("wide_keys", has_wide_keys(p));
  spec.flag("stochastic", is_stochastic(p));
  spec.integer("types", row_types(p));
  spec.type("Gradient", common::spec_type(p.dtype));
  spec.flag("has_end", has_lengths(p));
  spec.type("Offset", common::spec_type(offset_type(p)));
  spec.type("Weight", common::spec_type(is_weighted(p) ? p.sample_weights : f32));
  spec.choice("EmbeddingOptimizer", "optimizer", kOptimizers[static_cast<int>(p.optimizer)]);
}

void SumRows::launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& c, Launch& launch) {
  if (is_adam(p) && a.step < 1)
    throw Error(Code::bad_input, Stage::launch, "step is below 1: it is the number of this update, the first one is 1");
  launch.empty = p.batch == 0 || (ids_of(p) == 0 && p.dense == 0);
  if (launch.empty) return;
  std::int64_t threads = 0;
  with_room(p, [&](auto most) {
    auto& params = launch.make_params<SumParamsOf<decltype(most)::value>>();
    fill(p, a, c, params);
    threads = std::max(static_cast<std::int64_t>(params.windows) * 32, static_cast<std::int64_t>(params.dense_slots));
  });
  const std::int64_t most = std::int64_t{c[kResident]} * model.multiprocessors;
  launch.block[0] = static_cast<std::uint32_t>(c[kThreads]);
  launch.grid[0] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(divide_up(threads, c[kThreads]), 1, most));
  launch.cooperative = launch.grid[0] > 1;
}

}  // namespace quern::embedding
