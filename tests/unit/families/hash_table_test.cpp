// hash_table: refusals, operands, launches, data, the format of a table, and its search on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "hash/reference.h"
#include "hash_table/data.h"
#include "hash_table/params.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using hash::Entry;
using test::as;
using test::has;
using test::params_of;
using test::refusal;
using test::span;
using HashKeys = std::vector<std::int64_t>;

constexpr std::int64_t kLeastKey = std::numeric_limits<std::int64_t>::min(),
                       kMostKey = std::numeric_limits<std::int64_t>::max();

TEST(HashTableProblem, RefusesCapacitiesThatDoNotFit) {
  EXPECT_EQ(refusal("hash_table"), "") << "open";
  EXPECT_EQ(refusal("hash_table count=2147483647"), "");
  EXPECT_EQ(refusal("hash_table count=4 capacity=8"), "");
  EXPECT_EQ(refusal("hash_table capacity=8"), "") << "a launch that closes count asks again";
  EXPECT_EQ(refusal("hash_table count=5 capacity=8"),
            "capacity must be at least 2 * count: 16, or 0, which means the least");
  EXPECT_EQ(refusal("hash_table count=5 capacity=17"), "capacity must be a power of two: 32");
  EXPECT_EQ(refusal("hash_table capacity=8589934592"), "capacity must be at most 2^32");
  EXPECT_TRUE(has(refusal("hash_table count=2147483648"), "count must be fewer than 2^31"));
  EXPECT_TRUE(has(test::parse_error("hash_table dtype=i16"), "dtype"));
}

TEST(HashTableProblem, ASearchNeedsTheCapacityOfItsTable) {
  EXPECT_EQ(refusal("hash_table op=find count=9 capacity=1"), "");
  EXPECT_EQ(refusal("hash_table op=find count=2147483648 capacity=2"), "") << "any number of keys";
  EXPECT_TRUE(has(refusal("hash_table op=find count=9"), "op=find needs capacity"));
  EXPECT_EQ(refusal("hash_table op=find capacity=3"), "capacity must be a power of two: 4");
}

TEST(HashTableOperands, FollowFromTheOp) {
  for (const auto& [count, capacity] : {std::pair{0, 1}, {1, 2}, {2, 4}, {3, 8}, {4, 8}, {5, 16}, {512, 1024}}) {
    const std::string text = cat("hash_table count=", count);
    EXPECT_EQ(span(text, "out"), 16 * capacity) << count;
    EXPECT_EQ(span(text, "workspace"), 4 * capacity) << count;
    EXPECT_EQ(span(text, "keys"), 8 * count);
    EXPECT_EQ(span(text, "table"), 0);
  }
  EXPECT_EQ(span("hash_table count=3 capacity=64 dtype=i32", "out"), 1024);
  const std::string find = "hash_table op=find count=5 capacity=64 dtype=i32";
  EXPECT_EQ(span(find, "keys"), 20);
  EXPECT_EQ(span(find, "table"), 1024);
  EXPECT_EQ(span(find, "out"), 40);
  EXPECT_EQ(span(find, "workspace"), 0);
}

// Reads at random places move half-lines, of small tables no more than all of it: of as many reads as it has half-lines
// 63 % are different.
TEST(HashTableBytes, CountHalfLinesOfReadsAtRandom) {
  const auto bytes_of = [](const char* text) {
    const AnyProblem p = test::problem(text);
    return p.family().bytes(p.data());
  };
  EXPECT_EQ(bytes_of("hash_table count=100"), 100 * 8 + 256 * 16);
  EXPECT_EQ(bytes_of("hash_table count=100 dtype=i32 capacity=1024"), 100 * 4 + 1024 * 16);
  EXPECT_EQ(bytes_of("hash_table op=find count=100 capacity=1048576"), 100 * (8 + 8 + 64));
  EXPECT_EQ(bytes_of("hash_table op=find count=262144 capacity=1048576"), 262144 * 16 + 64 * 165707);
  EXPECT_EQ(bytes_of("hash_table op=find count=1000 capacity=64 dtype=i32"), 1000 * (4 + 8) + 1024);
  EXPECT_EQ(bytes_of("hash_table op=find count=100 capacity=1"), 100 * 16 + 64);
  EXPECT_EQ(bytes_of("hash_table op=find count=0 capacity=1"), 0);
}

// ---- The format

std::vector<Entry> hash_table_of(const HashKeys& keys, std::int64_t capacity) {
  std::vector<Entry> table(static_cast<std::size_t>(capacity), Entry{7, 7});
  hash::build_reference(
      static_cast<std::int64_t>(keys.size()), [&](std::int64_t i) { return keys[static_cast<std::size_t>(i)]; },
      capacity, table.data());
  return table;
}

// Kept tables stay readable.
TEST(HashTableFormat, HomesOfKeysAreAsTheyWere) {
  for (const auto& [key, home] : std::map<std::int64_t, std::uint32_t>{{0, 0},
                                                                       {1, 0xd8a77e52},
                                                                       {-1, 0xb1cedf40},
                                                                       {kLeastKey, 0xa4f8049e},
                                                                       {kMostKey, 0xdbbd7f4c},
                                                                       {1234567890123, 0xa9791154}})
    EXPECT_EQ(hash::home(key, 0xffffffff), home) << key;
  EXPECT_EQ(hash::home(1, 0xff), 0xd8a77e52 & 0xff);
  EXPECT_EQ(hash::home(1, 0), 0U);
}

TEST(HashTableFormat, SlotsThatAreEmptyHaveNoPosition) {
  for (const Entry& entry : hash_table_of({}, 4)) {
    EXPECT_EQ(entry.key, 0);
    EXPECT_EQ(entry.position, -1);
  }
}

// From the last slot on to the first ones; of equal keys the first counts.
TEST(HashTableFormat, SmallerKeysAreNearerToTheirHome) {
  HashKeys keys;
  for (std::uint32_t number : {5U, 1U, 9U, 2U}) keys.push_back(hash_table::key_of_home(7, number));
  HashKeys sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  keys.insert(keys.end(), keys.begin(), keys.begin() + 4);
  const std::vector<Entry> table = hash_table_of(keys, 8);
  for (std::size_t i = 0; i < 4; ++i) {
    const Entry& entry = table[(7 + i) % 8];
    EXPECT_EQ(entry.key, sorted[i]);
    EXPECT_EQ(entry.position, std::find(keys.begin(), keys.end(), sorted[i]) - keys.begin());
  }
}

// At every size of a table and every fill, keys that are there and keys that are not.
TEST(HashTableFormat, ASearchFindsWhatAMapFinds) {
  for (const std::int64_t capacity : {1, 2, 4, 64, 1024}) {
    for (const std::int64_t count : {std::int64_t{0}, capacity / 2, capacity - 1, capacity}) {
      HashKeys keys;
      std::map<std::int64_t, std::int64_t> map;
      for (std::int64_t i = 0; i < count; ++i) {
        keys.push_back(i % 5 == 0 ? kLeastKey + i / 10 : i % 5 == 1 ? kMostKey - i / 10 : i - capacity / 2);
        map.emplace(keys.back(), i);
      }
      const std::vector<Entry> table = hash_table_of(keys, capacity);
      const auto mask = static_cast<std::uint32_t>(capacity - 1);
      for (std::int64_t key = -capacity - 2; key < capacity + 2; ++key) {
        for (const std::int64_t wanted : {key, kLeastKey + capacity + 2 + key, kMostKey - capacity - 2 - key}) {
          const auto at = map.find(wanted);
          EXPECT_EQ(hash::find(table.data(), mask, wanted), at == map.end() ? -1 : at->second)
              << capacity << " " << wanted;
          EXPECT_EQ(hash::find<8>(table.data(), mask, wanted), hash::find(table.data(), mask, wanted));
        }
      }
    }
  }
}

// Slots from a key's home to its own, at most and on average, of half full tables. Of random homes the average is 1.5.
TEST(HashTableFormat, RegularKeysAreNearTheirHomes) {
  constexpr std::int64_t kCapacity = 1 << 16;
  constexpr auto kMask = static_cast<std::uint32_t>(kCapacity - 1);
  for (const int shift : {0, 1, 4, 8, 12, 16, 20, 24, 28, 31, 32, 33, 40, 47, 48}) {
    for (const std::int64_t first : {0, 1, -1000000}) {
      HashKeys keys;
      for (std::int64_t i = 0; i < kCapacity / 2; ++i)
        keys.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(first + i) << shift));
      const std::vector<Entry> table = hash_table_of(keys, kCapacity);
      std::int64_t all = 0, most = 0;
      for (std::uint32_t slot = 0; slot <= kMask; ++slot) {
        if (table[slot].position < 0) continue;
        const std::int64_t probes = ((slot - hash::home(table[slot].key, kMask)) & kMask) + 1;
        all += probes;
        most = std::max(most, probes);
      }
      EXPECT_LT(static_cast<double>(all) / (kCapacity / 2.0), 1.6) << shift << " " << first;
      EXPECT_LT(most, 64) << shift << " " << first;
    }
  }
}

// ---- Data

HashKeys generated_keys(const std::string& text, std::uint64_t problem) {
  const AnyProblem p = test::problem(text);
  HashKeys keys(static_cast<std::size_t>(as<HashTable>(p).count));
  hash_table::generate_keys(as<HashTable>(p), problem * kSeedsOfProblem, keys.data());
  return keys;
}
std::size_t different_keys(const HashKeys& keys) { return std::set<std::int64_t>(keys.begin(), keys.end()).size(); }

TEST(HashTableData, AKeyHasTheHomeThatIsAskedFor) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t slot = i * 2654435761U;
    EXPECT_EQ(hash::home(hash_table::key_of_home(slot, i), 0xffffffff), slot);
  }
}

TEST(HashTableData, FiveKindsOfKeys) {
  const std::string text = "hash_table count=1000";
  EXPECT_EQ(different_keys(generated_keys(text, 1)), 1000U) << "a benchmark's";
  const HashKeys few = generated_keys(text, 6), one = generated_keys(text, 7), homes = generated_keys(text, 8),
                 ascending = generated_keys(text, 9);
  EXPECT_LT(different_keys(few), 334U);
  EXPECT_GT(different_keys(few), 200U);
  EXPECT_EQ(different_keys(one), 1U);
  EXPECT_NE(one, generated_keys(text, 2)) << "-1, or the smallest number";
  EXPECT_EQ(different_keys(homes), 1000U);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(hash::home(homes[i], 2047), 2047U) << "in the last slot";
  EXPECT_EQ(std::count(ascending.begin(), ascending.end(), kLeastKey), 11);
  EXPECT_EQ(std::count(ascending.begin(), ascending.end(), kMostKey), 11);
  EXPECT_EQ(std::count(ascending.begin(), ascending.end(), 0), 1);
}

TEST(HashTableData, TablesAreHalfFullEmptyOrFull) {
  const std::string text = "hash_table op=find count=1000 capacity=256";
  const AnyProblem p = test::problem(text);
  std::set<std::int64_t> fills;
  for (const std::uint64_t problem : {1, 5, 10, 15, 20}) {
    std::vector<Entry> table(256);
    hash_table::generate_table(as<HashTable>(p), problem * kSeedsOfProblem + 1, table.data());
    fills.insert(std::count_if(table.begin(), table.end(), [](const Entry& entry) { return entry.position >= 0; }));
    std::int64_t there = 0;
    for (const std::int64_t key : generated_keys(text, problem))
      there += hash::find(table.data(), 255, key) >= 0 ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(there), problem == 5 ? 0 : 500, problem == 5 ? 0 : 100) << problem;
  }
  EXPECT_EQ(fills, (std::set<std::int64_t>{0, 128, 255, 256}));
}

// ---- Launches

Launch launch_of_step(const std::string& text, int step, const HashTableArgs& args = {}) {
  const AnyProblem p = test::problem(text);
  const Step& row = p.family().steps[step];
  const auto variants = variants_of(p.family(), row, p.data(), {90, "a"}, generic_model(90), {});
  Launch launch{};
  row.launch(p.data(), &args, generic_model(90), variants.front().config, launch);
  return launch;
}

TEST(HashTableSteps, FollowFromTheOp) {
  const Family& family = HashTable::family();
  const AnyProblem build = test::problem("hash_table"), find = test::problem("hash_table op=find capacity=2");
  std::string steps;
  for (const Step& step : family.steps)
    steps += cat(step.name, ":", step.needed(build.data()) ? 1 : 0, step.needed(find.data()) ? 1 : 0, " ");
  EXPECT_EQ(steps, "insert:10 write:10 find:01 ");
}

TEST(HashTableLaunch, OfNoKeysStillWritesTheTable) {
  EXPECT_TRUE(launch_of_step("hash_table count=0", 0).empty);
  EXPECT_FALSE(launch_of_step("hash_table count=0", 1).empty);
  EXPECT_TRUE(launch_of_step("hash_table op=find count=0 capacity=2", 2).empty);
}

TEST(HashTableLaunch, AThreadHasAKeyOrSeveralSlots) {
  const std::string text = "hash_table count=1000000 capacity=4294967296";
  EXPECT_EQ(launch_of_step(text, 0).grid[0], 1000000U / 256 + 1);
  EXPECT_EQ(launch_of_step(text, 1).grid[0], (std::uint64_t{1} << 32) / (256 * 4));
  EXPECT_EQ(params_of<hash_table::WriteParams>(launch_of_step(text, 1)).mask, 0xffffffffU);
  EXPECT_EQ(params_of<hash_table::InsertParams>(launch_of_step("hash_table count=5", 0)).mask, 15U);
  EXPECT_EQ(params_of<hash_table::InsertParams>(launch_of_step("hash_table count=5", 0)).count, 5U);
  const Launch find = launch_of_step("hash_table op=find count=5000000000 capacity=64", 2);
  EXPECT_EQ(params_of<hash_table::FindParams>(find).count, 5000000000);
  EXPECT_EQ(params_of<hash_table::FindParams>(find).mask, 63U);
  EXPECT_EQ(find.grid[0], 5000000000 / (256 * 4) + 1);
}

// Entries are written and read whole where the table is aligned to them.
TEST(HashTableVariants, AreAlignedToEntriesAndToHalves) {
  const AnyProblem build = test::problem("hash_table"), find = test::problem("hash_table op=find capacity=2");
  const auto alignments = [](const AnyProblem& p, int step, int operand) {
    const Step& row = p.family().steps[step];
    std::vector<std::uint32_t> all;
    for (const Variant& variant : variants_of(p.family(), row, p.data(), {90, "a"}, generic_model(90), {}))
      all.push_back(row.alignment(p.data(), operand, variant.config));
    return all;
  };
  EXPECT_EQ(alignments(build, 0, 2), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(alignments(build, 1, 2), (std::vector<std::uint32_t>{16, 8}));
  EXPECT_EQ(alignments(find, 2, 1), (std::vector<std::uint32_t>{16, 8}));
  EXPECT_EQ(alignments(find, 2, 2), (std::vector<std::uint32_t>{1, 1})) << "positions are written one by one";
}

// Indices that are no key have position 0, as an argmax of zeros has.
TEST(HashTableReference, FindsTheFirstPositionOrZero) {
  const HashKeys keys = {5, -3, 5, kLeastKey, -3, 8}, wanted = {8, 5, 6, kLeastKey, -3, kMostKey, 0};
  std::vector<Entry> table(16);
  HashTableArgs build;
  build.keys = keys.data(), build.out = table.data();
  const AnyProblem builds = test::problem("hash_table count=6");
  builds.family().reference(builds.data(), &build);
  HashKeys found(7, 99);
  HashTableArgs find;
  find.keys = wanted.data(), find.table = table.data(), find.out = found.data();
  const AnyProblem finds = test::problem("hash_table op=find count=7 capacity=16");
  finds.family().reference(finds.data(), &find);
  EXPECT_EQ(found, (HashKeys{5, 0, 0, 3, 1, 0, 0}));
}

}  // namespace
}  // namespace quern
