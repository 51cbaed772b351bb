#include "embedding/problem.h"

#include <algorithm>

#include "base/text.h"
#include "embedding/backward.h"
#include "embedding/quantized.h"
#include "embedding/shape.h"

namespace quern::embedding {
namespace {

constexpr std::int64_t kMostColumns = std::int64_t{1} << 28;

std::string of_table(const char* field, const List<64>& list, int t) {
  return list.count > 1 ? cat(field, "[", t, "]") : std::string(field);
}

struct NamedList {
  const char* name;
  std::int64_t count;
  bool needed;
};

std::string check_lists(const Embedding& p) {
  const NamedList lists[] = {{"dim", p.dim.count, true},
                             {"rows", p.rows.count, true},
                             {"table_dtype", p.table_dtype.count, false},
                             {"capacity", p.capacity.count, has_vocabulary(p)},
                             {"padding", p.padding.count, false},
                             {"strides", p.strides.count, false},
                             {"scale_strides", p.scale_strides.count, false}};
  for (const NamedList& list : lists) {
    if (list.count == 1 || list.count == p.tables || (list.count == 0 && !list.needed)) continue;
    return cat(list.name, " has ", list.count, " entries: it needs one for each of the ", p.tables,
               " tables, or one for all of them", list.needed ? "" : ", or none");
  }
  return {};
}

bool exceeds(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(std::max<std::int64_t>(a, 0), b, &product) || product > kMaxExtent;
}

std::string check_sizes(const Embedding& p) {
  for (int t = 0; t < tables(p); ++t) {
    if (dim_of(p, t) >= kMostColumns) return cat(of_table("dim", p.dim, t), " is too large: below 2^28 elements");
    if (stride_of(p, t) >= kMostColumns)
      return cat(of_table("strides", p.strides, t), " is too large: below 2^28 elements");
    if (exceeds(rows_of(p, t), stride_of(p, t)))
      return cat(of_table("rows", p.rows, t), " is too large: a table has at most 2^46 elements");
    if (exceeds(rows_of(p, t), scale_stride_of(p, t)))
      return cat(of_table("scale_strides", p.scale_strides, t), " is too large: a table's scales are in 2^46 elements");
  }
  if (width_of(p) >= kMostColumns) return "dense and the dims are too large: a row of out has below 2^28 elements";
  if (p.out_stride != 0 && p.out_stride < width_of(p))
    return cat("out_stride is below the elements of a row, ", width_of(p), ", so rows of out would overlap");
  return {};
}

std::string check_batch(const Embedding& p) {
  for (const std::int64_t stride : {out_stride(p), dense_stride(p), index_stride(p), p.tables}) {
    if (exceeds(p.batch, stride)) return "batch is too large: an operand has at most 2^46 elements";
  }
  return {};
}

std::string check_pooling(const Embedding& p) {
  if (is_pooled(p)) {
    if (p.index_stride != 0) return "index_stride is for pooling=none: the ids of bags have no gaps";
    if (p.sample_weights != DType::none && p.pooling != EmbeddingPooling::sum)
      return "sample_weights are for pooling=sum: a mean and a maximum have no weights";
    return {};
  }
  if (p.bags != EmbeddingBags::offsets) return "bags is how ids are divided: set pooling=sum, mean or max";
  if (p.sample_weights != DType::none) return "sample_weights are for pooling=sum: without pooling an id is alone";
  if (p.padding.count != 0 && !is_backward(p)) return "padding is what bags pass over: set pooling=sum, mean or max";
  return {};
}

std::string check_count(const Embedding& p) {
  return is_pooled(p) || p.count <= 0 ? "" : "count is the number of ids of all bags: set pooling=sum, mean or max";
}

std::string check_vocabularies(const Embedding& p) {
  if (!has_vocabulary(p)) {
    return p.capacity.count == 0 ? "" : "capacity is of vocabularies: set hash=index";
  }
  for (int t = 0; t < tables(p); ++t) {
    const std::int64_t capacity = capacity_of(p, t);
    if ((capacity & (capacity - 1)) != 0)
      return cat(of_table("capacity", p.capacity, t), "=", capacity,
                 " is not a power of two: give the capacity with which hash_table built the table");
  }
  return {};
}

std::string check_modes(const Embedding& p) {
  if (p.hash != EmbeddingHash::none && p.mode != EmbeddingMode::assume_valid)
    return "mode says what an id outside of its table gives: with a hash every id names a row, so leave mode out";
  const auto has_bytes = [&] { return (row_types(p) & (1U << kE4m3 | 1U << kE5m2 | 1U << kInt8)) != 0; };
  if (p.scale != DType::none && !has_bytes())
    return "scale is of tables of an 8-bit type: set table_dtype=i8, e4m3 or e5m2";
  if (p.scale_strides.count != 0 && p.scale == DType::none)
    return "scale_strides is for scales: set scale=f32, f16 or bf16";
  return {};
}

std::string check_layout(const Embedding& p) {
  if (!is_packed(p)) return {};
  if (is_backward(p)) return "layout=packed is for pass=forward: backward takes a list of tables";
  if (p.table_dtype.count > 1) return "layout=packed has tables of one type: give table_dtype one entry, or none";
  if (p.scale != DType::none) return "layout=packed has tables without scale: give them as a list";
  return packed_elements(p) > kMaxExtent ? "rows are too many for layout=packed: all tables have at most 2^46 elements"
                                         : "";
}

template <std::size_t N>
std::string first_refusal(const Embedding& p, std::string (*const (&rules)[N])(const Embedding&)) {
  for (const auto rule : rules) {
    if (std::string refusal = rule(p); !refusal.empty()) return refusal;
  }
  return {};
}

}  // namespace

std::string check(const Embedding& p) {
  return first_refusal(p, {check_lists, check_sizes, check_pooling, check_vocabularies, check_modes, check_layout,
                           check_backward, check_scaling, check_batch, check_count, check_ids});
}

// Without a loop over the tables.
std::string check_extents(const Embedding& p) { return first_refusal(p, {check_batch, check_count, check_ids}); }

}  // namespace quern::embedding
