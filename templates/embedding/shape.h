// The host's view of a problem: what each table is, and how out is cut into tiles.
#ifndef QUERN_EMBEDDING_SHAPE_H_
#define QUERN_EMBEDDING_SHAPE_H_

#include <cstdint>

#include "embedding/embedding.h"
#include "embedding/params.h"

namespace quern::embedding {

inline int tables(const Embedding& p) { return static_cast<int>(p.tables); }
inline bool is_pooled(const Embedding& p) { return p.pooling != EmbeddingPooling::none; }
// Whether the mode compares ids with the rows of their tables.
inline bool checks(const Embedding& p) {
  return p.mode != EmbeddingMode::assume_valid && p.mode != EmbeddingMode::minus_one_is_zero;
}
inline bool reports(const Embedding& p) {
  return p.mode == EmbeddingMode::report || p.mode == EmbeddingMode::report_first;
}
inline bool has_vocabulary(const Embedding& p) { return p.hash == EmbeddingHash::index; }
inline bool has_lengths(const Embedding& p) { return is_pooled(p) && p.bags == EmbeddingBags::lengths; }
inline bool has_padding(const Embedding& p) { return p.padding.count != 0; }
inline bool is_packed(const Embedding& p) { return p.layout == EmbeddingLayout::packed; }

// Whether out has 8 bits.
inline bool is_quantized(const Embedding& p) { return p.scaling != EmbeddingScaling::none; }
inline DType out_type(const Embedding& p) { return is_quantized(p) ? p.element : p.dtype; }

inline constexpr std::int64_t kEntryBytes = 16;  // of a vocabulary's table

// Of table t: an entry of its own, or that of all of them.
inline std::int64_t entry(const List<64>& list, int t) { return list.count == 1 ? list[0] : list[t]; }
inline std::int64_t dim_of(const Embedding& p, int t) { return entry(p.dim, t); }
inline std::int64_t rows_of(const Embedding& p, int t) { return entry(p.rows, t); }
inline std::int64_t capacity_of(const Embedding& p, int t) { return entry(p.capacity, t); }
inline std::int64_t padding_of(const Embedding& p, int t) { return entry(p.padding, t); }
inline std::int64_t stride_of(const Embedding& p, int t) {
  return entry(p.strides, t) == 0 ? dim_of(p, t) : entry(p.strides, t);
}
inline std::int64_t scale_stride_of(const Embedding& p, int t) {
  return entry(p.scale_strides, t) == 0 ? 1 : entry(p.scale_strides, t);
}
inline DType type_of(const Embedding& p, int t) {
  return p.table_dtype.count == 0 ? p.dtype : p.table_dtype.count == 1 ? p.table_dtype[0] : p.table_dtype[t];
}
inline bool has_scale(const Embedding& p, int t) { return p.scale != DType::none && bytes(type_of(p, t)) == 1; }
RowType row_type(DType type);
// The types of all tables, a bit each.
unsigned row_types(const Embedding& p);
// Bytes of the widest type of a table, and of out.
std::int64_t widest_type(const Embedding& p);

// Elements of a row of out.
std::int64_t width_of(const Embedding& p);
// Elements that tables of their most rows have, one after the other.
std::int64_t packed_elements(const Embedding& p);
inline std::int64_t index_stride(const Embedding& p) { return p.index_stride == 0 ? p.tables : p.index_stride; }
inline std::int64_t dense_stride(const Embedding& p) { return p.dense_stride == 0 ? p.dense : p.dense_stride; }
inline std::int64_t out_stride(const Embedding& p) { return p.out_stride == 0 ? width_of(p) : p.out_stride; }
// Bags of all tables.
inline std::int64_t bags_of(const Embedding& p) { return p.batch == kOpen ? kOpen : p.tables * p.batch; }

// The largest power of two that divides each place of a row, at most `limit`: the most elements of a slot.
std::int64_t natural_elements(const Embedding& p, std::int64_t limit);

// The fewest bytes that must move. A read that misses brings 64 bytes, so rows count as the half-lines that they touch.
std::int64_t bytes_that_move(const Embedding& p);

// How a launch cuts out: tiles of adjacent columns, in slots of so many elements, and of so many rows a thread.
struct Cut {
  std::int64_t elements;
  std::int64_t tile_rows;
  std::int64_t threads;  // a power of two
};
inline std::int64_t columns_of(const Embedding& p, const Cut& cut) { return width_of(p) / cut.elements; }

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_SHAPE_H_
