// The plain reference: element by element in the order that Rounding promises, with the activation in double, and the
// sums of gradients in the kernel's order.
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "common/activation_reference.h"
#include "common/host_types.h"
#include "glu/operands.h"

namespace quern::glu {
namespace {

using common::ActivationRow;

float rounded(DType type, double value) {
  return common::with_float(type, [&](auto x) {
    using T = decltype(x);
    return static_cast<float>(common::to_compute(common::from_compute<T>(static_cast<common::ComputeOf<T>>(value))));
  });
}

void write_float(DType type, void* data, std::int64_t at, double value) {
  common::with_float(type, [&](auto x) {
    using T = decltype(x);
    static_cast<T*>(data)[at] = common::from_compute<T>(static_cast<common::ComputeOf<T>>(value));
  });
}

// What an element of out is made of.
struct Element {
  float a;
  float g;
  double activated;
  double gate;
  double product;
};

// What one gives to the sums.
struct Parts {
  float a = 0;
  float g = 0;
  float product = 0;
};

class Reference {
 public:
  Reference(const Glu& problem, const GluArgs& args)
      : p_(problem),
        a_(args),
        row_(common::kActivationRows[static_cast<int>(problem.activation)]),
        alpha_(common::alpha_or_default(static_cast<int>(problem.activation), args.alpha)),
        limit_(step(args.limit)) {}

  bool counts(std::int64_t row) const {
    if (p_.counts == DType::none) return true;
    return row % p_.rows < common::read_integer(p_.counts, a_.counts.data, row / p_.rows);
  }

  void write_forward(std::int64_t row, std::int64_t column) const {
    write_out(row, column, element(row, column).product);
  }

  Parts write_backward(std::int64_t row, std::int64_t column) const {
    const Element e = element(row, column);
    const auto gradient =
        static_cast<float>(common::read_float(p_.dtype, a_.gradient.data, row * gradient_stride(p_) + column));
    const double of_product = step(static_cast<float>(gradient * scale(row)));
    Parts made;
    made.a = static_cast<float>(step(step(of_product * e.gate) * activated_slope(e.a)));
    made.g = static_cast<float>(step(step(of_product * e.activated) * gate_slope(e.g)));
    made.product = static_cast<float>(static_cast<double>(gradient) * e.product);
    const Columns at = columns_of(p_, column);
    void* const gates = is_split(p_) ? a_.gate_gradient.data : a_.x_gradient.data;
    write_float(p_.dtype, a_.x_gradient.data, row * x_gradient_stride(p_) + at.a, made.a);
    write_float(p_.dtype, gates, row * x_gradient_stride(p_) + at.g, made.g);
    if (has_out(p_)) write_out(row, column, e.product);
    return made;
  }

 private:
  // A result is of fp32, or rounded as eager operators do. So a product that becomes 0 is 0 where it meets infinity.
  double step(double value) const {
    const auto single = static_cast<float>(value);
    return static_cast<double>(p_.rounding == Rounding::torch ? rounded(p_.dtype, single) : single);
  }

  double scale(std::int64_t row) const {
    return p_.scale == DType::none ? 1.0 : common::read_float(p_.scale, a_.scale.data, row);
  }
  void write_out(std::int64_t row, std::int64_t column, double product) const {
    write_float(p_.dtype, a_.out.data, row * out_stride(p_) + column, product * scale(row));
  }

  float number(const In& in, std::int64_t row, std::int64_t column, std::int64_t bias_column) const {
    const auto x = static_cast<float>(common::read_float(p_.dtype, in.data, row * x_stride(p_) + column));
    if (p_.bias == DType::none) return x;
    const auto bias = static_cast<float>(common::read_float(p_.bias, a_.bias.data, bias_column));
    return static_cast<float>(step(x + bias));
  }

  Element element(std::int64_t row, std::int64_t column) const {
    const Columns at = columns_of(p_, column), of_bias = bias_columns(p_, column);
    Element e{};
    e.a = number(a_.x, row, at.a, of_bias.a);
    e.g = number(is_split(p_) ? a_.gate : a_.x, row, at.g, of_bias.g);
    e.activated = activated(argument(e.a));
    e.gate = gate(e.g);
    e.product = step(e.activated * e.gate);
    return e;
  }

  float argument(float a) const {
    return p_.gating == GluGating::clamped && a > limit_ ? static_cast<float>(limit_) : a;
  }

  double activated(float a) const {
    if (!rounds_steps(p_)) return step(row_.reference(static_cast<double>(a), static_cast<double>(alpha_)));
    return common::with_float(p_.dtype, [&](auto x) {
      using Round = common::RoundTo<std::conditional_t<std::is_same_v<decltype(x), double>, float, decltype(x)>>;
      const float value = p_.activation == Activation::gelu_new
                              ? common::activate<common::Activation::gelu_new>(a, alpha_, Round())
                              : common::activate<common::Activation::gelu_fast>(a, alpha_, Round());
      return step(static_cast<double>(value));
    });
  }

  double gate(float g) const {
    if (p_.gating == GluGating::clamped) {
      const double clamped = g > limit_ ? limit_ : g < -limit_ ? -limit_ : static_cast<double>(g);
      return step(static_cast<double>(static_cast<float>(clamped) + a_.offset));
    }
    if (p_.gating != GluGating::tanh) return g;
    const auto beta = static_cast<double>(a_.beta);
    return step(beta * std::tanh(static_cast<double>(g) / beta));
  }

  // The table's formula: a test compares it with differences of the reference.
  double activated_slope(float a) const {
    if (p_.gating == GluGating::clamped && a > limit_) return 0;
    return row_.derivative(argument(a), alpha_);
  }
  double gate_slope(float g) const {
    if (p_.gating == GluGating::clamped) return g > limit_ || g < -limit_ ? 0 : 1;
    if (p_.gating != GluGating::tanh) return 1;
    const double t = std::tanh(static_cast<double>(g) / static_cast<double>(a_.beta));
    return 1 - t * t;
  }

  const Glu& p_;
  const GluArgs& a_;
  const ActivationRow& row_;
  float alpha_;
  double limit_;
};

float pairwise(const float (&x)[8]) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }

// ---- The sums of gradients. A tile of rows is worked on by one thread of the host.

// The sum of 256 numbers as a tree.
float tree(std::vector<float> x) {
  for (std::size_t n = x.size(); n > 1; n /= 2) {
    for (std::size_t i = 0; i < n / 2; ++i) x[i] = x[2 * i] + x[2 * i + 1];
  }
  return x[0];
}

class Summing {
 public:
  Summing(const Glu& problem, const GluArgs& args, const Reference& reference)
      : p_(problem),
        a_(args),
        reference_(reference),
        tiles_(workspace_of(problem).tiles),
        columns_(static_cast<std::size_t>(tiles_ * 2 * problem.width)) {}

  void run() {
    parallel_for(tiles_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t tile = begin; tile < end; ++tile) run_tile(tile);
    });
    if (p_.bias_gradient == DType::none) return;
    for (std::int64_t c = 0; c < p_.width; ++c) {
      const Columns to = bias_columns(p_, c);
      write_float(p_.bias_gradient, a_.bias_gradient.data, to.a, total(0, c));
      write_float(p_.bias_gradient, a_.bias_gradient.data, to.g, total(1, c));
    }
  }

 private:
  float& column_sum(std::int64_t tile, std::int64_t part, std::int64_t column) {
    return columns_[static_cast<std::size_t>((tile * 2 + part) * p_.width + column)];
  }

  void run_tile(std::int64_t tile) {
    constexpr int kParts = 8;  // of 16 rows
    std::vector<float> sums(static_cast<std::size_t>(kParts * 2 * p_.width));
    const auto at = [&](std::int64_t k, std::int64_t part, std::int64_t c) -> float& {
      return sums[static_cast<std::size_t>((k * 2 + part) * p_.width + c)];
    };
    const std::int64_t first = tile * kTileRows, end = std::min(all_rows(p_), first + kTileRows);
    for (std::int64_t row = first; row < end; ++row) {
      std::vector<float> products(static_cast<std::size_t>(workspace_of(p_).segments * kTileColumns));
      for (std::int64_t c = 0; reference_.counts(row) && c < p_.width; ++c) {
        const Parts made = reference_.write_backward(row, c);
        const std::int64_t part = (row - first) / 16;
        at(part, 0, c) += made.a;
        at(part, 1, c) += made.g;
        products[static_cast<std::size_t>(c)] = made.product;
      }
      if (has_scale_gradient(p_)) write_float(p_.scale, a_.scale_gradient.data, row, row_total(products));
    }
    for (std::int64_t part = 0; part < 2; ++part) {
      for (std::int64_t c = 0; c < p_.width; ++c) {
        float parts[kParts];
        for (std::int64_t k = 0; k < kParts; ++k) parts[k] = at(k, part, c);
        column_sum(tile, part, c) = pairwise(parts);
      }
    }
  }

  static float row_total(const std::vector<float>& products) {
    float sum = 0;
    for (auto from = products.begin(); from != products.end(); from += kTileColumns)
      sum += tree(std::vector<float>(from, from + kTileColumns));
    return sum;
  }

  float total(std::int64_t part, std::int64_t column) {
    float sum = 0;
    for (std::int64_t chunk = 0; chunk < tiles_; chunk += kChunkTiles) {
      float of_chunk = 0;
      for (std::int64_t t = chunk; t < std::min(tiles_, chunk + kChunkTiles); ++t)
        of_chunk += column_sum(t, part, column);
      sum += of_chunk;
    }
    return sum;
  }

  const Glu& p_;
  const GluArgs& a_;
  const Reference& reference_;
  std::int64_t tiles_;
  std::vector<float> columns_;
};

}  // namespace

void reference(const Glu& p, const GluArgs& a) {
  const Reference reference(p, a);
  if (has_sums(p)) return Summing(p, a, reference).run();
  parallel_for(all_rows(p), 1 + (1 << 14) / std::max<std::int64_t>(1, p.width),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   if (!reference.counts(row)) continue;
                   for (std::int64_t c = 0; c < p.width; ++c) {
                     if (is_backward(p))
                       reference.write_backward(row, c);
                     else
                       reference.write_forward(row, c);
                   }
                 }
               });
}

}  // namespace quern::glu
