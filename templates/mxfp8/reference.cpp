// The plain reference of quantize: block by block, directly from the definitions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "base/random.h"
#include "common/host_types.h"
#include "mx/block_scale.h"
#include "mxfp8/bias.h"
#include "mxfp8/matrix.h"
#include "mxfp8/params.h"
#include "mxfp8/parts.h"
#include "mxfp8/prologue.h"

namespace quern::mxfp8 {
namespace {

// The index, among the scales of one direction, of the scale of block `block` of line `line`.
std::int64_t scale_index(const Mxfp8& p, bool col, std::int64_t expert, std::int64_t line, std::int64_t block) {
  const mx::ScaleGrid g = scale_grid(p, col);
  if (padded(p)) return mx::padded_index(g, expert, line, block);
  return blocked(p) ? mx::blocked_index(g, expert, line, block) : mx::plain_index(g, expert, line, block);
}

mx::ScaleRule rule_of(const Mxfp8& p) { return {p.element, p.mode, p.policy, has_fp32_scales(p)}; }

// Treats source as a matrix of [rows, cols], independent of its memory layout.
template <class T>
class Quantizer {
 public:
  Quantizer(const Part& part, const Mxfp8Args& a)
      : part_(part),
        p_(part.problem),
        a_(a),
        matrix_(matrix_of(p_)),
        length_(block_length(p_)),
        band_(std::min<std::int64_t>(length_, 128)) {}

  void run() const {
    clear_scales();
    parallel_for((p_.rows + band_ - 1) / band_, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t band = begin; band < end; ++band) {
        if (row_made(p_)) quantize_rows(band);
        if (col_made(p_)) quantize_columns(band);
      }
    });
    if (has_sums(p_)) sum_columns();
  }

 private:
  struct Box {  // of one block
    std::int64_t row, col, rows, cols;
  };

  // Padding is zero.
  void clear_scales() const {
    if (!blocked(p_)) return;
    if (row_made(p_)) std::memset(scales(false), 0, static_cast<std::size_t>(mx::blocked_bytes(scale_grid(p_, false))));
    if (col_made(p_)) std::memset(scales(true), 0, static_cast<std::size_t>(mx::blocked_bytes(scale_grid(p_, true))));
  }

  std::uint8_t* scales(bool col) const {
    const bool second = col && p_.direction == Mxfp8Direction::both;
    return static_cast<std::uint8_t*>(second ? a_.scales_col.data : a_.scales.data) +
           (col ? part_.col_scales : part_.row_scales);
  }

  void quantize_rows(std::int64_t band) const {
    for (std::int64_t c = 0; c < scale_grid(p_, false).blocks(); ++c) {
      for (std::int64_t r = band * band_; r < std::min(p_.rows, (band + 1) * band_); ++r) {
        const Box line = box(r, c * length_, 1, length_);
        const mx::BlockScale scale = scale_of(square(p_) ? box(band * 32, c * 32, 32, 32) : line);
        write(line, scale, false);
        put_scale(false, r, c, scale);
      }
    }
  }

  void quantize_columns(std::int64_t band) const {
    for (std::int64_t c = 0; c < p_.cols; ++c) {
      const Box line = box(band * length_, c, length_, 1);
      const mx::BlockScale scale = scale_of(square(p_) ? box(band * 32, c / 32 * 32, 32, 32) : line);
      write(line, scale, true);
      put_scale(true, c, band, scale);
    }
  }

  void sum_columns() const {
    float* const sums = static_cast<float*>(a_.bias_gradient.data) + part_.out_row / p_.rows * p_.cols;
    parallel_for(p_.cols, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c)
        sums[c] = column_sum(p_.rows, [&](std::int64_t row) { return at(row, c); });
    });
  }

  Box box(std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) const {
    return {row, col, std::min(rows, p_.rows - row), std::min(cols, p_.cols - col)};
  }

  float at(std::int64_t row, std::int64_t col) const {
    const bool swapped = p_.source_order == Mxfp8Order::rows;
    const std::int64_t major = swapped ? col : row, minor = swapped ? row : col;
    if (p_.prologue != Mxfp8Prologue::none)
      return static_cast<float>(common::to_compute(
          common::from_compute<T>(static_cast<common::ComputeOf<T>>(made(p_, a_, part_.source_row + major, minor)))));
    const std::int64_t index = row_begin(matrix_, part_.source_row + major) + minor;
    return static_cast<float>(common::to_compute(static_cast<const T*>(a_.source.data)[index]));
  }

  mx::BlockScale scale_of(const Box& b) const {
    if (has_given_scale(p_)) return mx::fp32_scale(*static_cast<const float*>(a_.given_scale.data));
    float amax = 0;
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r) {
      for (std::int64_t c = b.col; c < b.col + b.cols; ++c) amax = mx::larger_magnitude(p_.policy, amax, at(r, c));
    }
    return mx::scale_of_block(rule_of(p_), amax);
  }

  void write(const Box& b, const mx::BlockScale& scale, bool col) const {
    const bool second = col && p_.direction == Mxfp8Direction::both;
    auto* out = static_cast<std::uint8_t*>(second ? a_.out_col.data : a_.out.data);
    const bool transposed = has_column_lines(p_, col);
    const std::int64_t pitch = pitch_of(p_, col);
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r) {
      for (std::int64_t c = b.col; c < b.col + b.cols; ++c) {
        const std::int64_t index =
            transposed ? part_.lines + c * part_.line_pitch + r : (part_.out_row + r) * pitch + c;
        out[index] = mx::encode_element(p_.element, at(r, c) * scale.reciprocal);
      }
    }
  }

  void put_scale(bool col, std::int64_t line, std::int64_t block, const mx::BlockScale& scale) const {
    if (has_given_scale(p_)) return;
    const std::int64_t at = scale_index(p_, col, 0, line, block) * scale_size(p_);
    std::memcpy(scales(col) + at, &scale.stored, static_cast<std::size_t>(scale_size(p_)));  // its low bytes
  }

  const Part& part_;
  const Mxfp8& p_;
  const Mxfp8Args& a_;
  Matrix matrix_;
  std::int64_t length_;  // of a block
  std::int64_t band_;    // rows processed at a time: those of a block along a column, at most 128
};

}  // namespace

void quantize_reference(const Mxfp8& p, const Mxfp8Args& a) {
  if (sums_nothing(p))
    std::fill_n(static_cast<float*>(a.bias_gradient.data), static_cast<std::size_t>(p.experts * p.cols), 0.0F);
  if (is_empty(p)) return;
  if (has_matrices(p)) {
    for (const GroupMatrix& group : matrices_of(p, a)) quantize_reference(group.problem, group.args);
    return;
  }
  for (const Part& part : parts_of(p, a))
    common::with_float(p.dtype, [&](auto x) { Quantizer<decltype(x)>(part, a).run(); });
}

// Whether the column's data makes its sum depend on each number and on the order of addition: finite numbers of similar
// magnitude. Three in four columns are. With arbitrary magnitudes the sum would be the largest number, or NaN.
static bool is_summed(const Mxfp8& p, std::int64_t column) {
  return p.bias_gradient == Mxfp8BiasGradient::sums && column / 32 % 4 != 0;
}

// 32 consecutive elements of 32 rows have one magnitude, so that blocks of both directions have one.
void generate_source(const Mxfp8& p, std::uint64_t seed, void* data) {
  if (has_matrices(p)) {  // as one matrix with rows of 32, so that 1024 elements have one magnitude
    Mxfp8 flat = p;
    flat.varying = Mxfp8Varying::rows;
    flat.cols = most_elements(p) % 32 == 0 ? 32 : 1;
    flat.rows = most_elements(p) / flat.cols;
    return generate_source(flat, seed, data);
  }
  const Matrix m = matrix_of(p);
  common::with_float(p.dtype, [&](auto x) {
    using T = decltype(x);
    parallel_for(m.experts * m.rows, 1 + (1 << 16) / std::max<std::int64_t>(1, m.cols),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     T* const row = static_cast<T*>(data) + row_begin(m, r);
                     // One non-finite number makes a whole row that shares a scale NaN, so most rows must have none.
                     const bool finite =
                         p.scaling == Mxfp8Scaling::row && random_at(seed + 2, static_cast<std::uint64_t>(r)) % 8 != 0;
                     for (std::int64_t c = 0; c < m.cols; ++c) {
                       const auto tile = random_at(seed, static_cast<std::uint64_t>(r / 32 * 65537 + c / 32 + 1));
                       const bool summed = is_summed(p, c);
                       const int exponent = summed                  ? 124 + static_cast<int>(tile % 8)
                                            : p.dtype == DType::f16 ? 112 + static_cast<int>(tile % 32)
                                                                    : static_cast<int>(tile % 256);
                       const auto random = random_at(seed + 1, static_cast<std::uint64_t>(r * m.cols + c));
                       row[c] = mx::number_near<T>(
                           exponent, random, tile >> 20 & 7 || finite || summed ? false : (random >> 40) % 512 == 0);
                     }
                   }
                 });
  });
}

}  // namespace quern::mxfp8
