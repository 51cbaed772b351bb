#include "base/striped.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace quern {
namespace {

constexpr int kThreads = 8;

// Runs `work` on threads that start together and stay alive until the last one is done.
template <class Work>
void together(int count, const Work& work) {
  std::latch start(count);
  std::latch end(count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
      end.arrive_and_wait();
    });
  }
}

struct Counted {
  explicit Counted(int& count) : deaths(count) {}
  ~Counted() { ++deaths; }
  int& deaths;
};

TEST(Striped, ThreadsHaveStripesOfTheirOwn) {
  std::vector<std::size_t> stripes(kStripes);
  together(kStripes, [&](int i) {
    stripes[static_cast<std::size_t>(i)] = this_stripe();
    EXPECT_EQ(this_stripe(), this_stripe());
  });
  EXPECT_EQ(std::set<std::size_t>(stripes.begin(), stripes.end()).size(), kStripes);
  EXPECT_LT(*std::max_element(stripes.begin(), stripes.end()), kStripes);
}

TEST(Striped, ACounterCountsEveryThreads) {
  StripedCounter counter;
  together(2 * kStripes, [&](int) {
    for (int i = 0; i < 1000; ++i) counter.add();
    counter.add(10);
  });
  EXPECT_EQ(counter.total(), 2 * kStripes * 1010);
  counter.reset();
  EXPECT_EQ(counter.total(), 0U);
}

TEST(Striped, CopiesAreOfOneValueWithACountForEachStripe) {
  int deaths = 0;
  const auto value = std::make_shared<const Counted>(deaths);
  const StripedPointer<Counted> striped(value);
  const auto here = striped.get();
  EXPECT_EQ(here, value);
  EXPECT_EQ(striped.get(), here);
  EXPECT_EQ(here.use_count(), 2) << "here and in the stripe, whatever other copies exist";
  together(kThreads, [&](int) {
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(striped.get().get(), value.get());
  });
  EXPECT_EQ(here.use_count(), 2);
}

TEST(Striped, TheLastCopyOfAnyThreadEndsTheValueOnce) {
  int deaths = 0;
  std::vector<std::shared_ptr<const Counted>> copies(kThreads);
  {
    const StripedPointer<Counted> striped(std::make_shared<const Counted>(deaths));
    together(kThreads, [&](int i) { copies[static_cast<std::size_t>(i)] = striped.get(); });
  }
  while (copies.size() > 1) copies.pop_back();
  EXPECT_EQ(deaths, 0);
  EXPECT_EQ(&copies.front()->deaths, &deaths);
  copies.clear();
  EXPECT_EQ(deaths, 1);
}

TEST(Striped, APointerNobodyAskedForEndsItsValueToo) {
  int deaths = 0;
  { const StripedPointer<Counted> striped(std::make_shared<const Counted>(deaths)); }
  EXPECT_EQ(deaths, 1);
}

TEST(Striped, AnEmptyPointerGivesNull) {
  const StripedPointer<int> striped(nullptr);
  EXPECT_TRUE(striped.empty());
  EXPECT_EQ(striped.get(), nullptr);
  EXPECT_FALSE(StripedPointer<int>(std::make_shared<const int>(0)).empty());
}

TEST(Striped, ReadersAreSeenWhileTheyAreInside) {
  StripedReaders readers;
  EXPECT_TRUE(readers.quiescent());
  {
    const StripedReaders::Inside outer(readers);
    { const StripedReaders::Inside inner(readers); }
    EXPECT_FALSE(readers.quiescent());
  }
  EXPECT_TRUE(readers.quiescent());
}

// The rule of StripedReaders: a retired object may be freed once no reader is inside.
TEST(Striped, WhatIsFreedWhenNobodyIsInsideIsNotReadAfterwards) {
  StripedReaders readers;
  std::atomic<const int*> shown{new int(1)};
  std::atomic<bool> done{false};
  std::vector<const int*> taken;
  together(kThreads, [&](int thread) {
    while (thread != 0 && !done) {
      const StripedReaders::Inside inside(readers);
      EXPECT_EQ(*shown.load(), 1);
    }
    for (int i = 0; thread == 0 && i < 2000; ++i) {
      taken.push_back(shown.exchange(new int(1)));
      if (!readers.quiescent()) continue;
      for (const int* old : taken) delete old;
      taken.clear();
    }
    if (thread == 0) done = true;
  });
  for (const int* old : taken) delete old;
  delete shown.load();
}

}  // namespace
}  // namespace quern
