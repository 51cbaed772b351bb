#include "cache/memory_store.h"

#include <latch>
#include <set>
#include <thread>

#include "support.h"

namespace quern::cache {
namespace {

constexpr int kReaders = 8;

EntryPointer entry(const std::string& cubin) { return std::make_shared<const Entry>(image(cubin)); }

// Calls `read` repeatedly on kReaders threads, while this one calls `write`.
template <class Read, class Write>
void while_reading(const Read& read, const Write& write) {
  std::atomic<bool> done{false};
  std::latch start(kReaders + 1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kReaders; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      while (!done) read();
    });
  }
  start.arrive_and_wait();
  write();
  done = true;
}

TEST(MemoryStore, HoldsThousandsOfKeys) {
  constexpr int kKeys = 5000;
  MemoryStore store;
  for (int i = 0; i < kKeys; ++i) store.add(key_named(std::to_string(i)), entry(std::to_string(i)));
  for (int i = 0; i < kKeys; ++i) {
    const auto found = store.find(key_named(std::to_string(i)));
    ASSERT_NE(found, nullptr) << i;
    EXPECT_EQ(found->cubin, std::to_string(i));
  }
  EXPECT_EQ(store.find(key_named("another")), nullptr);
  EXPECT_EQ(store.hits(), static_cast<std::uint64_t>(kKeys));
  EXPECT_EQ(store.entries().size(), static_cast<std::size_t>(kKeys));
}

TEST(MemoryStore, EntriesAreThoseThatAreThere) {
  MemoryStore store;
  EXPECT_TRUE(store.entries().empty());
  const auto a = entry("a");
  const auto b = entry("b");
  store.replace(key_named("a"), entry("old"));
  store.replace(key_named("a"), a);
  store.add(key_named("b"), b);
  store.add(key_named("c"), entry("c"));
  EntryPointer was;
  ASSERT_TRUE(store.reject(key_named("c"), nullptr, &was));
  const auto entries = store.entries();
  EXPECT_EQ(std::set<EntryPointer>(entries.begin(), entries.end()), (std::set<EntryPointer>{a, b}));
  store.clear();
  EXPECT_TRUE(store.entries().empty());
}

TEST(MemoryStore, RejectedImagesStayKnownUntilTheyAreCleared) {
  MemoryStore store;
  const Key key = key_named("gather");
  const auto first = store.add(key, entry("first"));
  EntryPointer was;
  EXPECT_FALSE(store.reject(key, entry("first"), &was)) << "equal, but another one";
  EXPECT_TRUE(store.reject(key, first, &was));
  EXPECT_EQ(was, first);
  EXPECT_EQ(store.find(key), nullptr);
  EXPECT_EQ(store.rejected(key), Rejected{image_hash(*first)});
  EXPECT_EQ(store.add(key, entry("first")), nullptr);
  const auto second = store.add(key, entry("second"));
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(store.reject(key, nullptr, &was));
  EXPECT_EQ(store.rejected(key), (Rejected{image_hash(*first), image_hash(*second)}));
  store.replace(key, entry("first"));
  EXPECT_NE(store.find(key), nullptr) << "it was built again";
  store.clear();
  EXPECT_TRUE(store.rejected(key).empty());
}

TEST(MemoryStore, WhatWasReplacedOrClearedIsFreed) {
  MemoryStore store;
  std::weak_ptr<const Entry> first = store.add(key_named("a"), entry("first"));
  store.replace(key_named("a"), entry("second"));
  EXPECT_TRUE(first.expired());
  std::weak_ptr<const Entry> second = store.find(key_named("a"));
  store.clear();
  EXPECT_TRUE(second.expired());
}

TEST(MemoryStore, ReadersSeeOneEntryOrTheOtherWhileItIsReplaced) {
  MemoryStore store;
  const Key key = key_named("gather");
  store.add(key, entry("0"));
  while_reading([&] { EXPECT_EQ(store.find(key)->kernel, "quern_gather"); },
                [&] {
                  for (int i = 1; i < 500; ++i) store.replace(key, entry(std::to_string(i)));
                });
  EXPECT_EQ(store.find(key)->cubin, "499");
}

TEST(MemoryStore, ReadersAreSafeWhileKeysAreForgottenAndCleared) {
  MemoryStore store;
  const Key key = key_named("gather");
  while_reading(
      [&] {
        const auto found = store.find(key);
        EXPECT_TRUE(found == nullptr || found->cubin == "cubin");
        EXPECT_LE(store.rejected(key).size(), 1U);
      },
      [&] {
        for (int i = 0; i < 300; ++i) {
          EntryPointer was;
          store.replace(key, entry("cubin"));
          EXPECT_NE(store.find(key), nullptr);
          EXPECT_TRUE(store.reject(key, nullptr, &was));
          EXPECT_EQ(store.rejected(key).size(), 1U);
          store.clear();
          store.add(key, entry("cubin"));
        }
      });
}

TEST(MemoryStore, ReadersFindAKeyWhileTheTableGrows) {
  MemoryStore store;
  const Key key = key_named("gather");
  const auto there = store.add(key, entry("cubin"));
  while_reading([&] { EXPECT_EQ(store.find(key), there); },
                [&] {
                  for (int i = 0; i < 1000; ++i) store.add(key_named(std::to_string(i)), there);
                });
  EXPECT_EQ(store.entries().size(), 1001U);
}

TEST(MemoryStore, WritersOfManyThreadsLoseNothing) {
  MemoryStore store;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kReaders; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 100; ++i) store.add(key_named(cat(thread, " ", i)), entry("own"));
        for (int i = 0; i < 100; ++i) store.add(key_named(std::to_string(i)), entry("shared"));
      });
    }
  }
  EXPECT_EQ(store.entries().size(), 900U);
}

}  // namespace
}  // namespace quern::cache
