// The plain reference of the backward pass. Sums are in fp32 and in the order of the kernels.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "common/host_types.h"
#include "embedding/backward.h"
#include "embedding/backward_params.cuh"
#include "embedding/lengths.h"
#include "embedding/problem.h"
#include "embedding/stochastic.cuh"

namespace quern::embedding {
namespace {

using rows::kNothing;
using rows::kRowsOfChunk;
using rows::kRowsOfGroup;

// An id that names a row.
struct Id {
  int table;
  std::int64_t row;
  std::int64_t at;      // its place in index
  std::int64_t sample;  // row of the gradient
};

float power_rest(double base, std::int64_t n) {
  double power = 1;
  for (; n > 0; n /= 2, base *= base) power *= n % 2 != 0 ? base : 1;
  return static_cast<float>(1 - power);
}

// Blocks of 32 in a tree, one after the other.
float row_sum(std::vector<float> values) {
  values.resize((values.size() + 31) / 32 * 32, kNothing);
  float sum = kNothing;
  for (std::size_t first = 0; first < values.size(); first += 32) {
    for (std::size_t half = 1; half < 32; half *= 2)
      for (std::size_t i = 0; i < 32; i += 2 * half) values[first + i] += values[first + i + half];
    sum += values[first];
  }
  return sum;
}

class Backward {
 public:
  Backward(const Embedding& p, const EmbeddingArgs& a) : p_(p), a_(a), firsts_(static_cast<std::size_t>(tables(p))) {
    std::int64_t first = p.dense;
    for (int t = 0; t < tables(p); ++t) {
      firsts_[static_cast<std::size_t>(t)] = first;
      first += dim_of(p, t);
    }
  }

  void run() {
    copy_dense();
    if (is_weighted(p_))
      std::memset(a_.sample_weights_gradient.data, 0, static_cast<std::size_t>(p_.count * bytes(p_.sample_weights)));
    is_pooled(p_) ? find_ids_of_bags() : find_ids();
    std::stable_sort(ids_.begin(), ids_.end(),
                     [](const Id& a, const Id& b) { return a.table != b.table ? a.table < b.table : a.row < b.row; });
    std::vector<std::size_t> heads;
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (i == 0 || ids_[i].table != ids_[i - 1].table || ids_[i].row != ids_[i - 1].row) heads.push_back(i);
    heads.push_back(ids_.size());
    parallel_for(static_cast<std::int64_t>(heads.size()) - 1, 256, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        put_row(heads[i], heads[i + 1]);
    });
  }

 private:
  void copy_dense() const {
    const std::int64_t size = bytes(p_.dtype);
    for (std::int64_t b = 0; p_.dense != 0 && b < p_.batch; ++b)
      std::memcpy(static_cast<std::byte*>(a_.dense_gradient.data) + b * dense_stride(p_) * size,
                  static_cast<const std::byte*>(a_.gradient.data) + b * out_stride(p_) * size,
                  static_cast<std::size_t>(p_.dense * size));
  }

  float gradient(std::int64_t sample, int t, std::int64_t c) const {
    const std::int64_t at = sample * out_stride(p_) + firsts_[static_cast<std::size_t>(t)] + c;
    return static_cast<float>(common::read_float(p_.dtype, a_.gradient.data, at));
  }

  float weight_at(int t, std::int64_t row, std::int64_t c) const {
    const void* const table = has_optimizer(p_) ? a_.updated.entries[t].data : a_.weights.entries[t].data;
    return static_cast<float>(common::read_float(type_of(p_, t), table, row * stride_of(p_, t) + c));
  }

  void find_ids() {
    for (std::int64_t b = 0; b < p_.batch; ++b) {
      for (int t = 0; t < tables(p_); ++t) {
        const NamedRow named = row_named(p_, a_, t, b * index_stride(p_) + t);
        if (named.row >= 0) ids_.push_back({t, named.row, b * p_.tables + t, b});
      }
    }
  }

  std::int64_t offset(std::int64_t bag) const {
    return std::clamp<std::int64_t>(offsets_[static_cast<std::size_t>(bag)], 0, p_.count);
  }

  void find_ids_of_bags() {
    offsets_ = offsets_of(p_, a_);
    counted_.resize(static_cast<std::size_t>(bags_of(p_)));
    if (is_max(p_)) wins_.resize(static_cast<std::size_t>(p_.count));
    for (std::int64_t bag = 0; bag < bags_of(p_); ++bag) {
      const int t = static_cast<int>(bag / p_.batch);
      std::vector<Id> ids;
      for (std::int64_t at = offset(bag); at < offset(bag + 1); ++at) {
        const NamedRow named = row_named(p_, a_, t, at);
        if (!named.counted) continue;
        ids.push_back({t, named.row, at, bag % p_.batch});
        ++counted_[static_cast<std::size_t>(bag)];
      }
      if (is_max(p_)) find_winners(ids);
      for (const Id& id : ids) {
        if (id.row < 0) continue;
        ids_.push_back(id);
        if (is_weighted(p_)) put_dot(id);
      }
    }
  }

  // The first row that has the largest number of a column, or a NaN.
  void find_winners(const std::vector<Id>& ids) {
    for (std::int64_t c = 0; !ids.empty() && c < dim_of(p_, ids[0].table); ++c) {
      const Id* best = nullptr;
      float largest = 0;
      for (const Id& id : ids) {
        const float value = id.row < 0 ? 0 : weight_at(id.table, id.row, c);
        if (best != nullptr && !(value > largest) && !(std::isnan(value) && !std::isnan(largest))) continue;
        best = &id, largest = value;
      }
      auto& wins = wins_[static_cast<std::size_t>(best->at)];
      wins.resize(static_cast<std::size_t>(dim_of(p_, best->table)));
      wins[static_cast<std::size_t>(c)] = true;
    }
  }

  void put_dot(const Id& id) const {
    std::vector<float> products;
    for (std::int64_t c = 0; c < dim_of(p_, id.table); ++c)
      products.push_back(weight_at(id.table, id.row, c) * gradient(id.sample, id.table, c));
    common::write_float(p_.sample_weights, a_.sample_weights_gradient.data, id.at, row_sum(products));
  }

  float plus(float sum, const Id& id, std::int64_t c) const {
    const float value = gradient(id.sample, id.table, c);
    if (is_weighted(p_))
      return std::fmaf(static_cast<float>(common::read_float(p_.sample_weights, a_.sample_weights.data, id.at)), value,
                       sum);
    if (p_.pooling == EmbeddingPooling::mean)
      return sum + value / static_cast<float>(counted_[static_cast<std::size_t>(id.table * p_.batch + id.sample)]);
    if (!is_max(p_)) return sum + value;
    const auto& wins = wins_[static_cast<std::size_t>(id.at)];
    return sum + (!wins.empty() && wins[static_cast<std::size_t>(c)] ? value : 0);
  }

  // Of a row's ids: groups of 32, chunks of 32 groups, and these in sequence.
  float sum_of(std::size_t begin, std::size_t end, std::int64_t c) const {
    float all = kNothing;
    for (std::size_t chunk = begin; chunk < end; chunk += kRowsOfChunk) {
      float of_chunk = kNothing;
      for (std::size_t group = chunk; group < std::min<std::size_t>(end, chunk + kRowsOfChunk); group += kRowsOfGroup) {
        float of_group = kNothing;
        for (std::size_t i = group; i < std::min<std::size_t>(end, group + kRowsOfGroup); ++i)
          of_group = plus(of_group, ids_[i], c);
        of_chunk += of_group;
      }
      all += of_chunk;
    }
    return all;
  }

  void put_row(std::size_t begin, std::size_t end) const {
    const Id& id = ids_[begin];
    std::vector<float> sums;
    for (std::int64_t c = 0; c < dim_of(p_, id.table); ++c) sums.push_back(sum_of(begin, end, c));
    if (!has_optimizer(p_)) {
      for (std::size_t c = 0; c < sums.size(); ++c)
        common::write_float(type_of(p_, id.table), a_.weights_gradient.entries[id.table].data,
                            id.row * stride_of(p_, id.table) + static_cast<std::int64_t>(c), sums[c]);
      return;
    }
    const float rate = p_.optimizer == EmbeddingOptimizer::row_adagrad ? adagrad_rate(id, sums) : a_.learning_rate;
    for (std::size_t c = 0; c < sums.size(); ++c) {
      const auto column = static_cast<std::int64_t>(c);
      if (is_adam(p_)) sums[c] = adam_step(id, column, sums[c]);
      put_updated(id, column, std::fmaf(-rate, sums[c], weight_at(id.table, id.row, column)));
    }
  }

  float adagrad_rate(const Id& id, const std::vector<float>& sums) const {
    std::vector<float> squares;
    for (const float sum : sums) squares.push_back(sum * sum);
    float& moment = static_cast<float*>(a_.moments.entries[id.table].data)[id.row];
    moment += row_sum(squares) / static_cast<float>(sums.size());
    return a_.learning_rate / (std::sqrt(moment) + a_.epsilon);
  }

  float adam_step(const Id& id, std::int64_t c, float g) const {
    const std::int64_t at = id.row * dim_of(p_, id.table) + c;
    float& moment = static_cast<float*>(a_.moments.entries[id.table].data)[at];
    float& square = static_cast<float*>(a_.squares.entries[id.table].data)[at];
    moment = std::fmaf(a_.beta1, moment, (1 - a_.beta1) * g);
    square = std::fmaf(a_.beta2, square, (1 - a_.beta2) * g * g);
    const float unbiased = square / power_rest(a_.beta2, a_.step);
    return moment / power_rest(a_.beta1, a_.step) / (std::sqrt(unbiased) + a_.epsilon);
  }

  void put_updated(const Id& id, std::int64_t c, float value) const {
    const DType type = type_of(p_, id.table);
    if (is_stochastic(p_)) {
      const auto column = static_cast<std::uint32_t>(c);
      const common::u32 word = philox_of(static_cast<std::uint64_t>(a_.seed), static_cast<std::uint64_t>(id.row),
                                         column, static_cast<std::uint32_t>(id.table))
                                   .words[column % 4];
      if (type == f16) value = round_by_chance(common::Fp16{}, value, word);
      if (type == bf16) value = round_by_chance(common::Bf16{}, value, word);
    }
    common::write_float(type, a_.updated.entries[id.table].data, id.row * stride_of(p_, id.table) + c, value);
  }

  const Embedding& p_;
  const EmbeddingArgs& a_;
  std::vector<std::int64_t> firsts_;  // column of out where a table begins
  std::vector<std::int64_t> offsets_;
  std::vector<Id> ids_;
  std::vector<std::int64_t> counted_;    // of each bag
  std::vector<std::vector<bool>> wins_;  // of each id: columns
};

}  // namespace

void backward_reference(const Embedding& p, const EmbeddingArgs& a) { Backward(p, a).run(); }

}  // namespace quern::embedding
