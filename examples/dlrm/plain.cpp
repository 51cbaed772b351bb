#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

#include "dlrm/operations.h"

namespace examples {
namespace {

constexpr float kEpsilon = 1e-8F;

class Plain : public Operations {
 public:
  Numbers features(const Numbers& dense, const Ids& ids) override {
    Numbers out;
    for (std::size_t b = 0; b < kBatch; ++b) {
      out.insert(out.end(), dense.begin() + b * kDim, dense.begin() + (b + 1) * kDim);
      for (int t = 0; t < kTables; ++t) {
        const float* const row = row_of(t, ids[b * kTables + static_cast<std::size_t>(t)]);
        out.insert(out.end(), row, row + kDim);
      }
    }
    return out;
  }

  Numbers interact(const Numbers& features) override {
    Numbers out;
    for (const float* x = features.data(); x != features.data() + features.size(); x += kWidth) {
      out.insert(out.end(), x, x + kDim);
      for (int i = 0; i < kFeatures; ++i) {
        for (int j = 0; j < i; ++j) {
          float sum = 0;
          for (int d = 0; d < kDim; ++d) sum += x[i * kDim + d] * x[j * kDim + d];
          out.push_back(sum);
        }
      }
    }
    return out;
  }

  Numbers probability(const Numbers& x, float bias) override {
    Numbers out;
    for (const float value : x) out.push_back(1 / (1 + std::exp(-(value + bias))));
    return out;
  }

  Numbers probability_gradient(const Numbers& x, float bias, const Numbers& gradient) override {
    Numbers out = probability(x, bias);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = gradient[i] * out[i] * (1 - out[i]);
    return out;
  }

  Numbers interact_gradient(const Numbers& features, const Numbers& gradient) override {
    Numbers out(features.size());
    for (std::size_t b = 0; b < kBatch; ++b) {
      const float* const x = features.data() + b * kWidth;
      const float* g = gradient.data() + b * kInteracted;
      float* const of_x = out.data() + b * kWidth;
      std::copy(g, g + kDim, of_x);
      g += kDim;
      for (int i = 0; i < kFeatures; ++i) {
        for (int j = 0; j < i; ++j, ++g) {
          for (int d = 0; d < kDim; ++d) {
            of_x[i * kDim + d] += *g * x[j * kDim + d];
            of_x[j * kDim + d] += *g * x[i * kDim + d];
          }
        }
      }
    }
    return out;
  }

  Numbers update(const Ids& ids, const Numbers& gradient, float rate) override {
    Numbers of_dense;
    std::vector<Numbers> sums;
    for (const Numbers& table : tables_) sums.emplace_back(table.size());
    for (std::size_t b = 0; b < kBatch; ++b) {
      const float* g = gradient.data() + b * kWidth;
      of_dense.insert(of_dense.end(), g, g + kDim);
      for (int t = 0; t < kTables; ++t) {
        g += kDim;
        float* const sum = sums[t].data() + hashed(t, ids[b * kTables + static_cast<std::size_t>(t)]) * kDim;
        for (int d = 0; d < kDim; ++d) sum[d] += g[d];
      }
    }
    for (std::size_t t = 0; t < kTables; ++t) {
      for (std::int64_t row = 0; row < kRows[t]; ++row) move(t, row, sums[t].data() + row * kDim, rate);
    }
    return of_dense;
  }

 private:
  // A row without a gradient stays as it is.
  void move(std::size_t t, std::int64_t row, const float* g, float rate) {
    float squares = 0;
    for (int d = 0; d < kDim; ++d) squares += g[d] * g[d];
    float& moment = moments_[t][static_cast<std::size_t>(row)];
    moment += squares / kDim;
    for (int d = 0; d < kDim; ++d)
      tables_[t][static_cast<std::size_t>(row * kDim + d)] -= rate / (std::sqrt(moment) + kEpsilon) * g[d];
  }

  static std::int64_t hashed(int t, std::int64_t id) {
    const std::int64_t rest = (id + 1) % kRows[t];
    return rest < 0 ? rest + kRows[t] : rest;
  }
  const float* row_of(int t, std::int64_t id) const { return tables_[t].data() + hashed(t, id) * kDim; }

  static std::vector<Numbers> zeros() {
    std::vector<Numbers> moments;
    for (const std::int64_t rows : kRows) moments.emplace_back(static_cast<std::size_t>(rows));
    return moments;
  }

  std::vector<Numbers> tables_ = first_tables();
  std::vector<Numbers> moments_ = zeros();
};

}  // namespace

std::vector<Numbers> first_tables() {
  std::mt19937 random(5);
  std::vector<Numbers> tables;
  for (const std::int64_t rows : kRows) {
    Numbers& table = tables.emplace_back(static_cast<std::size_t>(rows * kDim));
    for (float& w : table) w = 0.5F * static_cast<float>(random() >> 8) * 0x1p-24F - 0.25F;
  }
  return tables;
}

std::unique_ptr<Operations> plain_operations() { return std::make_unique<Plain>(); }

}  // namespace examples
