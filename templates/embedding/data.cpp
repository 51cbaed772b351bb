// Generated data.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/random.h"
#include "common/host_types.h"
#include "embedding/problem.h"
#include "embedding/shape.h"
#include "hash/reference.h"

namespace quern::embedding {
namespace {

// The average bag times its number, and up to one more bag.
std::int64_t offset_at(const Embedding& p, std::uint64_t seed, std::int64_t bag) {
  const std::int64_t bags = bags_of(p);
  if (bag == 0) return 0;
  if (bag == bags) return p.count;
  const std::int64_t rest = p.count % bags;
  const std::int64_t more = static_cast<std::int64_t>(random_at(seed, static_cast<std::uint64_t>(bag)) % 1024);
  const std::int64_t average = p.count / bags;
  return bag * average + bag * rest / bags + average * more / 1024;
}

std::int64_t by_power_law(std::int64_t rows, std::uint64_t random) {
  const double unit = static_cast<double>(random >> 11) * 0x1p-53;
  const double least = std::pow(static_cast<double>(rows), -0.05);
  const double rank = std::pow(1 + unit * (least - 1), -20.0);
  const auto row = static_cast<std::uint64_t>(rank) % static_cast<std::uint64_t>(rows);
  return static_cast<std::int64_t>(row * 2654435761U % static_cast<std::uint64_t>(rows));
}

// Half of them are next to the valid ones, to find a comparison that is off by one.
std::int64_t bad_id(const Embedding& p, std::int64_t rows, std::uint64_t random) {
  if (p.mode == EmbeddingMode::minus_one_is_zero) return -1;
  const bool below = random % 2 == 0 || p.mode == EmbeddingMode::wrap_negative;
  const std::int64_t most = p.mode == EmbeddingMode::wrap_negative ? rows - 1 : 99;
  const std::int64_t beyond = random / 2 % 2 == 0 ? 0 : static_cast<std::int64_t>(random / 4) % (most + 1);
  return below ? -1 - std::abs(beyond) : rows + std::abs(beyond);
}

std::int64_t hashed_id(const Embedding& p, std::int64_t rows, std::uint64_t random) {
  const std::int64_t most =
      p.index == i32 ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max();
  const std::int64_t edges[] = {0, 0xffffffff, -1, -rows, -rows - 1, most, most - 1, -most, -most - 1, rows - 1};
  if (random % 8 == 0) return edges[random / 8 % std::size(edges)];
  const auto any = static_cast<std::int64_t>(random >> 3);
  return random / 8 % 8 == 0 ? -any : any & 0xffffffff;
}

// Key i of a vocabulary: one in four is an earlier one.
std::int64_t key_at(const Embedding& p, int table, std::uint64_t seed, std::int64_t i) {
  const std::uint64_t random = random_at(seed + 5 + static_cast<std::uint64_t>(table), static_cast<std::uint64_t>(i));
  if (i > 0 && random % 4 == 0) return key_at(p, table, seed, static_cast<std::int64_t>(random / 4) % i);
  return p.index == i32 ? static_cast<std::int32_t>(random >> 32) : static_cast<std::int64_t>(random >> 1);
}

// The rows that a table has.
std::int64_t generated_rows(const Embedding& p, int table) {
  const std::int64_t most = rows_of(p, table);
  return is_packed(p) ? most - most / 3 * (table % 2) : most;
}

std::int64_t id_of(const Embedding& p, int table, std::uint64_t seed, std::int64_t position) {
  const std::uint64_t random = random_at(seed + 1, static_cast<std::uint64_t>(position)), kind = random % 8;
  const std::int64_t rows = generated_rows(p, table);
  if (kind == 1 && has_padding(p)) return padding_of(p, table);
  if (has_vocabulary(p)) {
    const std::uint64_t other = random_at(seed + 3, random);
    return kind == 0 ? hashed_id(p, rows, other)
                     : key_at(p, table, seed, static_cast<std::int64_t>(other % static_cast<std::uint64_t>(rows)));
  }
  if (p.hash == EmbeddingHash::modulus) return hashed_id(p, rows, random_at(seed + 2, random));
  const bool some_bad = p.mode != EmbeddingMode::assume_valid && p.mode != EmbeddingMode::trap;
  if (kind == 0 && some_bad) return bad_id(p, rows, random_at(seed + 2, random));
  if (seed % 4 == 2) return by_power_law(rows, random_at(seed + 3, random));
  return static_cast<std::int64_t>(random_at(seed + 3, random) % static_cast<std::uint64_t>(rows));
}

}  // namespace

void generate_offsets(const Embedding& p, std::uint64_t seed, void* data) {
  for (std::int64_t bag = 0; bag < bags_of(p); ++bag)
    common::write_integer(p.offsets, data, bag, offset_at(p, seed, bag));
}

void generate_lengths(const Embedding& p, std::uint64_t seed, void* data) {
  for (std::int64_t bag = 0; bag < bags_of(p); ++bag)
    common::write_integer(p.offsets, data, bag, offset_at(p, seed, bag + 1) - offset_at(p, seed, bag));
}

void generate_places(const Embedding& p, std::uint64_t seed, void* data) {
  auto* const places = static_cast<std::int64_t*>(data);
  std::int64_t begin = 0;
  for (int i = 0; i < tables(p); ++i) {
    const int t = static_cast<int>((seed + static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(p.tables));
    std::int64_t* const place = places + std::int64_t{2} * t;
    place[0] = begin;
    place[1] = generated_rows(p, t);
    begin += rows_of(p, t) * stride_of(p, t);
  }
}

void generate_vocabulary(const Embedding& p, int table, std::uint64_t seed, void* data) {
  const std::int64_t keys = std::min(generated_rows(p, table), capacity_of(p, table));
  hash::build_reference(
      keys, [&](std::int64_t i) { return key_at(p, table, seed, i); }, capacity_of(p, table),
      static_cast<hash::Entry*>(data));
}

void generate_index(const Embedding& p, std::uint64_t seed, void* data) {
  if (!is_pooled(p)) {
    const std::int64_t stride = index_stride(p);
    parallel_for(p.batch, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b)
        for (int t = 0; t < tables(p); ++t)
          common::write_integer(p.index, data, b * stride + t, id_of(p, t, seed, b * p.tables + t));
    });
    return;
  }
  for (std::int64_t bag = 0; bag < bags_of(p); ++bag) {
    const std::int64_t end = offset_at(p, seed, bag + 1);
    for (std::int64_t at = offset_at(p, seed, bag); at < end; ++at)
      common::write_integer(p.index, data, at, id_of(p, static_cast<int>(bag / p.batch), seed, at));
  }
}

}  // namespace quern::embedding
