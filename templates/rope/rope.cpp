#include "rope/rope.h"

#include "quern/choice.h"
#include "quern_embedded/rope.h"
#include "rope/scaled.h"
#include "rope/staged.h"
#include "rope/step.h"
#include "rope/tensors.h"

namespace quern {
namespace {

using namespace rope;

constexpr DTypeSet kTypes = only(f32) | only(f16) | only(bf16);
constexpr const char* kLayouts[] = {QUERN_ROPE_LAYOUTS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kStyles[] = {QUERN_ROPE_STYLES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kPasses[] = {QUERN_ROPE_PASSES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kTables[] = {QUERN_ROPE_TABLES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kScalings[] = {QUERN_ROPE_SCALINGS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kPositionChoices[] = {QUERN_ROPE_POSITIONS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kSectionStyles[] = {QUERN_ROPE_SECTION_STYLES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kBeyonds[] = {QUERN_ROPE_BEYONDS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kValues[] = {QUERN_ROPE_VALUES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kQuantized[] = {QUERN_ROPE_QUANTIZED(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kCaches[] = {QUERN_ROPE_CACHES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kScales[] = {QUERN_ROPE_SCALES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kPlaces[] = {QUERN_ROPE_PLACES(QUERN_CHOICE_NAME) nullptr};

constexpr std::int32_t kForms[] = {kHeadsForm, kStagedForm, kNoMore};
constexpr std::int32_t kVectors[] = {2, 4, 8, 16, 32, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kRoundCounts[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kOffsetBits[] = {32, 64, kNoMore};
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
constexpr std::int32_t kHeadsOfRuns[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, kNoMore};

// `width`: elements of a head.
Layout tensor_layout(DType type, const Extents& extents, const Strides& strides, std::int64_t width) {
  const bool open = extents.of[kBatch] == kOpen || extents.of[kToken] == kOpen;  // some strides are not known then
  Layout layout;
  layout.dtype = type;
  const auto add = [&](Axis axis) {
    layout.extents[layout.rank] = extents.of[axis];
    layout.strides[layout.rank++] = open ? 0 : strides.of[axis];
  };
  add(kBatch);
  add(kToken);
  if (extents.of[kGroup] != 1) add(kGroup);
  add(kHead);
  layout.extents[layout.rank] = width;
  layout.strides[layout.rank++] = 1;
  return layout;
}
template <int T>
Layout input_layout(const Rope& p) {
  if (!has_tensor(p, T) || is_in_place(p, T)) return {};
  return tensor_layout(p.dtype, input_extents(p, T), input_strides(p, T), p.head_dim);
}
template <int T>
Layout output_layout(const Rope& p) {
  if (!has_tensor(p, T)) return {};
  return tensor_layout(output_type(p, T), output_extents(p, T), output_strides(p, T), p.head_dim);
}
Layout cos_layout(const Rope& p) {
  if (!has_cosines(p)) return {};
  return Layout::matrix(p.table_dtype, table_rows(p), table_stride(p), table_stride(p));
}
Layout sin_layout(const Rope& p) { return p.table == RopeTable::joined ? Layout{} : cos_layout(p); }
Layout angles_layout(const Rope& p) {
  if (!has_angles(p)) return {};
  return Layout::matrix(f32, table_rows(p), table_stride(p), table_stride(p));
}
Layout positions_layout(const Rope& p) {
  if (p.position == RopePosition::sequence || p.position == RopePosition::tokens) return {};
  if (p.position == RopePosition::starts) return Layout::list(p.index, p.batch);
  const std::int64_t row = p.seq == kOpen ? 0 : p.seq;
  if (p.sections.count == 0) return Layout::matrix(p.index, p.batch, p.seq, row);
  return Layout::matrices(p.index, axes(p), p.batch, p.seq, is_open(p) ? 0 : p.batch * p.seq, row);
}
Layout cu_seqlens_layout(const Rope& p) {
  return Layout::list(is_packed(p) ? DType::i32 : DType::none, p.batch == kOpen ? kOpen : p.batch + 1);
}
template <int T>
Layout scale_layout(const Rope& p) {
  return Layout::list(is_quantized(p, T) && !makes_scales(p) ? f32 : DType::none, 1);
}
template <int T>
Layout made_scales_layout(const Rope& p) {
  if (!is_quantized(p, T) || !makes_scales(p)) return {};
  return tensor_layout(scale_type(p), output_extents(p, T), scale_strides(p, T), scales_of_head(p));
}
Layout slots_layout(const Rope& p) {
  if (p.cache != RopeCache::slots) return {};
  return Layout::matrix(p.index, batches(p), p.seq, p.seq == kOpen ? 0 : p.seq);
}
Layout pages_layout(const Rope& p) {
  if (p.cache != RopeCache::pages) return {};
  return Layout::matrix(DType::i32, p.batch, p.max_pages, p.max_pages);
}
Layout report_layout(const Rope& p) {
  return Layout::list(p.beyond == RopeBeyond::report ? DType::i64 : DType::none, 1);
}

template <Layout (*F)(const Rope&)>
constexpr auto layout = &layout_of<Rope, F>;
template <bool (*F)(const Rope&, const Target&, const Config&)>
constexpr auto holds = &holds_for<Rope, F>;
template <bool (*F)(const Rope&, const Config&)>
constexpr auto applies = &applies_to<Rope, F>;

bool has_runs(const Rope&, const Config& c) { return is_staged(c); }
bool has_offsets(const Rope&, const Config& c) { return !is_staged(c); }
bool has_rounds(const Rope& p, const Config&) { return !makes_scales(p); }

struct RopeFamily {
  using Problem = Rope;
  using Args = RopeArgs;
  static constexpr const char* kName = "rope";
  static constexpr const char* kSentence = "rotary position embeddings of queries and keys, and their gradient";

  static constexpr Field kFields[] = {
      extent_field("batch", offsetof(Rope, batch), true, "sequences"),
      extent_field("seq", offsetof(Rope, seq), true, "tokens of a sequence; layout=thd: of all sequences"),
      integer_field("heads", offsetof(Rope, heads), 0, 1 << 20, "heads of q"),
      integer_field("kv_heads", offsetof(Rope, kv_heads), 0, 1 << 20, "heads of k; 0: q only"),
      extent_field("head_dim", offsetof(Rope, head_dim), false, "elements of a head"),
      extent_field("rotary_dim", offsetof(Rope, rotary_dim), false,
                   "elements of a head that are rotated; 0: all from rotary_offset on"),
      extent_field("rotary_offset", offsetof(Rope, rotary_offset), false, "the first element that is rotated"),
      choice_field("layout", offsetof(Rope, layout), kLayouts,
                   "order of memory: batch, seq, heads, head_dim; thd: sequences of different lengths, by cu_seqlens"),
      choice_field("style", offsetof(Rope, style), kStyles,
                   "half: pairs j, j + rotary_dim / 2; interleaved: 2j, 2j + 1"),
      choice_field("pass", offsetof(Rope, pass), kPasses, "backward: the gradient; inverse: the input again"),
      choice_field(
          "table", offsetof(Rope, table), kTables,
          "separate: cos and sin of rotary_dim / 2; doubled: of rotary_dim; joined: both in one; angles: in radians; "
          "computed: none"),
      dtype_field("dtype", offsetof(Rope, dtype), kTypes, "element type of q and k"),
      dtype_field("table_dtype", offsetof(Rope, table_dtype), kTypes, "element type of the table"),
      extent_field("table_rows", offsetof(Rope, table_rows), false, "positions that the table has; 0: seq"),
      real_field("theta", offsetof(Rope, theta), 1, std::int64_t{1} << 40, "table=computed: the base of frequencies"),
      choice_field("rope_scaling", offsetof(Rope, rope_scaling), kScalings,
                   "of frequencies: all by factor, or Llama 3.1's"),
      real_field("factor", offsetof(Rope, factor), 0, 1 << 20,
                 "rope_scaling: what frequencies are divided by; 0: 8, of llama3 only"),
      real_field("low_factor", offsetof(Rope, low_factor), 0, 1 << 20,
                 "llama3: fewer turns in old_context are divided by factor"),
      real_field("high_factor", offsetof(Rope, high_factor), 0, 1 << 20, "llama3: more turns are not"),
      integer_field("old_context", offsetof(Rope, old_context), 1, std::int64_t{1} << 40, "llama3: positions"),
      choice_field(
          "position", offsetof(Rope, position), kPositionChoices,
          "of a token: its number; plus a start for each batch; an id for each token; its number in all batches"),
      list_field("sections", offsetof(Rope, sections), Rope{}.sections, 0, kMaxExtent,
                 "pairs of each axis of positions; none: a token has one position"),
      choice_field("section_style", offsetof(Rope, section_style), kSectionStyles,
                   "which pairs a section has, and which entries of the table"),
      integer_field("cp_size", offsetof(Rope, cp_size), 1, 1 << 16,
                    "ranks that share each sequence; seq is what one of them has"),
      dtype_field("index", offsetof(Rope, index), only(DType::i32) | only(DType::i64), "type of positions"),
      choice_field("beyond", offsetof(Rope, beyond), kBeyonds, "what a position outside of the table gives"),
      choice_field("place", offsetof(Rope, place), kPlaces, "in_place: q_out and k_out hold the input"),
      choice_field("values", offsetof(Rope, values), kValues, "copied: v goes to v_out as it is"),
      dtype_field("element", offsetof(Rope, element), only(DType::none) | only(e4m3) | only(e5m2),
                  "type of quantized outputs"),
      choice_field("quantized", offsetof(Rope, quantized), kQuantized, "the outputs that element is the type of"),
      choice_field("scaling", offsetof(Rope, scaling), kScales,
                   "with element, what shares a scale: everything of a tensor, a head, 128 or 32 elements of it"),
      choice_field("mode", offsetof(Rope, mode), kScaleModes, "scaling other than tensor: how scales are rounded"),
      choice_field("policy", offsetof(Rope, policy), kScalePolicies,
                   "scaling=mx: what NaNs and infinities do to a block"),
      choice_field("cache", offsetof(Rope, cache), kCaches, "where k_out and v_out have a token, if they are caches"),
      extent_field("cache_pages", offsetof(Rope, cache_pages), false, "pages that the cache has; positions: batch"),
      extent_field("page_size", offsetof(Rope, page_size), false, "tokens of a page of the cache"),
      extent_field("max_pages", offsetof(Rope, max_pages), false, "cache=pages: pages that a batch can have"),
      list_field("q_strides", offsetof(Rope, q_strides), Rope{}.q_strides, 0, kMaxExtent,
                 "elements between batches, tokens and heads of q, and groups of them; none: as layout says"),
      list_field("k_strides", offsetof(Rope, k_strides), Rope{}.k_strides, 0, kMaxExtent, "the same of k"),
      list_field("v_strides", offsetof(Rope, v_strides), Rope{}.v_strides, 0, kMaxExtent, "the same of v"),
      list_field("q_out_strides", offsetof(Rope, q_out_strides), Rope{}.q_out_strides, 0, kMaxExtent,
                 "the same of q_out"),
      list_field("k_out_strides", offsetof(Rope, k_out_strides), Rope{}.k_out_strides, 0, kMaxExtent,
                 "the same of k_out; of a cache between pages, tokens and heads"),
      list_field("v_out_strides", offsetof(Rope, v_out_strides), Rope{}.v_out_strides, 0, kMaxExtent,
                 "the same of v_out"),
  };
  static constexpr Operand kOperands[] = {
      {"q", Role::input, offsetof(RopeArgs, q), true, layout<input_layout<kTensorQ>>, "[batch, seq, heads, head_dim]",
       "the queries; backward: the gradient of q_out"},
      {"k", Role::input, offsetof(RopeArgs, k), true, layout<input_layout<kTensorK>>,
       "[batch, seq, kv_heads, head_dim]", "kv_heads > 0: the keys"},
      {"v", Role::input, offsetof(RopeArgs, v), true, layout<input_layout<kTensorV>>,
       "[batch, seq, kv_heads, head_dim]", "values=copied: the values"},
      {"cos", Role::input, offsetof(RopeArgs, cos), true, layout<cos_layout>,
       "[table_rows, rotary_dim / 2]; doubled, joined: [table_rows, rotary_dim]", "cosines; joined: and sines"},
      {"sin", Role::input, offsetof(RopeArgs, sin), true, layout<sin_layout>, "as cos", "sines; joined: none"},
      {"angles", Role::input, offsetof(RopeArgs, angles), true, layout<angles_layout>, "[table_rows, rotary_dim]",
       "table=angles: in radians, of each rotated element"},
      {"positions", Role::input, offsetof(RopeArgs, positions), false, layout<positions_layout>,
       "starts: [batch]; ids: [batch, seq], with sections [axes, batch, seq]", "where tokens are"},
      {"cu_seqlens", Role::input, offsetof(RopeArgs, cu_seqlens), false, layout<cu_seqlens_layout>, "[batch + 1]",
       "layout=thd: where sequences begin, and where the last one ends"},
      {"q_scale", Role::input, offsetof(RopeArgs, q_scale), false, layout<scale_layout<kTensorQ>>, "[1]",
       "quantized=all, scaling=tensor: by whose reciprocal queries are multiplied"},
      {"k_scale", Role::input, offsetof(RopeArgs, k_scale), false, layout<scale_layout<kTensorK>>, "[1]",
       "element, scaling=tensor: the same of keys"},
      {"v_scale", Role::input, offsetof(RopeArgs, v_scale), false, layout<scale_layout<kTensorV>>, "[1]",
       "the same of values, with values=copied"},
      {"slots", Role::input, offsetof(RopeArgs, slots), false, layout<slots_layout>, "[batch, seq]",
       "cache=slots: where in the cache tokens are placed"},
      {"pages", Role::input, offsetof(RopeArgs, pages), false, layout<pages_layout>, "[batch, max_pages]",
       "cache=pages: the pages that a batch has in the cache"},
      {"q_out", Role::update, offsetof(RopeArgs, q_out), true, layout<output_layout<kTensorQ>>,
       "[batch, seq, heads, head_dim]", "the rotated queries", nullptr, &is_so<Rope, writes_queries_whole>},
      {"k_out", Role::update, offsetof(RopeArgs, k_out), true, layout<output_layout<kTensorK>>,
       "[batch, seq, kv_heads, head_dim]", "the rotated keys; a cache: [cache_pages, page_size, kv_heads, head_dim]",
       nullptr, &is_so<Rope, writes_keys_whole>},
      {"v_out", Role::update, offsetof(RopeArgs, v_out), true, layout<output_layout<kTensorV>>, "as k_out",
       "values=copied: the values", nullptr, &is_so<Rope, writes_keys_whole>},
      {"q_scales", Role::update, offsetof(RopeArgs, q_scales), false, layout<made_scales_layout<kTensorQ>>,
       "[batch, seq, heads, scales of a head]", "quantized=all, scaling other than tensor: the scales of q_out",
       nullptr, &is_so<Rope, writes_queries_whole>},
      {"k_scales", Role::update, offsetof(RopeArgs, k_scales), false, layout<made_scales_layout<kTensorK>>,
       "[batch, seq, kv_heads, scales of a head]; a cache: [cache_pages, page_size, kv_heads, scales of a head]",
       "the same of k_out", nullptr, &is_so<Rope, writes_keys_whole>},
      {"v_scales", Role::update, offsetof(RopeArgs, v_scales), false, layout<made_scales_layout<kTensorV>>,
       "as k_scales", "the same of v_out", nullptr, &is_so<Rope, writes_keys_whole>},
      {"report", Role::update, offsetof(RopeArgs, report), false, layout<report_layout>, "[1]",
       "beyond=report: -1, or the first token whose position is outside the table", nullptr, nullptr, -1},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {
      {"batch", offsetof(RopeArgs, batch), nullptr},
      {"seq", offsetof(RopeArgs, seq), nullptr},
  };
  static constexpr Parameter kParameters[] = {
      {"form", kForms, true,
       "0: heads in registers; 1: runs of heads staged through shared memory, where runs move in wider accesses than "
       "parts of a head",
       applies<may_be_staged>},
      {"vector", kVectors, true, "bytes per access to global memory"},
      {"unroll", kUnrolls, true, "heads of a thread at a time"},
      {"rounds", kRoundCounts, false, "times that a thread has so many heads, for all of which it reads the table once",
       applies<has_rounds>, 1},
      {"threads", kThreadCounts, false, "threads per block; heads form: fewer where a problem is small"},
      {"offsets", kOffsetBits, true, "bits of offsets within a tensor; 32: all tensors are below 2 GiB",
       applies<has_offsets>, 64},
      {"run", kHeadsOfRuns, false, "staged form: heads of a block", applies<has_runs>, 32},
  };
  static constexpr Constraint kConstraints[] = {
      {"heads form: the vector must divide the parts of a head and the strides", holds<vector_divides>},
      {"staged form: the vector must divide the strides, except that of adjacent heads", holds<vector_divides_runs>},
      {"32-byte accesses exist on sm_100 and sm_103 only", holds<vector_exists>},
      {"a vector must hold whole elements", holds<vector_holds_elements>},
      {"a thread's accesses to heads must fit the registers: 64 bytes for all that unroll says",
       holds<registers_suffice>},
      {"with offsets of 32 bits all tensors, with the gaps in them, must be below 2 GiB", holds<offsets_suffice>},
      {"with scales that are made a thread block has whole heads: as many threads as accesses to a head, in pairs",
       holds<block_has_whole_heads>},
      {"staged form: a run must be a multiple of the vector; 32 heads always are", holds<run_is_whole_vectors>},
      {"staged form: a run must fit 48 KiB of shared memory", holds<run_fits>},
  };
  static constexpr const char* kBenchCases[] = {
      "rope batch=4 seq=8192 heads=32 head_dim=128",
      "rope batch=4 seq=8192 heads=32 head_dim=128 style=interleaved",
      "rope batch=4 seq=8192 heads=32 head_dim=128 pass=backward",
      "rope batch=4 seq=8192 heads=32 head_dim=128 style=interleaved pass=backward",
      "rope batch=2 seq=4096 heads=64 head_dim=128",
      "rope batch=2 seq=4096 heads=64 head_dim=128 style=interleaved pass=backward",
      "rope batch=8 seq=2048 heads=64 head_dim=64",
      "rope batch=8 seq=2048 heads=64 head_dim=64 style=interleaved pass=backward",
      "rope batch=1 seq=4096 heads=32 kv_heads=8 head_dim=128",
      "rope batch=1 seq=65536 heads=32 kv_heads=8 head_dim=128",
      "rope batch=64 seq=1 heads=32 head_dim=128",
      "rope batch=1 seq=1 heads=32 kv_heads=8 head_dim=128",
      "rope batch=256 seq=1 heads=8 kv_heads=1 head_dim=128",
      "rope batch=4 seq=8192 heads=32 head_dim=128 table=computed",
      "rope batch=16 seq=32768 heads=32 kv_heads=8 head_dim=128 layout=thd",
      "rope batch=2 seq=4096 heads=32 head_dim=80",
      "rope batch=2 seq=4096 heads=32 head_dim=82",
      "rope batch=2 seq=4096 heads=32 head_dim=92",
      "rope batch=2 seq=4096 heads=32 head_dim=96",
      "rope batch=2 seq=4096 heads=32 head_dim=256",
      "rope batch=2 seq=4096 heads=32 head_dim=512",
      "rope batch=2 seq=4096 heads=32 head_dim=128 q_strides=17301504,4224,132 q_out_strides=17301504,4224,132",
      "rope batch=4 seq=8192 heads=32 head_dim=128 table=angles",
      "rope batch=4 seq=8192 heads=32 kv_heads=8 head_dim=128 position=ids sections=16,24,24",
      "rope batch=256 seq=1 kv_heads=8 cache=pages cache_pages=65536 page_size=16 max_pages=256 values=copied",
      "rope batch=256 seq=1 kv_heads=8 cache=slots cache_pages=65536 page_size=16 values=copied element=e4m3",
  };
  // Prefills and decodes of models.
  static constexpr const char* kDraws[] = {
      "batch=1..8 seq=1..8192 | batch=1..8 seq=1..8192 | batch=1..256 seq=1",
      "heads=8 kv_heads=1 | heads=32 kv_heads=8 | heads=64 kv_heads=8 | heads=16 | heads=1..64",
      "head_dim=128 | head_dim=128 | head_dim=64 | head_dim=96 | head_dim=80 | head_dim=256 rotary_dim=64",
      "style=half | style=half | style=interleaved",
      "layout=bshd | layout=bshd | layout=sbhd | layout=bhsd | layout=thd",
      "pass=forward | pass=backward",
      "dtype=bf16 | dtype=bf16 | dtype=f16 | dtype=f32",
      "place=separate | place=in_place",
      "table=separate | table=joined table_dtype=bf16 | table=doubled | table=computed",
  };

  static Table<Scalar> scalars() {
    static constexpr Scalar kScalars[] = {
        {"offset", offsetof(RopeArgs, offset), "added to every position", nullptr, DType::i64},
        {"cp_rank", offsetof(RopeArgs, cp_rank), "the rank whose chunks of each sequence are here, of cp_size above 1",
         &is_so<Rope, has_chunks>, DType::i64},
    };
    return kScalars;
  }
  static Table<SourceFile> sources() { return embedded::rope_sources(); }
  static std::string check(const Rope& p) { return rope::check(p); }
  static std::string check_extents(const Rope& p) { return rope::check_extents(p); }

  static int variants(const Rope& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
    return rope_variants(p, target, model, out);
  }
  static std::uint32_t alignment(const Rope& p, int operand, const Config& c) {
    return operand_alignment(p, operand, c);
  }
  static void specialize(const Rope& p, const Target&, const Config& c, Spec& spec) { specialize_rope(p, c, spec); }
  static void launch(const Rope& p, const Args& a, const DeviceModel& model, const Config& c, Launch& launch) {
    launch_rope(p, a, model, c, launch);
  }

  static void reference(const Rope& p, const Args& a) { run_reference(p, a); }

  // The formula is fixed to the last bit. Elements that are not rotated are moved as bits, those that are may be NaNs.
  static Tolerance tolerance(const Rope&, int) { return {}; }

  // Each head, and the entries of as many positions as a sequence has; or those of each token.
  static std::int64_t bytes(const Rope& p) {
    const std::int64_t entries = p.position == RopePosition::tokens ? batches(p) * p.seq : p.seq;
    std::int64_t of_token = 0;
    for (int t = 0; t < kTensors; ++t) {
      const std::int64_t elements =
          has_tensor(p, t) ? heads_of(p, t) * (is_in_place(p, t) ? rotary_dim(p) : p.head_dim) : 0;
      of_token += elements * (quern::bytes(p.dtype) + quern::bytes(output_type(p, t)));
      if (is_quantized(p, t) && makes_scales(p))
        of_token += heads_of(p, t) * scales_of_head(p) * quern::bytes(scale_type(p));
    }
    return batches(p) * p.seq * of_token + (has_table(p) ? entries * rotary_dim(p) * quern::bytes(p.table_dtype) : 0);
  }

  static bool generate(const Rope& p, const Args& a, int operand, std::uint64_t seed, void* data) {
    return rope::generate(p, a, operand, seed, data);
  }
};

}  // namespace

const Family& Rope::family() {
  static const Family family = make_family<RopeFamily>();
  return family;
}

}  // namespace quern
