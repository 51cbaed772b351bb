// The plain reference.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "common/host_types.h"
#include "embedding/lengths.h"
#include "embedding/problem.h"
#include "embedding/quantized.h"
#include "embedding/shape.h"
#include "hash/reference.h"

namespace quern::embedding {
namespace {

std::int64_t plus_one(const Embedding& p, std::int64_t id) {
  if (p.index == i32) return static_cast<std::int32_t>(static_cast<std::uint32_t>(id) + 1);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(id) + 1);
}

std::int64_t hashed(const Embedding& p, std::int64_t id, std::int64_t rows) {
  if (p.hash == EmbeddingHash::none) return id;
  const std::int64_t rest = plus_one(p, id) % rows;
  return rest < 0 ? rest + rows : rest;
}

class Rows {
 public:
  // `offsets`: of pooled bags, for all but named_at.
  Rows(const Embedding& p, const EmbeddingArgs& a, std::vector<std::int64_t> offsets)
      : p_(p), a_(a), offsets_(std::move(offsets)) {}

  void write_row(std::int64_t b) const {
    const std::int64_t size = bytes(p_.dtype);
    if (!is_quantized(p_)) return make_row(b, static_cast<std::byte*>(a_.out.data) + b * out_stride(p_) * size);
    std::vector<std::byte> numbers(static_cast<std::size_t>(width_of(p_) * size));
    make_row(b, numbers.data());
    quantize_row(p_, a_, b, numbers.data());
  }

  void make_row(std::int64_t b, std::byte* to) const {
    const std::int64_t size = bytes(p_.dtype);
    const auto* const dense = static_cast<const std::byte*>(a_.dense.data) + b * dense_stride(p_) * size;
    if (p_.dense != 0) std::memcpy(to, dense, static_cast<std::size_t>(p_.dense * size));
    to += p_.dense * size;
    for (int t = 0; t < tables(p_); ++t) {
      if (is_pooled(p_)) write_pooled(t, b, to);
      if (!is_pooled(p_)) write_one(t, b, to);
      to += dim_of(p_, t) * size;
    }
  }

  NamedRow named_at(int t, std::int64_t at) const {
    const std::int64_t hash = row_at(t, at);
    return {is_skipped(t, hash) ? -1 : named(t, hash).value_or(-1), !is_skipped(t, hash)};
  }

  // In mode report: the least position of an id that names no row, and of offsets.
  void report() const {
    auto& least = *static_cast<std::uint64_t*>(a_.report.data);
    const std::int64_t samples = is_pooled(p_) ? bags_of(p_) : p_.batch;
    for (std::int64_t i = 0; i < samples; ++i) {
      if (is_pooled(p_)) report_bag(i, least);
      for (int t = 0; !is_pooled(p_) && t < tables(p_); ++t)
        report_id(t, i * index_stride(p_) + t, i * p_.tables + t, least);
    }
  }

  // Those that are made of lengths.
  void leave_offsets() const {
    if (p_.batch != 0) std::memcpy(made_offsets(p_, a_), offsets_.data(), offsets_.size() * sizeof(offsets_[0]));
  }

 private:
  struct Bag {
    std::int64_t begin, end;
    bool good;
  };

  // Of table t, where it begins and its rows.
  std::int64_t place(int t, int number) const {
    return static_cast<const std::int64_t*>(a_.places.data)[std::int64_t{2} * t + number];
  }
  std::int64_t rows(int t) const { return is_packed(p_) ? place(t, 1) : rows_of(p_, t); }
  const std::byte* table(int t) const {
    if (!is_packed(p_)) return static_cast<const std::byte*>(a_.weights.entries[t].data);
    return static_cast<const std::byte*>(a_.packed.data) + place(t, 0) * bytes(type_of(p_, t));
  }

  Bag bag_of(std::int64_t number) const {
    const std::int64_t begin = offsets_[static_cast<std::size_t>(number)];
    const std::int64_t end = offsets_[static_cast<std::size_t>(number + 1)];
    return {std::max<std::int64_t>(begin, 0), std::min(end, p_.count), begin >= 0 && begin <= end && end <= p_.count};
  }

  bool is_bad(int t, std::int64_t at) const {
    const std::int64_t id = common::read_integer(p_.index, a_.index.data, at);
    return !is_skipped(t, id) && (id < 0 || id >= rows(t));
  }
  void report_id(int t, std::int64_t at, std::int64_t position, std::uint64_t& least) const {
    if (is_bad(t, at)) least = std::min(least, static_cast<std::uint64_t>(position));
  }
  void report_bag(std::int64_t number, std::uint64_t& least) const {
    const Bag bag = bag_of(number);
    if (!bag.good) least = std::min(least, static_cast<std::uint64_t>(p_.count + number));
    for (std::int64_t at = bag.begin; at < bag.end; ++at) report_id(static_cast<int>(number / p_.batch), at, at, least);
  }

  bool is_skipped(int t, std::int64_t row) const { return has_padding(p_) && row == padding_of(p_, t); }

  // The row that a hashed id names; nothing for a zero row.
  std::optional<std::int64_t> named(int t, std::int64_t row) const {
    const std::int64_t all = rows(t);
    if (all < 1) return std::nullopt;
    if (p_.mode == EmbeddingMode::wrap_negative && row < 0) row += all;
    if (p_.mode == EmbeddingMode::clamp) row = std::clamp<std::int64_t>(row, 0, all - 1);
    if (row >= 0 && row < all) return row;
    if (p_.mode == EmbeddingMode::first || p_.mode == EmbeddingMode::report_first) return 0;
    return std::nullopt;
  }

  std::int64_t row_at(int t, std::int64_t at) const {
    const std::int64_t id = common::read_integer(p_.index, a_.index.data, at);
    return has_vocabulary(p_) ? position_of(t, id) : hashed(p_, id, std::max<std::int64_t>(rows(t), 1));
  }

  std::int64_t position_of(int t, std::int64_t id) const {
    const auto mask = static_cast<common::u32>(capacity_of(p_, t) - 1);
    return std::max<std::int64_t>(hash::find(a_.vocabularies.entries[t].data, mask, id), 0);
  }

  // Element c of a row, with its scale, in fp32.
  float value(int t, std::int64_t row, std::int64_t c) const {
    const DType type = type_of(p_, t);
    const void* const numbers = table(t);
    const std::int64_t at = row * stride_of(p_, t) + c;
    const double number =
        type == i8 ? static_cast<const std::int8_t*>(numbers)[at] : common::read_float(type, numbers, at);
    if (!has_scale(p_, t)) return static_cast<float>(number);
    const double scale = common::read_float(p_.scale, a_.scales.entries[t].data, row * scale_stride_of(p_, t));
    return static_cast<float>(number) * static_cast<float>(scale);
  }

  void write_one(int t, std::int64_t b, std::byte* to) const {
    const std::int64_t dim = dim_of(p_, t), size = bytes(p_.dtype);
    const std::optional<std::int64_t> row = named(t, row_at(t, b * index_stride(p_) + t));
    if (!row) {
      std::memset(to, 0, static_cast<std::size_t>(dim * size));
    } else if (type_of(p_, t) == p_.dtype) {
      std::memcpy(to, table(t) + *row * stride_of(p_, t) * size, static_cast<std::size_t>(dim * size));
    } else {
      for (std::int64_t c = 0; c < dim; ++c) common::write_float(p_.dtype, to, c, value(t, *row, c));
    }
  }

  float weight(std::int64_t at) const {
    if (p_.sample_weights == DType::none) return 1;
    return static_cast<float>(common::read_float(p_.sample_weights, a_.sample_weights.data, at));
  }

  float added(float sum, float value, std::int64_t at, bool first) const {
    if (p_.pooling == EmbeddingPooling::max) return first || value > sum || value != value ? value : sum;
    return p_.sample_weights == DType::none ? sum + value : std::fmaf(value, weight(at), sum);
  }

  void write_pooled(int t, std::int64_t b, std::byte* to) const {
    const Bag bag = bag_of(t * p_.batch + b);
    std::vector<float> sums(static_cast<std::size_t>(dim_of(p_, t)));
    std::int64_t count = 0;
    for (std::int64_t at = bag.begin; at < bag.end; ++at) {
      const std::int64_t hash = row_at(t, at);
      if (is_skipped(t, hash)) continue;
      const std::optional<std::int64_t> row = named(t, hash);
      for (std::size_t c = 0; c < sums.size(); ++c) {
        const float one = row ? value(t, *row, static_cast<std::int64_t>(c)) : 0;
        sums[c] = added(sums[c], one, at, count == 0);
      }
      ++count;
    }
    const float divisor = p_.pooling == EmbeddingPooling::mean && count > 0 ? static_cast<float>(count) : 1;
    for (std::size_t c = 0; c < sums.size(); ++c)
      common::write_float(p_.dtype, to, static_cast<std::int64_t>(c), sums[c] / divisor);
  }

  const Embedding& p_;
  const EmbeddingArgs& a_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

NamedRow row_named(const Embedding& p, const EmbeddingArgs& a, int t, std::int64_t at) {
  return Rows(p, a, {}).named_at(t, at);
}

void reference(const Embedding& p, const EmbeddingArgs& a) {
  const Rows rows(p, a, is_pooled(p) ? offsets_of(p, a) : std::vector<std::int64_t>());
  if (has_atoms(p)) std::memset(a.out_scales.data, 0, static_cast<std::size_t>(mx::blocked_bytes(scale_grid(p))));
  parallel_for(p.batch, 1 + (1 << 16) / width_of(p), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) rows.write_row(b);
  });
  if (reports(p)) rows.report();
  if (has_lengths(p) && a.workspace.data != nullptr) rows.leave_offsets();
}

}  // namespace quern::embedding
