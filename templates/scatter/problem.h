// What scatter's files ask a problem.
#ifndef QUERN_SCATTER_PROBLEM_H_
#define QUERN_SCATTER_PROBLEM_H_

#include <algorithm>

#include "rows/shape.h"
#include "scatter/scatter.h"

namespace quern::scatter {

inline bool adds(const Scatter& p) { return p.op == ScatterOp::add; }
inline bool skips(const Scatter& p) { return p.mode == ScatterMode::skip; }
inline bool is_ordered(const Scatter& p) { return p.order == ScatterOrder::given; }
inline bool is_unique(const Scatter& p) { return p.indices == ScatterIndices::unique; }
inline bool zeroes(const Scatter& p) { return p.rest == ScatterRest::zero; }
inline bool has_scale(const Scatter& p) { return p.scale != DType::none; }
inline bool has_column_scale(const Scatter& p) { return has_scale(p) && p.scale_of == ScatterScaleOf::columns; }
inline bool has_row_scale(const Scatter& p) { return has_scale(p) && p.scale_of == ScatterScaleOf::rows; }
inline bool has_alpha(const Scatter& p) { return p.factor == ScatterFactor::alpha; }
inline bool is_backward(const Scatter& p) { return p.pass == ScatterPass::backward; }
// Sums of rows that several threads read: of equal indices, or of columns of all of them.
inline bool has_sums(const Scatter& p) { return adds(p) && (is_ordered(p) || (is_backward(p) && has_column_scale(p))); }
// Sums of the columns of a row.
inline bool has_dots(const Scatter& p) { return is_backward(p) && has_row_scale(p); }
inline bool needs_rows(const Scatter& p) { return skips(p) || zeroes(p) || p.outer != 1; }
// Rows of source, of all matrices.
inline std::int64_t all_rows(const Scatter& p) {
  return p.outer == kOpen || p.count == kOpen ? kOpen : p.outer * p.count;
}

inline std::int64_t element_bytes(const Scatter& p) { return bytes(p.dtype); }
inline std::int64_t row_bytes(const Scatter& p) { return p.width * element_bytes(p); }
inline std::int64_t source_stride(const Scatter& p) { return p.source_stride == 0 ? p.width : p.source_stride; }
inline std::int64_t out_stride(const Scatter& p) { return p.out_stride == 0 ? p.width : p.out_stride; }
inline rows::Shape shape_of(const Scatter& p) {
  const std::int64_t size = element_bytes(p);
  return {row_bytes(p), size, source_stride(p) * size, out_stride(p) * size};
}

// The order in which rows of a segment are added; as in scatter/tree.cuh.
inline constexpr std::int64_t kRowsOfGroup = 32, kRowsOfChunk = 32 * kRowsOfGroup;

// Words of the workspace, with order of each matrix: for each of the groups that long segments may have, its sums and
// two counters for each part of a row; and for each of the chunks its sums.
struct Workspace {
  std::int64_t groups;
  std::int64_t chunks;
  std::int64_t stride;
  std::int64_t parts;  // the most that a row has

  std::int64_t words() const { return (groups + chunks) * stride + 2 * groups * parts; }
};
inline Workspace workspace_of(const Scatter& p) {
  const std::int64_t rows = is_backward(p) ? all_rows(p) : p.count;
  const std::int64_t groups = rows <= kRowsOfGroup ? 0 : (rows + kRowsOfGroup - 1) / kRowsOfGroup * 2;
  const std::int64_t chunks = rows <= kRowsOfChunk ? 0 : (rows + kRowsOfChunk - 1) / kRowsOfChunk * 2;
  return {groups, chunks, p.width + 32, p.width / 32 + 2};
}

// Unique indices: the groups of threads that may share a row, of which there are several where rows are few, and the
// words of the workspace: what blocks count, and one for each of those groups.
inline constexpr std::int64_t kFewGroups = 8192, kCountWords = 32;
inline std::int64_t most_groups_of_row(const Scatter& p) {
  const std::int64_t pieces = std::min(p.outer, kFewGroups) * (row_bytes(p) / 32 + 2);
  const std::int64_t wanted = (kFewGroups - 1) / std::max<std::int64_t>(1, p.rows) + 1;
  return std::max<std::int64_t>(1, std::min(wanted, pieces));
}

inline bool has_workspace(const Scatter& p) { return has_sums(p) || is_unique(p); }
inline std::int64_t workspace_words(const Scatter& p) {
  if (is_unique(p)) return p.rows == kOpen || p.outer == kOpen ? kOpen : kCountWords + p.rows * most_groups_of_row(p);
  if (all_rows(p) == kOpen) return kOpen;
  return workspace_of(p).words() * (is_backward(p) ? 1 : p.outer);
}

// The plain references of the passes.
void scatter_on_host(const Scatter& p, const ScatterArgs& a);
void gradients_on_host(const Scatter& p, const ScatterArgs& a);
// Data for index and order.
void fill_index(const Scatter& p, std::uint64_t seed, void* data);
void fill_order(const Scatter& p, std::uint64_t seed, void* data);

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_PROBLEM_H_
