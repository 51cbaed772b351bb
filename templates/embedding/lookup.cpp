#include "embedding/lookup.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "common/divide.cuh"
#include "common/geometry.h"
#include "common/host_types.h"
#include "embedding/backward_ids.h"
#include "embedding/lengths.h"
#include "embedding/params.h"
#include "embedding/quantized.h"
#include "embedding/shape.h"

namespace quern::embedding {
namespace {

using common::divide_up;

constexpr std::int64_t kMostBytes = 32;  // of a slot, in out and in a table

Cut cut_of(const Embedding& p, const Config& c) {
  return {c[Lookup::kElements], is_pooled(p) ? 1 : c[Lookup::kUnroll], c[Lookup::kThreads]};
}

unsigned long long address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

bool needs_limits(const Embedding& p) { return p.hash == EmbeddingHash::modulus || checks(p) || has_padding(p); }

TableParams params_of(const Embedding& p, const EmbeddingArgs& a, int t, std::int64_t first, const Cut& cut) {
  const std::int64_t size = bytes(type_of(p, t));
  TableParams table{};
  const void* const begin = is_packed(p) ? a.packed.data : a.weights.entries[t].data;
  table.at = address(begin) - static_cast<unsigned long long>(first * cut.elements * size);
  table.stride = static_cast<unsigned>(stride_of(p, t) * size);
  table.type = row_type(type_of(p, t)) & 0xffU;
  if (p.hash == EmbeddingHash::modulus && !is_packed(p)) {
    const common::Divisor by_rows = common::make_divisor(static_cast<common::u64>(rows_of(p, t)));
    table.hash = by_rows.magic;
    table.shift = by_rows.shift & 0xffU;
  }
  if (has_vocabulary(p)) {
    table.hash = address(a.vocabularies.entries[t].data);
    table.shift = static_cast<unsigned>(__builtin_ctzll(static_cast<unsigned long long>(capacity_of(p, t)))) & 0xffU;
  }
  return table;
}

template <class Params>
void fill_tables(const Embedding& p, const EmbeddingArgs& a, const Cut& cut, Params& params) {
  constexpr bool kLimited = std::extent_v<decltype(params.limits)> != 1;
  constexpr bool kScaled = std::extent_v<decltype(params.scales)> != 1;
  std::fill(std::begin(params.first), std::end(params.first), std::numeric_limits<unsigned>::max());
  std::int64_t first = p.dense / cut.elements;
  for (int t = 0; t < tables(p); ++t) {
    params.first[t] = static_cast<unsigned>(first);
    params.tables[t] = params_of(p, a, t, first, cut);
    if constexpr (kLimited) params.limits[t] = {rows_of(p, t), has_padding(p) ? padding_of(p, t) : 0};
    if constexpr (kScaled) {
      if (has_scale(p, t))
        params.scales[t] = {address(a.scales.entries[t].data), scale_stride_of(p, t) * bytes(p.scale)};
    }
    first += dim_of(p, t) / cut.elements;
  }
}

// Threads that share a scale: those of a block, or of a row as far as a thread block has room.
std::int64_t sharing_threads(const Embedding& p, const Cut& cut) {
  if (p.scaling != EmbeddingScaling::row) return threads_of_block(p, cut.elements);
  return std::min(common::power_of_two_from(columns_of(p, cut)), cut.threads);
}

// They are in one tile.
unsigned lanes_log2(const Embedding& p, const Cut& cut) {
  const unsigned log2 = common::lanes_log2_of(columns_to_do(p, cut), cut.threads);
  if (!has_made_scales(p)) return log2;
  const auto sharing = static_cast<unsigned long long>(sharing_threads(p, cut));
  return std::max(log2, static_cast<unsigned>(__builtin_ctzll(sharing)));
}

template <class Params>
void fill(const Embedding& p, const EmbeddingArgs& a, const Cut& cut, Params& params) {
  const std::int64_t size = bytes(p.dtype), to_do = columns_to_do(p, cut);
  params.batch = p.batch;
  params.index = a.index.data;
  params.index_stride = index_stride(p) * bytes(p.index);
  params.columns = static_cast<unsigned>(columns_of(p, cut));
  params.lanes_log2 = lanes_log2(p, cut);
  params.across = static_cast<unsigned>(divide_up(to_do, std::int64_t{1} << params.lanes_log2));
  params.dense_columns = static_cast<unsigned>(p.dense / cut.elements);
  params.number_of_tables = static_cast<unsigned>(p.tables);
  fill_tables(p, a, cut, params);
  params.dense = a.dense.data;
  params.dense_stride = dense_stride(p) * size;
  params.out = a.out.data;
  params.out_stride = out_stride(p) * bytes(out_type(p));
  params.report = static_cast<unsigned long long*>(a.report.data);
  params.offsets = offsets_at(p, a);
  params.bags = static_cast<unsigned long long>(bags_of(p));
  params.sample_weights = a.sample_weights.data;
  params.count = p.count;
  params.places = static_cast<const long long*>(a.places.data);
  params.out_scales = has_given_scale(p) ? const_cast<void*>(a.given_scale.data) : a.out_scales.data;
}

template <class T>
struct Type {
  using type = T;
};

// Calls f with the parameter struct of a problem, as a type.
template <class F>
void with_params(const Embedding& p, F f) {
  const auto with_most = [&](auto most) {
    constexpr int kMost = decltype(most)::value;
    const bool scaled = p.scale != DType::none;
    if (needs_limits(p))
      return scaled ? f(Type<ParamsOf<kMost, true, true>>()) : f(Type<ParamsOf<kMost, true, false>>());
    return scaled ? f(Type<ParamsOf<kMost, false, true>>()) : f(Type<ParamsOf<kMost, false, false>>());
  };
  if (p.tables <= 2) return with_most(std::integral_constant<int, 2>());
  if (p.tables <= 8) return with_most(std::integral_constant<int, 8>());
  if (p.tables <= 32) return with_most(std::integral_constant<int, 32>());
  return with_most(std::integral_constant<int, 64>());
}

// What rows are and how ids name them.
void specialize_rows(const Embedding& p, Spec& spec) {
  spec.flag("checked", checks(p));
  spec.flag("padded", has_padding(p));
  spec.flag("weighted", p.sample_weights != DType::none);
  spec.integer("types", row_types(p));
  spec.type("Out", common::spec_type(p.dtype));
  spec.type("Index", common::spec_type(p.index));
  spec.flag("has_end", has_lengths(p));
  spec.flag("packed", is_packed(p));
  spec.integer("packed_bytes", is_packed(p) ? bytes(type_of(p, 0)) : 0);
  spec.type("Offset", common::spec_type(offset_type(p)));
  spec.type("Scale", common::spec_type(p.scale == DType::none ? f32 : p.scale));
  spec.type("Weight", common::spec_type(p.sample_weights == DType::none ? f32 : p.sample_weights));
  spec.choice("EmbeddingHash", "hash", kHashes[static_cast<int>(p.hash)]);
  spec.choice("EmbeddingMode", "mode", kModes[static_cast<int>(p.mode)]);
  spec.choice("EmbeddingPooling", "pooling", kPoolings[static_cast<int>(p.pooling)]);
}

std::int64_t least_threads(const Embedding& p, const Cut& cut) {
  return std::max<std::int64_t>(64, has_made_scales(p) ? sharing_threads(p, cut) : 1);
}

// Fewer threads where a small problem would leave multiprocessors idle: two blocks for each are enough.
Cut cut_for(const Embedding& p, const DeviceModel& model, const Config& config) {
  Cut cut = cut_of(p, config);
  const std::int64_t slots = p.batch * columns_of(p, cut), least = least_threads(p, cut);
  cut.threads = std::max(cut.threads, least);
  while (cut.threads > least && slots < std::int64_t{2} * model.multiprocessors * cut.threads * cut.tile_rows)
    cut.threads /= 2;
  return cut;
}

// As many rows in flight as keep two blocks for each multiprocessor, where the batch is known.
std::int32_t in_flight(const Embedding& p, std::int64_t elements, const DeviceModel& model) {
  const std::int64_t most = is_pooled(p) || has_made_scales(p) ? 4 : 8;
  std::int64_t unroll = std::clamp<std::int64_t>(64 / (elements * widest_type(p)), 2, most);
  if (is_pooled(p) && p.mode == EmbeddingMode::trap) unroll /= 2;  // the assertion's calls take registers too
  if (is_pooled(p) || p.batch == kOpen) return static_cast<std::int32_t>(unroll);
  const std::int64_t slots = p.batch * width_of(p) / elements;
  while (unroll > 1 && slots < std::int64_t{2} * model.multiprocessors * 256 * unroll) unroll /= 2;
  return static_cast<std::int32_t>(unroll);
}

Config config_for(const Embedding& p, std::int64_t elements, const DeviceModel& model) {
  Config config;
  config[Lookup::kElements] = static_cast<std::int32_t>(elements);
  config[Lookup::kUnroll] = in_flight(p, elements, model);
  config[Lookup::kThreads] = 256;
  config[Lookup::kStoreStream] = elements * bytes(p.dtype) >= 8 ? 1 : 0;
  return config;
}

}  // namespace

bool elements_divide(const Embedding& p, const Target&, const Config& c) {
  return natural_elements(p, 16) % c[Lookup::kElements] == 0;
}
bool elements_fit(const Embedding& p, const Target&, const Config& c) {
  return c[Lookup::kElements] * widest_type(p) <= kMostBytes;
}
bool registers_suffice(const Embedding& p, const Target&, const Config& c) {
  return c[Lookup::kElements] * widest_type(p) * c[Lookup::kUnroll] <= 128;
}

int Lookup::variants(const Embedding& p, const Target&, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  const std::int64_t natural = natural_elements(p, 16 / widest_type(p));
  out[0] = {"vector", config_for(p, natural, model)};
  // Addresses that are not aligned to the widest slot take the widest that divides them all.
  constexpr const char* kNarrower[] = {"half", "quarter"};
  int count = 1;
  for (std::int64_t elements = natural / 2; count <= 2 && elements > 1; elements /= 2, ++count)
    out[count] = {kNarrower[count - 1], config_for(p, elements, model)};
  if (natural > 1) out[count++] = {"element", config_for(p, 1, model)};
  return count;
}

// Of the list of tables, the largest of all entries; single elements are aligned to themselves, which quern checks.
std::uint32_t Lookup::alignment(const Embedding& p, int operand, const Config& config) {
  if (config[Lookup::kElements] == 1) return 1;
  const std::int64_t size =
      operand == kWeights || operand == kPacked ? widest_type(p) : bytes(operand == kOut ? out_type(p) : p.dtype);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(config[Lookup::kElements] * size, kMostBytes));
}

void Lookup::specialize(const Embedding& p, const Target&, const Config& config, Spec& spec) {
  with_params(p, [&](auto params) {
    using Params = typename decltype(params)::type;
    spec.integer("params_bytes", sizeof(Params));
    spec.integer("most", std::extent_v<decltype(Params::first)>);
  });
  spec.integer("max_threads", common::kMaxThreads);
  // Else the compiler reads one row of a bag after the other, to have the 32 registers of four blocks.
  spec.integer("resident_blocks", 2);
  spec.integer("elements", config[Lookup::kElements]);
  spec.integer("tile_rows", cut_of(p, config).tile_rows);
  spec.integer("ids_in_flight", config[Lookup::kUnroll]);
  spec.flag("load_once", config[Lookup::kLoadOnce] == 1);
  spec.flag("store_stream", config[Lookup::kStoreStream] == 1);
  spec.flag("limited", needs_limits(p));
  spec.flag("scaled", p.scale != DType::none);
  specialize_rows(p, spec);
  spec.part(is_pooled(p) ? "embedding/pooled.cuh" : "embedding/rows.cuh");
  specialize_scaling(p, spec);
}

void Lookup::launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
  launch.empty = p.batch == 0;
  if (launch.empty) return;
  const Cut cut = cut_for(p, model, config);
  std::int64_t tiles = 0;
  with_params(p, [&](auto type) {
    auto& params = launch.make_params<typename decltype(type)::type>();
    fill(p, a, cut, params);
    const std::int64_t tile_rows = (cut.threads >> params.lanes_log2) * cut.tile_rows;
    tiles = divide_up(rows_to_do(p), tile_rows) * (p.scaling == EmbeddingScaling::row ? 1 : params.across);
  });
  launch.block[0] = static_cast<std::uint32_t>(cut.threads);
  if (has_made_scales(p) && sharing_threads(p, cut) > 32)
    launch.shared_bytes = static_cast<std::uint32_t>(cut.threads / 32 * cut.tile_rows * 4);
  launch.grid[0] = static_cast<std::uint32_t>(std::min<std::int64_t>(tiles, std::numeric_limits<std::uint32_t>::max()));
}

template <int Most>
void fill_ids(const Embedding& p, const EmbeddingArgs& a, std::int64_t elements, IdParamsOf<Most>& params) {
  fill(p, a, {elements, 1, common::kMaxThreads}, params);
}
template void fill_ids(const Embedding&, const EmbeddingArgs&, std::int64_t, IdParamsOf<kFewTables>&);
template void fill_ids(const Embedding&, const EmbeddingArgs&, std::int64_t, IdParamsOf<kMaxEntries>&);

Embedding ids_alone(const Embedding& p) {
  Embedding ids = p;
  ids.dtype = f32;
  ids.table_dtype = {};
  ids.sample_weights = DType::none;
  if (is_pooled(p)) ids.pooling = EmbeddingPooling::sum;
  return ids;
}

void specialize_ids(const Embedding& p, std::int64_t elements, Spec& spec) {
  spec.integer("most", room_for_tables(p));
  spec.integer("elements", elements);
  spec.integer("tile_rows", 1);
  spec.integer("ids_in_flight", 1);
  spec.flag("load_once", false);
  spec.flag("store_stream", false);
  spec.flag("limited", true);
  spec.flag("scaled", false);
  Embedding silent = p;  // the forward pass has reported
  if (p.mode == EmbeddingMode::report) silent.mode = EmbeddingMode::zero;
  if (p.mode == EmbeddingMode::report_first) silent.mode = EmbeddingMode::first;
  specialize_rows(silent, spec);
}

}  // namespace quern::embedding
