#include <algorithm>
#include <type_traits>

#include "common/geometry.h"
#include "embedding/backward_ids.h"
#include "embedding/backward_steps.h"

namespace quern::embedding {
namespace {

// As index_sort's, which an H200 has measured: narrow blocks of few ids, wide ones of more. With 1024 threads, which
// are 2 % faster for 2.5 million ids, making a key takes more registers than there are on some architectures.
constexpr std::int64_t kFew = 4096, kFewBlockIds = 256, kBlockIds = 1024;
bool is_few(const Embedding& p) { return ids_of(p) <= kFew; }

// The fewest passes, with digits of one size.
std::int32_t preferred_bits(const Embedding& p, std::int32_t most) {
  const int passes = passes_of(p, most);
  return std::max(SortIds::kBitCounts[0], (key_bits(p) + passes - 1) / passes);
}

std::int64_t ids_of_block(const Embedding& p, const DeviceModel& model) {
  const std::int64_t most = std::min<std::int64_t>(kMostBlocks, model.multiprocessors), ids = ids_of(p);
  const std::int64_t enough = common::divide_up(ids, is_few(p) ? kFewBlockIds : kBlockIds);
  const std::int64_t blocks = std::clamp<std::int64_t>(enough, 1, most);
  return common::divide_up(ids, blocks * 32) * 32;
}

template <int Most>
void fill(const Embedding& p, const EmbeddingArgs& a, SortParamsOf<Most>& params) {
  const RowArgs rows(p, a);
  fill_ids(p, rows.args(), 1, params.ids);
  std::int64_t base = 0;
  for (int t = 0; t < tables(p); ++t) {
    params.base[t] = static_cast<unsigned long long>(base);
    base += rows_of(p, t);
  }
  params.rows = static_cast<unsigned long long>(base);
  params.bags = static_cast<unsigned>(bags_of(p));
  params.by_divisor = common::make_divisor32(static_cast<std::uint64_t>(is_pooled(p) ? p.batch : p.tables));
  const Workspace w = workspace_of(p);
  params.out = {words_at(a, w.keys), words_at(a, w.values), words_at(a, w.highs)};
  for (std::int64_t i = 0; i < 2; ++i)
    params.spare[i] = {sort::pairs_at(a.workspace.data, w.spare + 2 * i * w.ids),
                       words_at(a, w.spare + (4 + i) * w.ids)};
  params.table = words_at(a, w.table);
  params.ended = words_at(a, w.ended);
  params.barrier = words_at(a, w.ended + 1);
}

// Where embedding/backward_keys.cuh has the tables in shared memory, and their bytes.
std::uint32_t tables_at(const Embedding& p, const Config& c) {
  using Parameters = SortIds::Parameters;
  const std::uint32_t bytes =
      sort::shared_bytes(c[Parameters::kThreads], c[Parameters::kUnroll], c[Parameters::kBits], has_wide_keys(p));
  return (bytes + 15) / 16 * 16;
}
std::uint32_t bytes_of_tables(const Embedding& p) { return static_cast<std::uint32_t>(room_for_tables(p)) * 36; }

}  // namespace

int SortIds::variants(const Embedding& p, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
  int count = 0;
  const auto add = [&](const char* name, std::int32_t threads, std::int32_t unroll, bool (*fits)(const void*)) {
    Variant& variant = out[count++];
    variant.name = name;
    variant.config[kThreads] = threads;
    variant.config[kUnroll] = unroll;
    variant.config[kBits] = preferred_bits(p, threads == 256 ? 8 : kMostBits);
    variant.fits = fits;
  };
  const bool open = ids_of(p) == kOpen;
  if (open || is_few(p)) add("few", 256, 1, open ? &is_so<Embedding, is_few> : nullptr);
  if (open || !is_few(p)) add("many", 512, 8, nullptr);
  return count;
}

void SortIds::specialize(const Embedding& p, const Target&, const Config& config, Spec& spec) {
  with_room(p, [&](auto most) { spec.integer("params_bytes", sizeof(SortParamsOf<decltype(most)::value>)); });
  spec.integer("max_threads", config[kThreads]);
  spec.integer("unroll", config[kUnroll]);
  spec.integer("bits", config[kBits]);
  spec.integer("tables_at", tables_at(p, config));
  spec.flag("wide_keys", has_wide_keys(p));
  spec.flag("values_are_bags", values_are_bags(p));
  specialize_ids(ids_alone(p), 1, spec);
}

void SortIds::launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config,
                     Launch& launch) {
  launch.empty = p.batch == 0 || ids_of(p) == 0;
  if (launch.empty) return;
  const std::int64_t each = ids_of_block(p, model), blocks = common::divide_up(ids_of(p), each);
  with_room(p, [&](auto most) {
    auto& params = launch.make_params<SortParamsOf<decltype(most)::value>>();
    fill(p, a, params);
    params.count = static_cast<unsigned>(ids_of(p));
    params.block_items = static_cast<unsigned>(each);
    params.passes = static_cast<unsigned>(passes_of(p, config[kBits]));
  });
  launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
  launch.grid[0] = static_cast<std::uint32_t>(blocks);
  launch.shared_bytes = tables_at(p, config) + bytes_of_tables(p);
  launch.cooperative = blocks > 1;
}

}  // namespace quern::embedding
