// The read-mostly table, and the memory of its nodes.
#include "base/read_mostly_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/slabs.h"

namespace quern {
namespace {

TEST(Slabs, NumberTheirObjectsWithoutGaps) {
  Slabs slabs;
  constexpr std::size_t kBytes = 200;
  std::map<std::uint32_t, void*> objects;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    void* const object = slabs.take(kBytes);
    std::memset(object, static_cast<int>(i), kBytes);
    EXPECT_EQ(slabs.number_of(object), i);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % kCacheLine, 0u);
    objects[i] = object;
  }
  for (const auto& [number, object] : objects) {
    ASSERT_EQ(slabs.at(number), object);
    ASSERT_EQ(slabs.number_of(static_cast<unsigned char*>(object) + kBytes - 1), number);
    ASSERT_EQ(slabs.offset_of(static_cast<unsigned char*>(object) + 16, number), 16u);
    const auto* const bytes = static_cast<const unsigned char*>(object);
    ASSERT_EQ(std::set<int>(bytes, bytes + kBytes), std::set<int>{static_cast<int>(number % 256)});
  }
}

TEST(Slabs, TakeAgainWhatWasGivenBack) {
  Slabs slabs;
  void* const first = slabs.take(8);
  void* const second = slabs.take(8);
  slabs.give(first);
  slabs.give(second);
  EXPECT_EQ(slabs.take(8), second);
  EXPECT_EQ(slabs.take(8), first);
  EXPECT_EQ(slabs.number_of(slabs.take(8)), 2u);
}

struct Word {
  explicit Word(std::uint64_t word_key, std::uint64_t word_value = 0) : key(word_key), value(word_value) {
    copies.fetch_add(1);
  }
  ~Word() {
    key = ~std::uint64_t{0};  // a reader that still sees this fails
    copies.fetch_sub(1);
  }
  std::uint64_t key;
  std::uint64_t value;
  static inline std::atomic<int> copies{0};
};

auto has(std::uint64_t key) {
  return [key](const Word& word) { return word.key == key; };
}

TEST(ReadMostlyTable, HoldsWhatAMapHoldsUnderRandomWrites) {
  std::mt19937_64 random(std::random_device{}());
  {
    ReadMostlyTable<Word> table;
    std::map<std::uint64_t, std::uint64_t> expected;
    // Few hashes, so that slots are often taken, tags are equal, and runs wrap around the end.
    const auto hash = [](std::uint64_t key) { return (key % 7 << 56) + (~std::uint64_t{0} >> 8) - key % 13; };
    for (int step = 0; step < 20000; ++step) {
      const std::uint64_t key = random() % 300;
      if (random() % 500 == 0) {
        const std::uint64_t modulus = 2 + random() % 5;
        const auto goes = [&](const Word& word) { return word.key % modulus == 0; };
        EXPECT_EQ(table.remove_if(goes),
                  std::erase_if(expected, [&](const auto& e) { return e.first % modulus == 0; }));
        (void)table.collect();
      } else {
        expected[key] = random();
        EXPECT_EQ(table.set(hash(key), has(key), key, expected[key]).value, expected[key]);
      }
      const std::uint64_t asked = random() % 300;
      const ReadMostlyTable<Word>::Reader reader(table);
      const Word* const found = reader.find(hash(asked), has(asked));
      ASSERT_EQ(found != nullptr, expected.count(asked) == 1);
      if (found != nullptr) {
        ASSERT_EQ(found->value, expected[asked]);
      }
    }
    ASSERT_EQ(table.size(), expected.size());
    std::set<std::uint64_t> seen;
    table.for_each([&](const Word& word) { seen.insert(word.key); });
    ASSERT_EQ(seen.size(), expected.size());
  }
  EXPECT_EQ(Word::copies, 0);
}

TEST(ReadMostlyTable, KeepsWhatAReaderMaySeeUntilItIsGone) {
  ReadMostlyTable<Word> table;
  table.set(5, has(5), 5);
  {
    const ReadMostlyTable<Word>::Reader reader(table);
    const Word* const seen = reader.find(5, has(5));
    table.remove_if(has(5));
    EXPECT_TRUE(table.collect().empty());
    EXPECT_EQ(seen->key, 5u);
    EXPECT_EQ(reader.find(5, has(5)), seen);  // an entry that a reader holds does not change
    EXPECT_EQ(table.find(5, has(5)), nullptr);
  }
  EXPECT_EQ(table.collect().size(), 1u);
  EXPECT_EQ(Word::copies, 0);
}

TEST(ReadMostlyTable, ReadersMissNothingWhileItGrowsAndShrinks) {
  ReadMostlyTable<Word> table;
  constexpr std::uint64_t kStaying = 50;
  const auto hash = [](std::uint64_t key) { return key * 0x9e3779b97f4a7c15U; };
  for (std::uint64_t key = 0; key < kStaying; ++key) table.set(hash(key), has(key), key, key * key);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t key = 0; !stop; key = (key + 1) % kStaying) {
        const ReadMostlyTable<Word>::Reader reader(table);
        const Word* const found = reader.find(hash(key), has(key));
        if (found == nullptr || found->key != key || found->value != key * key) ++wrong;
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    for (std::uint64_t key = kStaying; key < 2000; ++key) table.set(hash(key), has(key), key);
    table.remove_if([](const Word& word) { return word.key >= kStaying; });
    (void)table.collect();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

// A node that a writer puts into the free slot where a search ends is not the result of that search.
TEST(ReadMostlyTable, AReaderThatFindsNothingGetsNoNodeThatIsAddedMeanwhile) {
  ReadMostlyTable<Word> table;
  constexpr std::uint64_t kAbsent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kNodes = 300'000;
  std::atomic<std::uint64_t> next{0};  // the slot that is filled next
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<int> readers{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      for (++readers; next < kNodes;) {
        const ReadMostlyTable<Word>::Reader reader(table);
        if (reader.find(next | kAbsent, has(kNodes)) != nullptr) ++wrong;
      }
    });
  }
  while (readers < 2) std::this_thread::yield();
  for (std::uint64_t key = 0; key < kNodes; next = ++key) table.set(key, has(key), key);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace quern
