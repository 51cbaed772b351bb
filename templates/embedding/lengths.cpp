#include "embedding/lengths.h"

#include <algorithm>

#include "common/geometry.h"
#include "common/host_types.h"
#include "embedding/backward.h"
#include "embedding/backward_ids.h"

namespace quern::embedding {
namespace {

using common::divide_up;

// Whole warps of bags; so many that a block has a few rounds of them.
std::int64_t bags_of_block(const Embedding& p, const DeviceModel& model, const Config& c) {
  const std::int64_t most = std::min<std::int64_t>(kMostSums, model.multiprocessors);
  const std::int64_t round = std::int64_t{c[SumLengths::kThreads]} * c[SumLengths::kUnroll];
  const std::int64_t blocks = std::clamp<std::int64_t>(divide_up(bags_of(p), round), 1, most);
  return divide_up(bags_of(p), blocks * 32) * 32;
}

}  // namespace

unsigned long long* made_offsets(const Embedding& p, const EmbeddingArgs& a) {
  if (a.workspace.data == nullptr) return nullptr;
  const std::int64_t words = is_backward(p) ? workspace_of(p).offsets : words_of_lengths(p);
  return static_cast<unsigned long long*>(a.workspace.data) + words / 2;
}

std::vector<std::int64_t> offsets_of(const Embedding& p, const EmbeddingArgs& a) {
  const std::int64_t bags = bags_of(p);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(bags + 1), p.count);
  if (!has_lengths(p)) {
    for (std::int64_t bag = 0; bag < bags; ++bag)
      offsets[static_cast<std::size_t>(bag)] = common::read_integer(p.offsets, a.offsets.data, bag);
    return offsets;
  }
  std::uint64_t sum = 0;
  for (std::int64_t bag = 0; bag <= bags; ++bag) {
    offsets[static_cast<std::size_t>(bag)] = static_cast<std::int64_t>(sum);
    if (bag < bags) sum += static_cast<std::uint64_t>(common::read_integer(p.offsets, a.lengths.data, bag));
  }
  return offsets;
}

int SumLengths::variants(const Embedding&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
  out[0].name = "scan";
  out[0].config[kThreads] = 512;
  out[0].config[kUnroll] = 4;
  return 1;
}

void SumLengths::specialize(const Embedding& p, const Target&, const Config& config, Spec& spec) {
  spec.integer("params_bytes", sizeof(LengthParams));
  spec.integer("max_threads", config[kThreads]);
  spec.integer("unroll", config[kUnroll]);
  spec.type("Offset", common::spec_type(p.offsets));
}

void SumLengths::launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config,
                        Launch& launch) {
  const std::int64_t bags = bags_of(p);
  launch.empty = bags == 0 || (is_backward(p) && p.count == 0);
  if (launch.empty) return;
  const std::int64_t each = bags_of_block(p, model, config), blocks = divide_up(bags, each);
  auto& params = launch.make_params<LengthParams>();
  params.lengths = a.lengths.data;
  params.offsets = made_offsets(p, a);
  params.sums = static_cast<unsigned long long*>(a.workspace.data);
  params.barrier = words_at(a, std::int64_t{2} * kMostSums);
  params.ended = words_at(a, std::int64_t{2} * kMostSums + 1);
  params.bags = static_cast<unsigned long long>(bags);
  params.each = static_cast<unsigned long long>(each);
  launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
  launch.grid[0] = static_cast<std::uint32_t>(blocks);
  launch.shared_bytes = 33 * 8;
  launch.cooperative = blocks > 1;
}

}  // namespace quern::embedding
