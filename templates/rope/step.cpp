#include "rope/step.h"

#include <algorithm>

#include "common/geometry.h"
#include "common/host_types.h"
#include "quern/choice.h"
#include "quern/error.h"
#include "rope/params.h"
#include "rope/scaled.h"
#include "rope/staged.h"
#include "rope/tensors.h"
#include "rope/vectors.h"

namespace quern::rope {
namespace {

using common::divide_up;

constexpr const char* kPositionNames[] = {QUERN_ROPE_POSITIONS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kCacheNames[] = {QUERN_ROPE_CACHES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kSectionStyleNames[] = {QUERN_ROPE_SECTION_STYLES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kSectionNames[] = {"section_0", "section_1", "section_2", "section_3"};
constexpr const char* kBeyondNames[] = {QUERN_ROPE_BEYONDS(QUERN_CHOICE_NAME) nullptr};

// Whether a head's address is one of three or known late, or its elements have a factor.
bool has_many_forms(const Rope& p) { return has_values(p) || has_cache(p) || is_quantized(p); }

// Whether a thread computes the cosines and sines of its pairs from their frequencies, and does little else.
bool computes_pairs(const Rope& p) {
  return !has_cosines(p) && !computes_much(p) && !has_many_forms(p) && p.sections.count == 0;
}

constexpr std::int64_t kManyElements = std::int64_t{1} << 26;
std::int64_t elements_of(const Rope& p) { return batches(p) * p.seq * all_heads(p) * p.head_dim; }

// Heads of a thread at a time: 16 bytes of each half, so that many threads are in flight. Where a thread waits for more
// than cosines and sines, two heads share the wait.
std::int32_t many_heads(const Rope& p, std::int64_t vector) {
  const bool waits = computes_much(p) || has_many_forms(p) || p.sections.count > 0;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>((waits ? 32 : 16) / vector, 1, waits ? 2 : 4));
}

// How often a thread has so many heads. On an H200, 4 x 8192 x 32 x 128: with a table one time is fastest (131.5 us,
// two times 133.3), cosines and sines that are computed, in accesses of 8 bytes, take 129.3 us two times and 132.4 one
// time, but of 6 x 1842 x 72 x 80 66.4 and 64.8, those of angles 136 four times and 282 one time. In accesses of 2
// bytes the table costs more (head_dim=82 of 2 x 4096 x 32: 40.4 us, two times 36.6), unless a token's heads are far
// from each other (layout=bhsd: 30.4 us, two times 34.6).
std::int32_t many_rounds(const Rope& p, std::int64_t vector) {
  if (computes_much(p)) return 4;
  if (computes_pairs(p)) return is_open(p) || elements_of(p) >= kManyElements ? 2 : 1;
  return has_cosines(p) && (vector > 2 || axis_order(p).axis[0] != kHead) ? 1 : 2;
}

// Bytes of a thread's access to a head: in the staged form it is to shared memory.
std::int64_t unit_bytes(const Rope& p, const Config& c) { return is_staged(c) ? staged_unit(p) : c[kVector]; }

bool is_across(const Rope& p, const Config& c) { return !is_interleaved(p) || unit_bytes(p, c) == element_bytes(p); }

std::int64_t slots_of(const Rope& p, const Config& c) { return batches(p) * p.seq * groups_of(p, c) * units_of(p, c); }

Config config_of(std::int64_t vector, std::int32_t heads) {
  Config c;
  c[kVector] = static_cast<std::int32_t>(vector);
  c[kUnroll] = heads;
  c[kRounds] = 1;
  c[kThreads] = 128;
  c[kOffsets] = 64;
  return c;
}

// Where a thread computes cosines and sines, or has both its elements and their codes, many at once cost registers: of
// codes in a cache, 16 bytes take 64 on sm_90 and 72 on sm_100. On an H200 512 x 40 x 128 with computed ones takes
// 4.37 us in 8 bytes, two heads and narrow offsets, 5.23 in 16 bytes, 5.03 with one head; 4 x 1024 x 32 x 128 17.99,
// 19.41 and 22.14; fp32 2 x 1024 x 32 x 128 17.72, 18.71 and 17.57.
std::int64_t widest_default(const Rope& p, const Target& target) {
  if (computes_much(p)) return 4 * element_bytes(p);
  if (computes_pairs(p)) return 8;
  if (has_cache(p) && is_quantized(p) && target.arch >= 100) return 8;
  return has_cosines(p) && !is_quantized(p) ? common::widest_access(target) : 16;
}

// Of problems whose size is known at the launch only.
constexpr std::int64_t kFewElements = std::int64_t{1} << 21;
bool has_few_elements(const Rope& p) { return elements_of(p) < kFewElements; }

// Whether 31 bits hold the offset of each byte. Open extents count as 1. `width`: elements of a head.
bool is_narrow(const Extents& extents, const Strides& strides, std::int64_t width, DType type) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  std::int64_t elements = width;
  for (int i = 0; i < kAxisCount; ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(extents.of[i], 1) - 1, strides.of[i], &reach) || reach >= kMost)
      return false;
    elements += reach;
  }
  return elements * bytes(type) < kMost;
}
bool is_narrow(const Rope& p, int tensor) {
  const Extents in = input_extents(p, tensor), out = output_extents(p, tensor);
  return is_narrow(in, input_strides(p, tensor), p.head_dim, p.dtype) &&
         is_narrow(out, output_strides(p, tensor), p.head_dim, output_type(p, tensor)) &&
         (!makes_scales(p) || is_narrow(out, scale_strides(p, tensor), scales_of_head(p), scale_type(p)));
}

// Whether 32 bits hold all offsets, and the number of each thread.
bool are_narrow(const Rope& p) {
  for (const int tensor : {kTensorQ, kTensorK, kTensorV}) {
    if (has_tensor(p, tensor) && !is_narrow(p, tensor)) return false;
  }
  return is_open(p) || elements_of(p) < std::int64_t{1} << 31;
}
bool are_few_and_narrow(const Rope& p) { return has_few_elements(p) && are_narrow(p); }

// Whether narrow offsets are used also where the device is full: of some 16 us, where what comes before the first load
// counts, and of threads that have few bytes, or whose block makes scales, or that compute cosines and sines. On an
// H200, 2 x 4096 x 32 x 82 of layout=bhsd: 34.6 us, with wide ones 40.0; 4 x 8192 of table=angles 134.7 and 140.3;
// heads of 256 bytes 264 bytes apart 53.2 and 50.7; others in accesses of 16 bytes are as fast either way. The size of
// a cache gives small problems two images, and with those of large ones there would be five.
bool gains_by_offsets(const Rope& p, std::int64_t vector) {
  if (has_cache(p)) return false;
  const bool computes = computes_pairs(p) || has_angles(p);
  return vector <= 4 || makes_scales(p) || computes || elements_of(p) < std::int64_t{1} << 24;
}

// For a problem that fills the device.
Config config_for_many(const Rope& p, std::int64_t vector) {
  Config c = config_of(vector, many_heads(p, vector));
  if (!is_open(p) && gains_by_offsets(p, vector) && are_narrow(p)) c[kOffsets] = 32;
  while (2 * c[kRounds] <= many_rounds(p, vector) && 2 * heads_of_thread(c) <= all_heads(p)) c[kRounds] *= 2;
  return c;
}

// Whether that would leave a multiprocessor fewer than 512 threads.
bool has_few_threads(const Rope& p, const DeviceModel& model, std::int64_t vector) {
  return slots_of(p, config_for_many(p, vector)) < std::int64_t{512} * model.multiprocessors;
}

// One head a thread, and accesses of at most 8 bytes: a thread has little to do before it is done. Narrow offsets leave
// 73 instructions before the first load of a decoding step, wide ones 129: of 1 x 32 + 8 heads on an H200 1.50 us and
// 1.63. Two heads share what is computed (216 x 1 x 9 x 128 1.98 us and 2.09), unless few are left (8 x 71 x 3 x 128
// 2.05 and 1.98); in narrower accesses that would be one image more. Wide offsets, which large strides need, have the
// image of large problems where these have two already.
Config config_for_few(const Rope& p, std::int64_t vector) {
  const bool narrow = are_narrow(p), two = computes_pairs(p) && vector == 8 && all_heads(p) >= 8;
  if (!narrow && gains_by_offsets(p, vector)) return config_of(vector, many_heads(p, vector));
  Config c = config_of(std::min<std::int64_t>(vector, 8), two ? 2 : 1);
  if (narrow) c[kOffsets] = 32;
  return c;
}

// Where another variant is better for all but addresses that it does not take: one image for all sizes.
Config config_behind_others(const Rope& p, std::int64_t vector) {
  Config c = config_for_many(p, vector);
  c[kOffsets] = 64;
  return c;
}

// ---- The launch

template <int kBits>
void set_tensor(const Rope& p, const RopeArgs& a, int number, ParamsOf<kBits>& params) {
  using Stride = typename Sizes<kBits>::Stride;
  const Strides in = input_strides(p, number), out = output_strides(p, number);
  const AxisOrder order = axis_order(p);
  const std::int64_t in_bytes = element_bytes(p), out_bytes = bytes(output_type(p, number));
  TensorOf<kBits>& tensor = params.tensors[number];
  tensor.from = input_of(p, a, number);
  tensor.to = output_of(p, a, number);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t from = in.of[order.axis[i]] * in_bytes, to = out.of[order.axis[i]] * out_bytes;
    tensor.from_strides[i] = static_cast<Stride>(from);
    tensor.to_strides[i] = static_cast<Stride>(to);
  }
  params.scales[number] = static_cast<const float*>(scale_of(a, number));
  if (number != kTensorQ) return;
  const std::int64_t from = in.of[kGroup] * in_bytes, to = out.of[kGroup] * out_bytes;
  params.from_groups = static_cast<Stride>(from);
  params.to_groups = static_cast<Stride>(to);
}

template <int kBits>
void set_cache(const Rope& p, const RopeArgs& a, ParamsOf<kBits>& params) {
  const Extents cache = output_extents(p, kTensorK);
  params.slots_of_tokens = a.slots.data;
  params.pages = static_cast<const int*>(a.pages.data);
  params.cache_pages = cache.of[kBatch];
  params.page_size = cache.of[kToken];
  params.max_pages = p.max_pages;
  params.by_page = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, p.page_size)));
}

common::Divisor divisor_of(std::int64_t extent, common::Divisor) {
  return common::make_divisor(static_cast<std::uint64_t>(extent));
}
common::Divisor32 divisor_of(std::int64_t extent, common::Divisor32) {
  return common::make_divisor32(static_cast<std::uint64_t>(extent));
}

template <int kBits>
void set_axes(const Rope& p, const Config& c, ParamsOf<kBits>& params) {
  const std::int64_t extents[] = {batches(p), p.seq, groups_of(p, c)};
  const AxisOrder order = axis_order(p);
  for (int i = 0; i < 2; ++i) {
    const std::int64_t extent = std::max<std::int64_t>(1, extents[order.axis[i]]);
    params.axes.extents[i] = static_cast<typename Sizes<kBits>::Stride>(extent);
    params.axes.by[i] = divisor_of(extent, params.axes.by[i]);
  }
}

template <int kBits>
void set_table(const Rope& p, const RopeArgs& a, ParamsOf<kBits>& params) {
  params.cos = a.cos.data;
  params.sin = a.sin.data;
  params.angles = a.angles.data;
  if (p.table == RopeTable::joined && a.cos.data != nullptr)
    params.sin = static_cast<const std::byte*>(a.cos.data) + entries(p) * bytes(p.table_dtype);
  params.table_rows = table_rows(p);
}

// What all forms have.
template <int kBits>
void set_common(const Rope& p, const RopeArgs& a, ParamsOf<kBits>& params) {
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    if (has_tensor(p, tensor)) set_tensor(p, a, tensor, params);
  }
  set_table(p, a, params);
  if (has_cache(p)) set_cache(p, a, params);
  params.positions = a.positions.data;
  params.report = static_cast<unsigned long long*>(a.report.data);
  params.offset = a.offset;
  params.seq = p.seq;
  params.tokens = batches(p) * p.seq;
  params.cp_size = static_cast<int>(p.cp_size);
  params.cp_rank = static_cast<int>(a.cp_rank);
  params.cu_seqlens = static_cast<const int*>(a.cu_seqlens.data);
  params.sequences = static_cast<int>(is_packed(p) ? p.batch : 0);
  params.heads = static_cast<unsigned>(p.heads);
  params.kv_heads = static_cast<unsigned>(p.kv_heads);
  params.all_heads = static_cast<unsigned>(all_heads(p));
}

// Of the forms in which a thread has parts of heads.
template <int kBits>
void set_groups(const Rope& p, const Config& c, ParamsOf<kBits>& params) {
  set_axes(p, c, params);
  params.groups = static_cast<unsigned>(groups_of(p, c));
  params.rounds = static_cast<unsigned>(c[kRounds]);
  if (!is_grouped(p)) return;
  params.heads_of_key = static_cast<unsigned>(p.heads / p.kv_heads);
  params.by_key = common::make_divisor32(std::max(1U, params.heads_of_key));
}

template <int kBits>
void launch_heads(const Rope& p, const RopeArgs& a, const DeviceModel& model, const Config& c, Launch& launch) {
  auto& params = launch.make_params<ParamsOf<kBits>>();
  set_common(p, a, params);
  set_groups(p, c, params);
  const std::int64_t units = units_of(p, c), rows = batches(p) * p.seq * groups_of(p, c);
  const auto slots = static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(units);
  params.slots = static_cast<typename Sizes<kBits>::Count>(slots);
  common::launch_slots(slots, 1, c[kThreads], model, launch);
}

template <int kBits>
void launch_with_scales(const Rope& p, const RopeArgs& a, const DeviceModel& model, const Config& c, Launch& launch) {
  auto& params = launch.make_params<ScaledParamsOf<kBits>>();
  set_common(p, a, params.all);
  set_groups(p, c, params.all);
  launch_scaled(p, a, model, c, params, launch);
}

// Bytes of its parameters.
std::size_t params_bytes(const Rope& p, const Config& c) {
  const bool narrow = c[kOffsets] == 32;
  if (is_staged(c)) return sizeof(StagedParams);
  if (makes_scales(p)) return narrow ? sizeof(ScaledParamsOf<32>) : sizeof(ScaledParamsOf<64>);
  return narrow ? sizeof(ParamsOf<32>) : sizeof(ParamsOf<64>);
}

}  // namespace

std::int64_t units_of(const Rope& p, const Config& c) {
  const std::int64_t elements = c[kVector] / element_bytes(p);
  return divide_up(rotary_dim(p) / elements, 2) + divide_up(copies(p) / elements, 2);
}

std::int64_t groups_of(const Rope& p, const Config& c) { return divide_up(all_heads(p), heads_of_thread(c)); }

bool vector_divides(const Rope& p, const Target&, const Config& c) {
  return is_staged(c) || natural_vector(p, 32) % c[kVector] == 0;
}
bool vector_exists(const Rope&, const Target& t, const Config& c) { return c[kVector] <= common::widest_access(t); }
bool vector_holds_elements(const Rope& p, const Target&, const Config& c) { return c[kVector] >= element_bytes(p); }
bool offsets_suffice(const Rope& p, const Target&, const Config& c) { return c[kOffsets] == 64 || are_narrow(p); }
bool registers_suffice(const Rope& p, const Target&, const Config& c) { return unit_bytes(p, c) * c[kUnroll] <= 64; }

int rope_variants(const Rope& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  const std::int64_t vector = natural_vector(p, widest_default(p, target)), element = element_bytes(p);
  const bool is_few = !is_open(p) && has_few_threads(p, model, vector);
  int count = 0;
  if (is_open(p)) {
    const bool narrow = are_narrow(p);
    out[count++] = {"few", config_for_few(p, vector),
                    narrow ? &is_so<Rope, are_few_and_narrow> : &is_so<Rope, has_few_elements>};
  }
  const bool staged = !is_few && is_staged_by_default(p);
  if (staged) out[count++] = {"staged", staged_config(p)};
  out[count++] = {"vector", is_few   ? config_for_few(p, vector)
                            : staged ? config_behind_others(p, vector)
                                     : config_for_many(p, vector)};
  if (vector > element) out[count++] = {"element", config_behind_others(p, element)};
  for (int i = 0; i < count && makes_scales(p); ++i) out[i].config = scaled_config(p, out[i].config);
  return count;
}

// Of an operand that is a tensor: its number.
int tensor_of_output(int operand) { return operand == kQOut ? kTensorQ : operand == kKOut ? kTensorK : kTensorV; }

// Of the table: as many entries as a thread reads at once.
std::uint32_t operand_alignment(const Rope& p, int operand, const Config& c) {
  if (operand == kQOut || operand == kKOut || operand == kVOut) {
    const std::int64_t size = bytes(output_type(p, tensor_of_output(operand)));
    return static_cast<std::uint32_t>(c[kVector] / element_bytes(p) * size);
  }
  if (operand != kCos && operand != kSin && operand != kAngles) return static_cast<std::uint32_t>(c[kVector]);
  const std::int64_t entries = unit_bytes(p, c) / element_bytes(p) / (is_across(p, c) || has_angles(p) ? 1 : 2);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(16, std::min(entries, axis_run(p)) * bytes(p.table_dtype)));
}

void specialize_rope(const Rope& p, const Config& c, Spec& spec) {
  const AxisOrder order = axis_order(p);
  spec.header("common/numbers.cuh");
  spec.header("rope/rope_choices.h");
  spec.integer("params_bytes", params_bytes(p, c));
  spec.integer("max_threads", common::kMaxThreads);
  spec.integer("vector", unit_bytes(p, c));
  if (is_staged(c)) spec.integer("wide", c[kVector]);
  spec.integer("unroll", c[kUnroll]);
  spec.integer("offsets", c[kOffsets]);
  spec.type("Element", common::spec_type(p.dtype));
  spec.type("Index", common::spec_type(p.index));
  spec.integer("rotary_dim", rotary_dim(p));
  spec.integer("rotary_offset", p.rotary_offset);
  spec.integer("copies", copies(p));
  spec.flag("interleaved", is_interleaved(p));
  spec.flag("conjugate", p.pass != RopePass::forward);
  spec.flag("in_place", is_in_place(p));
  spec.flag("grouped", is_grouped(p));
  spec.flag("has_values", has_values(p));
  spec.flag("quantizes", is_quantized(p));
  spec.flag("quantizes_q", is_quantized(p, kTensorQ));
  spec.type("Quantized", common::spec_type(is_quantized(p) ? p.element : p.dtype));
  spec.choice("RopeCache", "cache", kCacheNames[static_cast<int>(p.cache)]);
  spec.flag("packed", is_packed(p));
  spec.flag("has_chunks", has_chunks(p));
  spec.choice("RopePosition", "position", kPositionNames[static_cast<int>(p.position)]);
  spec.choice("RopeBeyond", "beyond", kBeyondNames[static_cast<int>(p.beyond)]);
  spec.integer("axes", axes(p));
  spec.integer("axis_run", axis_run(p));
  spec.choice("RopeSectionStyle", "section_style", kSectionStyleNames[static_cast<int>(p.section_style)]);
  for (int i = 0; i < 4; ++i) spec.integer(kSectionNames[i], p.sections[i]);
  spec.integer("batch_axis", order.number(kBatch));
  spec.integer("token_axis", order.number(kToken));
  spec.integer("head_axis", order.number(kHead));
  spec.flag("has_table", has_table(p));
  spec.flag("has_angles", has_angles(p));
  if (has_table(p)) {
    spec.type("Table", common::spec_type(p.table_dtype));
    spec.integer("table_stride", table_stride(p));
    spec.part(has_angles(p) ? "rope/angles.cuh" : "rope/table.cuh");
  } else {
    spec.source("frequencies.cuh", frequencies_source(p));
    spec.part("rope/computed.cuh");
  }
  if (makes_scales(p)) return specialize_scaled(p, spec);
  spec.part(is_staged(c) ? "rope/staged.cuh" : "rope/heads.cuh");
}

void launch_rope(const Rope& p, const RopeArgs& a, const DeviceModel& model, const Config& c, Launch& launch) {
  if (const std::string refusal = check_launch(p, a); !refusal.empty())
    throw Error(Code::bad_input, Stage::launch, refusal);
  const bool narrow = c[kOffsets] == 32;
  if (is_staged(c)) {
    auto& params = launch.make_params<StagedParams>();
    set_common(p, a, params.all);
    return launch_staged(p, c, params, launch);
  }
  if (makes_scales(p))
    return narrow ? launch_with_scales<32>(p, a, model, c, launch) : launch_with_scales<64>(p, a, model, c, launch);
  return narrow ? launch_heads<32>(p, a, model, c, launch) : launch_heads<64>(p, a, model, c, launch);
}

}  // namespace quern::rope
