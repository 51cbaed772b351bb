#include "embedding/shape.h"

#include <algorithm>

#include "common/geometry.h"
#include "common/scattered.h"

namespace quern::embedding {

RowType row_type(DType type) {
  switch (type) {
    case DType::f16:
      return kF16;
    case DType::bf16:
      return kBf16;
    case DType::e4m3:
      return kE4m3;
    case DType::e5m2:
      return kE5m2;
    case DType::i8:
      return kInt8;
    default:
      return kF32;
  }
}

unsigned row_types(const Embedding& p) {
  unsigned types = 0;
  for (int t = 0; t < tables(p); ++t) types |= 1U << row_type(type_of(p, t));
  return types;
}

std::int64_t widest_type(const Embedding& p) {
  std::int64_t widest = bytes(p.dtype);
  for (int t = 0; t < tables(p); ++t) widest = std::max<std::int64_t>(widest, bytes(type_of(p, t)));
  return widest;
}

std::int64_t width_of(const Embedding& p) {
  if (p.dim.count == 1) return p.dense + p.tables * p.dim[0];
  std::int64_t width = p.dense;
  for (int t = 0; t < tables(p); ++t) width += dim_of(p, t);
  return width;
}

std::int64_t packed_elements(const Embedding& p) {
  std::int64_t elements = 0;
  for (int t = 0; t < tables(p); ++t) elements += rows_of(p, t) * stride_of(p, t);
  return elements;
}

std::int64_t natural_elements(const Embedding& p, std::int64_t limit) {
  std::int64_t elements = common::common_alignment({p.dense, dense_stride(p), out_stride(p)}, limit);
  for (int t = 0; t < tables(p); ++t) elements = common::common_alignment({dim_of(p, t), stride_of(p, t)}, elements);
  return elements;
}

namespace {

// Bytes of the half-lines that a row touches, on average over the places that multiples of its stride have in them.
std::int64_t half_lines(std::int64_t row_bytes, std::int64_t stride_bytes) {
  const std::int64_t step = common::common_alignment({stride_bytes}, common::kHalfLineBytes);
  std::int64_t lines = 0;
  for (std::int64_t at = 0; at < common::kHalfLineBytes; at += step)
    lines += common::divide_up(at + row_bytes, common::kHalfLineBytes);
  return lines * step;
}

std::int64_t bytes_of_table(const Embedding& p, int t, std::int64_t ids) {
  const std::int64_t size = bytes(type_of(p, t)), stride = stride_of(p, t) * size, rows = rows_of(p, t);
  std::int64_t all = common::scattered_bytes(ids, half_lines(dim_of(p, t) * size, stride), rows * stride);
  if (has_scale(p, t)) {
    const std::int64_t scales = scale_stride_of(p, t) * bytes(p.scale);
    all += common::scattered_bytes(ids, bytes(p.scale), rows * scales);
  }
  if (has_vocabulary(p)) all += common::scattered_bytes(ids, kEntryBytes, capacity_of(p, t) * kEntryBytes);
  return all;
}

}  // namespace

std::int64_t bytes_that_move(const Embedding& p) {
  const std::int64_t ids = is_pooled(p) ? p.count : p.batch * p.tables;
  std::int64_t all = p.batch * (width_of(p) * bytes(out_type(p)) + p.dense * bytes(p.dtype)) + ids * bytes(p.index);
  if (is_pooled(p)) all += bags_of(p) * bytes(p.offsets) + ids * bytes(p.sample_weights);
  for (int t = 0; t < tables(p); ++t) all += bytes_of_table(p, t, ids / p.tables);
  if (is_packed(p)) all += p.tables * 2 * bytes(i64);
  return all;
}

}  // namespace quern::embedding
