#include "embedding/backward.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/random.h"
#include "base/text.h"
#include "common/geometry.h"
#include "embedding/backward_params.cuh"
#include "embedding/lengths.h"
#include "embedding/lookup.h"

namespace quern::embedding {
namespace {

using common::divide_up;

constexpr std::int64_t kMostValues = std::int64_t{1} << 31;  // values and bags are below it

static_assert(sort::kFlagBit == 31, "has_wide_keys");

template <class F>
std::int64_t over_tables(const Embedding& p, std::int64_t first, const F& f) {
  for (int t = 0; t < tables(p); ++t) first = f(first, t);
  return first;
}

std::string check_tables(const Embedding& p) {
  for (int t = 0; t < tables(p); ++t) {
    if (bytes(type_of(p, t)) == 1)
      return cat("pass=backward is for tables of f32, f16 and bf16: table ", t,
                 " has an 8-bit type, whose rows cannot be "
                 "updated");
    if (stride_of(p, t) < dim_of(p, t))
      return cat("strides is below the dim of table ", t, ", ", dim_of(p, t),
                 ", so rows that are written would overlap");
  }
  if (p.dense_stride != 0 && p.dense_stride < p.dense)
    return "dense_stride is below dense, so rows of dense_gradient would overlap";
  return {};
}

std::string check_optimizer(const Embedding& p) {
  if (!is_stochastic(p)) return {};
  if (!has_optimizer(p)) return "rounding=stochastic is of updated rows: set optimizer=sgd, row_adagrad or adam";
  if ((row_types(p) & ~(1U << kF32)) == 0) return "rounding=stochastic is for tables of f16 or bf16: all are f32";
  return {};
}

}  // namespace

std::int64_t ids_of(const Embedding& p) {
  if (is_pooled(p)) return p.count;
  return p.batch == kOpen ? kOpen : p.batch * p.tables;
}

std::int64_t all_rows(const Embedding& p) {
  return over_tables(p, 0, [&](std::int64_t sum, int t) { return sum + rows_of(p, t); });
}

int key_bits(const Embedding& p) {
  int bits = 1;
  while (all_rows(p) >> bits != 0) ++bits;
  return bits;
}

int passes_of(const Embedding& p, int bits) { return static_cast<int>(divide_up(key_bits(p), bits)); }

std::int64_t largest_dim(const Embedding& p) {
  return over_tables(p, 0, [&](std::int64_t most, int t) { return std::max(most, dim_of(p, t)); });
}

// The table of digits has the most words with the widest ones.
Workspace workspace_of(const Embedding& p) {
  using rows::kRowsOfChunk;
  using rows::kRowsOfGroup;
  Workspace w{};
  w.ids = ids_of(p);
  w.table = words_of_lengths(p);
  w.spare = w.table + (passes_of(p, kMostBits) * kMostBlocks << kMostBits);
  w.ended = w.spare + (has_wide_keys(p) ? 6 : 4) * w.ids;
  w.keys = w.ended + 3;
  w.values = w.keys + w.ids;
  w.highs = w.values + w.ids;
  w.counts = w.highs + (has_wide_keys(p) ? w.ids : 0);
  w.winners = w.counts + (counts_bags(p) ? bags_of(p) : 0);
  w.words_of_id = is_max(p) ? divide_up(largest_dim(p), 32) : 0;
  const std::int64_t end = w.winners + w.ids * w.words_of_id;
  w.offsets = has_lengths(p) ? divide_up(end, 2) * 2 : end;
  w.sums = w.offsets + words_of_offsets(p);
  w.groups = w.ids <= kRowsOfGroup ? 0 : 2 * divide_up(w.ids, kRowsOfGroup);
  w.chunks = w.ids <= kRowsOfChunk ? 0 : 2 * divide_up(w.ids, kRowsOfChunk);
  w.stride = largest_dim(p);
  w.words = w.sums + (w.groups + w.chunks) * w.stride + 2 * w.groups + 1;  // pairs are aligned to 8 bytes
  return w;
}

std::int64_t workspace_words(const Embedding& p) {
  if (!is_backward(p)) return bags_of(p) == kOpen ? kOpen : words_of_lengths(p) + words_of_offsets(p);
  return ids_of(p) == kOpen || p.batch == kOpen ? kOpen : workspace_of(p).words;
}

std::string check_ids(const Embedding& p) {
  if (!is_backward(p)) return {};
  if (ids_of(p) >= kMostValues) return "pass=backward sorts below 2^31 ids: use a smaller batch";
  if (bags_of(p) >= kMostValues) return "batch times tables must be below 2^31 with pass=backward";
  return {};
}

std::string check_backward(const Embedding& p) {
  if (!is_backward(p)) {
    if (has_optimizer(p)) return "optimizer is of pass=backward: a lookup updates nothing";
    return is_stochastic(p) ? "rounding is of pass=backward with an optimizer" : "";
  }
  for (const auto rule : {check_tables, check_optimizer}) {
    if (std::string refusal = rule(p); !refusal.empty()) return refusal;
  }
  return {};
}

// The gradient, and for each row that an id may name what is written, and what is read of an updated one.
std::int64_t backward_bytes(const Embedding& p) {
  const std::int64_t ids = ids_of(p), size = bytes(p.dtype);
  std::int64_t all = p.batch * (width_of(p) + p.dense) * size + ids * bytes(p.index);
  if (is_pooled(p)) all += bags_of(p) * bytes(p.offsets) + 2 * ids * bytes(p.sample_weights);
  for (int t = 0; t < tables(p); ++t) {
    const std::int64_t named = std::min(rows_of(p, t), ids / p.tables), dim = dim_of(p, t);
    const std::int64_t state = is_adam(p) ? 8 * dim : has_moments(p) ? 4 : 0;
    all += named * (has_optimizer(p) ? 2 : 1) * (dim * bytes(type_of(p, t)) + state);
  }
  return all;
}

bool generates_state(const Embedding& p, int operand) {
  if (operand == kSquares) return is_adam(p);
  return operand == kMoments && p.optimizer == EmbeddingOptimizer::row_adagrad;
}

void generate_state(const Embedding& p, int operand, int table, std::uint64_t seed, void* data) {
  const std::int64_t count = rows_of(p, table) * (operand == kSquares ? dim_of(p, table) : 1);
  parallel_for(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
      static_cast<float*>(data)[i] = random % 8 == 0 ? 0 : static_cast<float>(random >> 40) * 0x1p-20F;
    }
  });
}

}  // namespace quern::embedding
