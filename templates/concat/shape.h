// The host's view of a problem: what its sources are in bytes, and how its matrix is cut into blocks and tiles.
#ifndef QUERN_CONCAT_SHAPE_H_
#define QUERN_CONCAT_SHAPE_H_

#include <cstdint>

#include "concat/concat.h"
#include "concat/params.h"

namespace quern::concat {

inline constexpr std::int64_t kMostColumns = std::int64_t{1} << 28;  // Block::last has as many bits

inline int sources(const Concat& p) { return static_cast<int>(p.widths.count); }
inline bool is_flat(const Concat& p) { return p.layout == ConcatLayout::flat; }
inline bool is_indexed(const Concat& p) { return p.index != DType::none; }
inline bool splits(const Concat& p) { return p.pass == ConcatPass::backward; }
inline std::int64_t element_bytes(const Concat& p) { return bytes(p.dtype); }

// Rows that source i gives; kOpen while they are not known.
inline std::int64_t rows_of(const Concat& p, int i) { return is_flat(p) && p.counts.count != 0 ? p.counts[i] : p.rows; }
// Elements between rows.
inline std::int64_t stride_of(const Concat& p, int i) { return p.strides[i] == 0 ? p.widths[i] : p.strides[i]; }
std::int64_t all_widths(const Concat& p);
inline std::int64_t matrix_stride(const Concat& p) { return p.out_stride == 0 ? all_widths(p) : p.out_stride; }
// Whether rows of source i are neither picked nor apart in the layout flat: they are one run in the matrix and in the
// source, which may be cut anywhere, so it gets as many columns as there are threads.
bool is_run(const Concat& p, int i);
// Elements of the matrix that come from the sources before `end`: of all rows in the layout flat.
std::int64_t flat_elements(const Concat& p, int end);

// The largest power of two that divides each place of a row, at most `limit`: the largest possible slot.
std::int64_t natural_vector(const Concat& p, std::int64_t limit);

// How a launch with as many threads a block cuts the matrix into slots and tiles.
struct Cut {
  std::int64_t vector;
  std::int64_t unroll;
  std::int64_t threads;  // a power of two
};

std::int64_t all_slots(const Concat& p, std::int64_t vector);
// The matrix in the layout columns, or the rows of source i in flat, without its address.
Block block_of(const Concat& p, int i, const Cut& cut);
std::int64_t tiles_of(const Block& block, const Cut& cut);
// Shared memory of the ragged form, for any number of rows.
std::int64_t shared_bytes(const Concat& p, const Cut& cut);

}  // namespace quern::concat

#endif  // QUERN_CONCAT_SHAPE_H_
