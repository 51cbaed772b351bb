#include "scatter/scatter.h"

#include "quern/choice.h"
#include "quern_embedded/scatter.h"
#include "scatter/problem.h"
#include "scatter/step.h"

namespace quern {
namespace {

using namespace scatter;

constexpr const char* kOps[] = {QUERN_SCATTER_OPS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kModes[] = {QUERN_SCATTER_MODES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kOrders[] = {QUERN_SCATTER_ORDERS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kRests[] = {QUERN_SCATTER_RESTS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kIndices[] = {QUERN_SCATTER_INDICES(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kFactors[] = {QUERN_SCATTER_FACTORS(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kScalesOf[] = {QUERN_SCATTER_SCALES_OF(QUERN_CHOICE_NAME) nullptr};
constexpr const char* kPasses[] = {QUERN_SCATTER_PASSES(QUERN_CHOICE_NAME) nullptr};

constexpr DTypeSet kNumbers = only(f32) | only(f16) | only(bf16);

// One matrix, or several.
Layout matrices(const Scatter& p, bool present, std::int64_t rows, std::int64_t stride) {
  const DType dtype = present ? p.dtype : DType::none;
  if (p.outer == 1) return Layout::matrix(dtype, rows, p.width, stride);
  return Layout::matrices(dtype, p.outer, rows, p.width, rows == kOpen ? 0 : rows * stride, stride);
}
Layout rows_of_source(const Scatter& p, bool present) { return matrices(p, present, p.count, source_stride(p)); }
Layout rows_of_out(const Scatter& p, bool present) { return matrices(p, present, p.rows, out_stride(p)); }
Layout source_layout(const Scatter& p) { return rows_of_source(p, !is_backward(p) || has_scale(p)); }
Layout index_layout(const Scatter& p) { return Layout::list(p.index, p.count); }
Layout order_layout(const Scatter& p) { return Layout::list(is_ordered(p) ? i32 : DType::none, p.count); }
Layout scale_layout(const Scatter& p) { return Layout::list(p.scale, has_row_scale(p) ? p.count : p.width); }
Layout out_layout(const Scatter& p) { return rows_of_out(p, !is_backward(p)); }
Layout gradient_layout(const Scatter& p) { return rows_of_out(p, is_backward(p)); }
Layout source_gradient_layout(const Scatter& p) { return rows_of_source(p, is_backward(p)); }
Layout scale_gradient_layout(const Scatter& p) { return is_backward(p) ? scale_layout(p) : Layout{}; }
Layout workspace_layout(const Scatter& p) {
  if (!has_workspace(p)) return {};
  return Layout::list(i32, workspace_words(p));
}

template <Layout (*F)(const Scatter&)>
constexpr auto layout = &layout_of<Scatter, F>;

std::string check_index(const Scatter& p) {
  if (is_unique(p) && is_ordered(p)) return "indices=unique needs no order: leave out one of indices and order";
  if (is_unique(p) && !zeroes(p))
    return "indices=unique is for rest=zero; with rest=leave and without an order they are so anyway: leave it out";
  if (zeroes(p) && !is_ordered(p) && !is_unique(p))
    return "rest=zero needs order=given, which tells the rows without an index, or indices=unique if none occurs twice";
  if ((is_ordered(p) || is_unique(p)) && p.count >= std::int64_t{1} << 31)
    return "count must be below 2^31 with order=given or indices=unique";
  if (skips(p) || p.count <= 0) return {};
  if (is_backward(p))
    return p.rows == 0 ? "rows=0 has no row to read, so count must be 0; with mode=skip it may be more" : "";
  if (p.rows == 0) return "rows=0 has no row to write, so count must be 0; with mode=skip it may be more";
  if (!is_ordered(p) && p.rows != kOpen && p.count > p.rows)
    return "count is above rows, so an index occurs twice: use order=given, or mode=skip if the others are outside of "
           "out";
  return {};
}

std::string check_sums(const Scatter& p) {
  if (adds(p) && (kNumbers & only(p.dtype)) == 0) return "op=add needs dtype f32, f16 or bf16";
  if (!adds(p) && (has_alpha(p) || has_scale(p))) return "factor=alpha and scale are of what op=add adds";
  if (!has_scale(p) && p.scale_of != ScatterScaleOf::columns) return "scale_of=rows needs a scale: f32, f16 or bf16";
  return {};
}

std::string check_pass(const Scatter& p) {
  if (!is_backward(p)) return {};
  if (!adds(p))
    return "pass=backward is of op=add; the gradient of op=copy is a gather of the gradient of out, by index";
  if (is_ordered(p))
    return "pass=backward needs no order: each row of source has a gradient of its own; leave out order and rest";
  if (is_unique(p)) return "pass=backward is the same whether indices repeat or not: leave out indices and rest";
  if (p.source_stride != 0 && p.source_stride < p.width)
    return "source_stride is below width, so rows of source_gradient would overlap";
  if (has_column_scale(p) && all_rows(p) >= std::int64_t{1} << 31)
    return "outer times count must be below 2^31 for the gradient of a scale of columns";
  return {};
}

struct ScatterFamily : scatter::Step {
  using Problem = Scatter;
  using Args = ScatterArgs;
  static constexpr const char* kName = "scatter";
  static constexpr const char* kSentence =
      "rows written or added to where an index says: out[index[i], :] = source[i, :]";

  static constexpr Field kFields[] = {
      choice_field("op", offsetof(Scatter, op), kOps, "copy: rows replace those of out; add: they are added to them"),
      extent_field("rows", offsetof(Scatter, rows), true, "rows of out; needed by mode=skip, rest=zero and outer"),
      extent_field("count", offsetof(Scatter, count), true, "indices, and rows of source"),
      extent_field("width", offsetof(Scatter, width), false, "elements in a row"),
      dtype_field("dtype", offsetof(Scatter, dtype), kAnyElement, "element type of source and out"),
      dtype_field("index", offsetof(Scatter, index), only(i64) | only(i32), "type of the indices"),
      choice_field("mode", offsetof(Scatter, mode), kModes, "meaning of an index outside of out"),
      choice_field("order", offsetof(Scatter, order), kOrders,
                   "given: the positions of index, sorted by it, so that indices may repeat"),
      choice_field("rest", offsetof(Scatter, rest), kRests, "what becomes of the rows without an index"),
      choice_field("factor", offsetof(Scatter, factor), kFactors,
                   "alpha: a number of the launch multiplies what is added"),
      dtype_field("scale", offsetof(Scatter, scale), kNumbers | only(DType::none),
                  "type of factors of what is added; none: no scale"),
      choice_field("scale_of", offsetof(Scatter, scale_of), kScalesOf,
                   "a factor for each column, or each row of source"),
      choice_field("pass", offsetof(Scatter, pass), kPasses,
                   "backward: the gradients of source and scale, with op=add"),
      integer_field("source_stride", offsetof(Scatter, source_stride), 0, kMaxExtent,
                    "elements between rows of source; 0: width"),
      integer_field("out_stride", offsetof(Scatter, out_stride), 0, kMaxExtent,
                    "elements between rows of out; 0: width"),
      extent_field("outer", offsetof(Scatter, outer), true, "matrices that the same index is for"),
      choice_field("indices", offsetof(Scatter, indices), kIndices,
                   "unique: none occurs twice, so rest=zero needs no order"),
  };
  static constexpr Operand kOperands[] = {
      {"source", Role::input, offsetof(ScatterArgs, source), true, layout<source_layout>, "[outer, count, width]",
       "the rows to write or to add"},
      {"index", Role::input, offsetof(ScatterArgs, index), false, layout<index_layout>, "[count]",
       "the row of out for each"},
      {"order", Role::input, offsetof(ScatterArgs, order), false, layout<order_layout>, "[count]",
       "the positions of index, sorted by it"},
      {"scale", Role::input, offsetof(ScatterArgs, scale), true, layout<scale_layout>, "[width] or [count]",
       "a factor for each column or row"},
      {"out", Role::update, offsetof(ScatterArgs, out), true, layout<out_layout>, "[outer, rows, width]",
       "the rows that are written; with rest=zero all of them"},
      {"workspace", Role::workspace, offsetof(ScatterArgs, workspace), false, layout<workspace_layout>, "[words]",
       "zeros before the first launch; each launch restores them"},
      {"gradient", Role::input, offsetof(ScatterArgs, gradient), true, layout<gradient_layout>, "[rows, width]",
       "backward: the gradient of out"},
      {"source_gradient", Role::output, offsetof(ScatterArgs, source_gradient), true, layout<source_gradient_layout>,
       "[count, width]", "backward: the gradient of source"},
      {"scale_gradient", Role::output, offsetof(ScatterArgs, scale_gradient), false, layout<scale_gradient_layout>,
       "[width] or [count]", "backward with a scale: its gradient"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {
      {"rows", offsetof(ScatterArgs, rows), &is_so<Scatter, needs_rows>},
      {"count", offsetof(ScatterArgs, count), nullptr},
      {"outer", offsetof(ScatterArgs, outer), nullptr},
  };
  // Rows of models: moved, added up in pairs and eights, and the gradient of a lookup in a table of words.
  static constexpr const char* kBenchCases[] = {
      "scatter rows=65536 count=65536 width=7168",
      "scatter rows=16384 count=16384 width=4097",
      "scatter rows=65536 count=16384 width=5120 mode=skip index=i32",
      "scatter op=add rows=16384 count=16384 width=5120",
      "scatter op=add rows=65536 count=16384 width=1536 dtype=f16 factor=alpha scale=f16",
      "scatter rows=65536 count=32768 width=4096 order=given rest=zero",
      "scatter rows=65536 count=32768 width=4096 rest=zero indices=unique",
      "scatter op=add rows=8192 count=65536 width=2048 order=given rest=zero",
      "scatter op=add rows=8192 count=65536 width=2049 order=given rest=zero",
      "scatter op=add rows=131072 count=16384 width=4096 order=given rest=zero",
      "scatter op=add rows=16 count=65536 width=2048 order=given",
      "scatter op=add rows=1048576 count=1048576 width=64 dtype=f32 order=given",
      "scatter op=add rows=65536 count=16384 width=1536 dtype=f16 factor=alpha scale=f16 pass=backward",
      "scatter op=add rows=16384 count=16384 width=5120 scale=f32 scale_of=rows pass=backward",
  };
  static constexpr const char* kDraws[] = {
      "op=copy | op=add | op=add order=given | op=add order=given rest=zero | op=copy order=given rest=zero",
      "rows=16..262144",
      "count=16..262144",
      "width=64..16384/64 | width=64..16384/64 | width=8..16384/8 | width=8..8192",
      "dtype=bf16 | dtype=bf16 | dtype=f16 | dtype=f32",
      "index=i64 | index=i32",
      "mode=assume_valid | mode=skip",
  };

  static Table<Scalar> scalars() {
    static constexpr Scalar kScalars[] = {
        {"alpha", offsetof(ScatterArgs, alpha), "factor=alpha: multiplies what is added", &is_so<Scatter, has_alpha>},
    };
    return kScalars;
  }
  static Table<SourceFile> sources() { return embedded::scatter_sources(); }

  static std::string check(const Scatter& p) {
    if (row_bytes(p) > rows::kMaxRowBytes) return "width is too large: a row may have 32 bytes less than 16 GiB";
    if (std::string why = rows::check_sizes(p.outer, p.count, source_stride(p), p.rows, out_stride(p)); !why.empty())
      return why;
    if (p.out_stride != 0 && p.out_stride < p.width) return "out_stride is below width, so rows of out would overlap";
    for (const auto rule : {check_pass, check_index, check_sums}) {
      if (std::string refusal = rule(p); !refusal.empty()) return refusal;
    }
    return {};
  }

  static void reference(const Scatter& p, const Args& a) {
    is_backward(p) ? gradients_on_host(p, a) : scatter_on_host(p, a);
  }
  static Tolerance tolerance(const Scatter& p, int) { return {0, 0, !adds(p)}; }

  // As if each index named a row of its own, as far as there are rows.
  static std::int64_t bytes(const Scatter& p) {
    const std::int64_t named = std::min(p.count, p.rows == kOpen ? p.count : p.rows);
    const std::int64_t written = zeroes(p) ? p.rows : adds(p) ? 2 * named : named;
    const std::int64_t numbers = quern::bytes(p.index) + (is_ordered(p) ? 4 : 0);
    if (is_backward(p)) {
      const std::int64_t rows = named + p.count * (has_scale(p) ? 2 : 1);
      return p.outer * rows * row_bytes(p) + p.count * numbers + 2 * scale_layout(p).span_bytes();
    }
    return p.outer * (p.count + written) * row_bytes(p) + p.count * numbers + scale_layout(p).span_bytes();
  }

  static bool generate(const Scatter& p, int operand, std::uint64_t seed, void* data) {
    if (operand == kIndex) return fill_index(p, seed, data), true;
    if (operand == kOrder) return fill_order(p, seed, data), true;
    return false;
  }
};

}  // namespace

const Family& Scatter::family() {
  static const Family family = make_family<ScatterFamily>();
  return family;
}

}  // namespace quern
