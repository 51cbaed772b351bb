#include "hash_table/data.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "base/random.h"
#include "common/host_types.h"
#include "hash_table/problem.h"

namespace quern::hash_table {
namespace {

constexpr std::int64_t kGrain = 1 << 16;
// More full slots than that take their reference long: keys are far from their homes.
constexpr std::int64_t kMostFull = 4096;

std::int64_t least(DType dtype) { return dtype == i32 ? INT32_MIN : std::numeric_limits<std::int64_t>::min(); }
std::int64_t most(DType dtype) { return dtype == i32 ? INT32_MAX : std::numeric_limits<std::int64_t>::max(); }

// What a problem's keys are like.
enum Kinds { kRandom, kFewValues, kOneKey, kSharedHomes, kAscending, kKinds };

std::int64_t random_key(DType dtype, std::uint64_t random) {
  return dtype == i32 ? static_cast<std::int32_t>(random >> 32) : static_cast<std::int64_t>(random);
}

std::int64_t ascending(DType dtype, std::int64_t i, std::int64_t count) {
  if (i % 97 == 3) return least(dtype);
  if (i % 97 == 5) return most(dtype);
  return i - count / 2;
}

class KeySet {
 public:
  // The keys of a problem with `count` of them.
  KeySet(const HashTable& p, std::int64_t count, std::uint64_t problem)
      : dtype_(p.dtype), count_(count), problem_(problem), mask_(static_cast<std::uint32_t>(capacity_of(p) - 1)) {
    kind_ = problem == 1 ? kRandom : static_cast<int>(problem % kKinds);
    if (kind_ == kSharedHomes && dtype_ == i32) kind_ = kFewValues;  // 32 bits do not reach each home
  }

  std::int64_t key(std::int64_t i) const {
    const std::uint64_t random = random_at(problem_, static_cast<std::uint64_t>(i));
    switch (kind_) {
      case kFewValues:
        return static_cast<std::int64_t>(random % static_cast<std::uint64_t>(count_ / 3 + 1)) - 5;
      case kOneKey:
        return problem_ / kKinds % 2 == 0 ? -1 : least(dtype_);
      case kSharedHomes:  // of 64 keys each
        return key_of_home((mask_ - static_cast<std::uint32_t>(i / 64) * 97) & mask_, static_cast<std::uint32_t>(i));
      case kAscending:
        return ascending(dtype_, i, count_);
      default:
        return random_key(dtype_, random);
    }
  }

 private:
  DType dtype_;
  std::int64_t count_;
  std::uint64_t problem_;
  std::uint32_t mask_;
  int kind_;
};

std::int64_t keys_in_table(const HashTable& p, std::uint64_t problem) {
  const std::uint64_t fill = problem == 1 ? 0 : problem / kKinds % 4;
  if (fill == 1) return 0;
  if (fill >= 2 && p.capacity <= kMostFull) return p.capacity - (fill == 2 ? 1 : 0);
  return p.capacity / 2;
}

// Some of a table's keys, their neighbours, and others.
std::int64_t wanted_key(const HashTable& p, const KeySet& set, std::int64_t in_table, std::uint64_t random) {
  if (in_table == 0) return random_key(p.dtype, random);
  const std::int64_t key = set.key(static_cast<std::int64_t>((random >> 8) % static_cast<std::uint64_t>(in_table)));
  if (random % 2 == 0) return key;
  if (random % 8 == 1) return key == most(p.dtype) ? key - 1 : key + 1;
  return random_key(p.dtype, random);
}

}  // namespace

std::int64_t key_of_home(std::uint32_t slot, std::uint32_t number) {
  constexpr std::uint64_t kInverse = 0xf1de83e19937733d;  // of hash::home's factor, modulo 2^64
  std::uint64_t x = static_cast<std::uint64_t>(slot) << 32 | number;
  x *= kInverse;
  x ^= x >> 29 ^ x >> 58;
  x *= kInverse;
  x ^= x >> 32;
  return static_cast<std::int64_t>(x);
}

void generate_keys(const HashTable& p, std::uint64_t seed, void* data) {
  const std::uint64_t problem = seed / kSeedsOfProblem;
  const bool finds = p.op == HashTableOp::find;
  const std::int64_t in_table = finds ? keys_in_table(p, problem) : 0;
  const KeySet set(p, finds ? in_table : p.count, problem);
  parallel_for(p.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
      common::write_integer(p.dtype, data, i, finds ? wanted_key(p, set, in_table, random) : set.key(i));
    }
  });
}

void generate_table(const HashTable& p, std::uint64_t seed, hash::Entry* entries) {
  const std::uint64_t problem = seed / kSeedsOfProblem;
  const std::int64_t count = keys_in_table(p, problem);
  const KeySet set(p, count, problem);
  hash::build_reference(
      count, [&](std::int64_t i) { return set.key(i); }, p.capacity, entries);
}

}  // namespace quern::hash_table
