// The plain reference of quantize: block by block, directly from the definitions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "base/random.h"
#include "common/host_types.h"
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
  return blocked(p) ? mx::blocked_index(g, expert, line, block) : mx::plain_index(g, expert, line, block);
}

struct ElementType {
  float largest;
  int largest_exponent;
  int mantissa_bits;
};

ElementType element_type(DType element) {
  return element == DType::e4m3 ? ElementType{448.0F, 8, 3} : ElementType{57344.0F, 15, 2};
}

std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// The E8M0 byte of the smallest power of two that is not below x; 255 if there is none.
int byte_above(float x) {
  if (!std::isfinite(x)) return 255;
  if (x <= std::ldexp(1.0F, -127)) return 0;
  int exponent = 0;
  const float fraction = std::frexp(x, &exponent);  // x = fraction * 2^exponent, fraction in [0.5, 1)
  return 127 + (fraction == 0.5F ? exponent - 1 : exponent);
}

// 1 / largest, rounded to fp32: as in torchao and TransformerEngine.
int rceil_byte(float amax, const ElementType& type) { return byte_above(amax * (1.0F / type.largest)); }

// The exponent field of a finite amax after rounding in its bit pattern: it may become 255.
int rounded_field(float amax, Mxfp8Mode mode, const ElementType& type) {
  std::uint32_t bits = bits_of(amax);
  if (mode == Mxfp8Mode::even) bits += std::uint32_t{1} << (23 - type.mantissa_bits - 1);
  if (mode == Mxfp8Mode::ceil && (bits & 0x7fffff) != 0) bits += 0x800000;
  return static_cast<int>(bits >> 23);
}

int scale_byte(const Mxfp8& p, float amax) {
  const ElementType type = element_type(p.element);
  if (p.policy == Mxfp8Policy::te) return std::min(254, rceil_byte(amax, type));
  if (!std::isfinite(amax)) return 255;
  if (p.mode == Mxfp8Mode::rceil) return rceil_byte(amax, type);
  return std::max(0, rounded_field(amax, p.mode, type) - type.largest_exponent);
}

// The stored scale, and the factor of the elements.
struct Scale {
  std::uint32_t stored;
  float reciprocal;
};

float value_of_byte(int scale) {
  return scale == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, scale - 127);
}

Scale fp32_scale(float scale) { return {std::isnan(scale) ? kNan : bits_of(scale), 1.0F / scale}; }

// The scale of a block, from its largest magnitude.
Scale scale_of_block(const Mxfp8& p, float amax) {
  if (p.mode != Mxfp8Mode::exact) {
    const int byte = scale_byte(p, amax);
    if (has_fp32_scales(p)) return fp32_scale(value_of_byte(byte));
    return {static_cast<std::uint32_t>(byte), byte == 255 ? value_of_byte(255) : std::ldexp(1.0F, 127 - byte)};
  }
  if (!std::isfinite(amax)) return fp32_scale(std::numeric_limits<float>::quiet_NaN());
  return fp32_scale(std::max(amax / element_type(p.element).largest, 0x1p-126F));
}

// The larger magnitude; NaN if one is NaN, unless the policy ignores NaNs.
float larger(const Mxfp8& p, float amax, float x) {
  if (std::isnan(x)) return p.policy == Mxfp8Policy::te ? amax : x;
  return std::isnan(amax) ? amax : std::max(amax, std::abs(x));
}

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
        const Scale scale = scale_of(square(p_) ? box(band * 32, c * 32, 32, 32) : line);
        write(line, scale, false);
        put_scale(false, r, c, scale);
      }
    }
  }

  void quantize_columns(std::int64_t band) const {
    for (std::int64_t c = 0; c < p_.cols; ++c) {
      const Box line = box(band * length_, c, length_, 1);
      const Scale scale = scale_of(square(p_) ? box(band * 32, c / 32 * 32, 32, 32) : line);
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

  Scale scale_of(const Box& b) const {
    if (has_given_scale(p_)) return fp32_scale(*static_cast<const float*>(a_.given_scale.data));
    float amax = 0;
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r) {
      for (std::int64_t c = b.col; c < b.col + b.cols; ++c) amax = larger(p_, amax, at(r, c));
    }
    return scale_of_block(p_, amax);
  }

  void write(const Box& b, const Scale& scale, bool col) const {
    const bool second = col && p_.direction == Mxfp8Direction::both;
    auto* out = static_cast<std::uint8_t*>(second ? a_.out_col.data : a_.out.data);
    const bool transposed = col && p_.out_order == Mxfp8Order::rows;
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r) {
      for (std::int64_t c = b.col; c < b.col + b.cols; ++c) {
        const std::int64_t index =
            transposed ? part_.lines + c * part_.line_pitch + r : (part_.out_row + r) * p_.cols + c;
        out[index] = encode(at(r, c) * scale.reciprocal);
      }
    }
  }

  std::uint8_t encode(float x) const {
    return p_.element == DType::e4m3 ? common::E4m3::encode(x) : common::E5m2::encode(x);
  }

  void put_scale(bool col, std::int64_t line, std::int64_t block, const Scale& scale) const {
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

// A number near 2^exponent; occasionally with a mantissa at a rounding boundary, or a special value.
std::uint32_t number_near(int exponent, std::uint64_t random, bool special) {
  static constexpr std::uint32_t kTurns[] = {0, 0x600000, 0x600001, 0x7fffff, 0x700000, 0x780000, 0x400000, 1};
  static constexpr std::uint32_t kSpecials[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f7fffff, 0x80000000};
  if (special) return kSpecials[random % 6];
  const int field = std::clamp(exponent - static_cast<int>(random >> 4 & 15), 0, 254);
  const auto mantissa = random % 4 == 0 ? kTurns[random >> 8 & 7] : static_cast<std::uint32_t>(random >> 16) & 0x7fffff;
  return static_cast<std::uint32_t>(random >> 63) << 31 | static_cast<std::uint32_t>(field) << 23 | mantissa;
}

template <class T>
T from_bits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  if constexpr (sizeof(T) == 4) {
    return x;
  } else {
    return common::from_compute<T>(x);
  }
}

}  // namespace

void quantize_reference(const Mxfp8& p, const Mxfp8Args& a) {
  if (sums_nothing(p))
    std::fill_n(static_cast<float*>(a.bias_gradient.data), static_cast<std::size_t>(p.experts * p.cols), 0.0F);
  if (is_empty(p)) return;
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
                       row[c] = from_bits<T>(number_near(
                           exponent, random, tile >> 20 & 7 || finite || summed ? false : (random >> 40) % 512 == 0));
                     }
                   }
                 });
  });
}

}  // namespace quern::mxfp8
