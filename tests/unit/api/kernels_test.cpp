// Contents of a Runtime: plans by problem, kernels by image and context, and when they are freed.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "api/known_contexts.h"
#include "api/plan_table.h"
#include "api/runtime_state.h"
#include "unit/api/support.h"
#include "unit/plan/support.h"

namespace quern::test {
namespace {

using Kernels = ApiTest;

GatherArgs some_args(std::int64_t count) {
  GatherArgs args;
  args.source = args.index = address(0x10000);
  args.out = address(0x40000);
  args.count = count;
  return args;
}

TEST_F(Kernels, TwoThousandRowCountsLoadEachImageOnce) {
  Runtime runtime(options());
  for (std::int64_t count = 1; count <= 2000; ++count) runtime.prepare(Gather{.count = count});
  EXPECT_EQ(null_driver().loads, 2);
  const Statistics::Held held = runtime.statistics().held;
  EXPECT_EQ(held.plans, 2000u);
  EXPECT_EQ(held.libraries, 2u);
  EXPECT_EQ(held.images, 2u);
  EXPECT_GT(held.library_bytes, 0u);
  EXPECT_GT(held.image_bytes, held.library_bytes);
}

TEST_F(Kernels, AHundredThreadsThatPrepareOneProblemGetOnePlan) {
  constexpr int kThreads = 128;
  Runtime runtime(options());
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  std::vector<AnyPlan> plans(kThreads);
  for (AnyPlan& plan : plans) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      plan = runtime.prepare(Gather{});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const AnyPlan& plan : plans) EXPECT_EQ(plan.state(), plans.front().state());
  EXPECT_EQ(null_driver().loads, 2);
  EXPECT_EQ(runtime.statistics().held.plans, 1u);
}

// Different problems, whose plans are made in parallel, with the same images.
TEST_F(Kernels, ThreadsThatWantTheSameImageLoadItOnce) {
  Options given = options();
  DriverTable table = null_driver_table();
  static decltype(table.LibraryLoadData) load;
  static std::atomic<int> loads;
  load = table.LibraryLoadData;
  loads = 0;
  table.LibraryLoadData = [](auto... arguments) {
    ++loads;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return load(arguments...);
  };
  given.driver = std::make_shared<Driver>(table);
  Runtime runtime(given);
  std::latch start(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      runtime.prepare(Gather{.count = i + 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 2);
}

TEST_F(Kernels, AreReleasedWithTheirContext) {
  Runtime runtime(options());
  for (std::uintptr_t context = 1; context <= 50; ++context) {
    null_driver().current_context = null_driver().oldest_context = context;  // the previous one is destroyed
    runtime.prepare(Gather{});
  }
  EXPECT_EQ(null_driver().loads, 100);
  EXPECT_EQ(null_driver().unloads, 98);
  EXPECT_EQ(runtime.statistics().held.plans, 1u);
  EXPECT_EQ(runtime.statistics().held.libraries, 2u);
}

TEST_F(Kernels, OfContextsThatLiveStay) {
  Runtime runtime(options());
  for (std::uintptr_t context = 1; context <= 3; ++context) {
    null_driver().current_context = context;
    runtime.prepare(Gather{});
  }
  EXPECT_EQ(null_driver().unloads, 0);
  EXPECT_EQ(runtime.statistics().held.libraries, 6u);
  null_driver().oldest_context = 3;
  runtime.trim();
  EXPECT_EQ(null_driver().unloads, 6) << "trim asks too, and no plan of the third is held";
}

TEST_F(Kernels, OfTheContextThatIsGoneGoAlone) {
  Runtime runtime(options());
  for (std::uintptr_t context = 1; context <= 3; ++context) {
    null_driver().current_context = context;
    runtime.prepare(Gather{});
  }
  null_driver().oldest_context = 2;
  null_driver().current_context = 4;
  runtime.prepare(Gather{});
  EXPECT_EQ(null_driver().unloads, 2);
  EXPECT_EQ(runtime.statistics().held.libraries, 6u);
}

// A failed check does not mean that the context was destroyed.
TEST(KnownContexts, StayKnownWhereTheDriverCannotSay) {
  static CUresult answer = CUDA_ERROR_OUT_OF_MEMORY;
  DriverTable table = null_driver_table();
  table.CtxGetId = [](CUcontext, unsigned long long* id) { return *id = 7, answer; };
  const Driver driver(table);
  KnownContexts contexts;
  Context context;
  context.id = 7;
  EXPECT_TRUE(contexts.note(driver, context).empty());
  EXPECT_TRUE(contexts.take_gone(driver).empty());
  answer = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  EXPECT_EQ(contexts.take_gone(driver), std::vector<std::uint64_t>{7});
  EXPECT_TRUE(contexts.take_gone(driver).empty()) << "already forgotten";
}

// Like the primary context after cuDevicePrimaryCtxReset: the same handle, a different context.
TEST(KnownContexts, AreGoneWhereTheirHandleIsAnothersNow) {
  static unsigned long long id_now = 7;
  DriverTable table = null_driver_table();
  table.CtxGetId = [](CUcontext, unsigned long long* id) { return *id = id_now, CUDA_SUCCESS; };
  const Driver driver(table);
  KnownContexts contexts;
  Context context;
  context.id = 7;
  EXPECT_TRUE(contexts.note(driver, context).empty());
  EXPECT_TRUE(contexts.take_gone(driver).empty());
  id_now = context.id = 8;
  EXPECT_EQ(contexts.note(driver, context), std::vector<std::uint64_t>{7});
  EXPECT_TRUE(contexts.take_gone(driver).empty());
}

// Its launches may still be queued, or be in a graph.
TEST_F(Kernels, OfAPlanThatIsDroppedAtOnceStayLoadedUntilTheyAreTrimmed) {
  std::optional<Runtime> runtime(options());
  PrepareOptions changed;
  changed.config = "threads=64";
  runtime->prepare(Gather{}, changed).launch(nullptr, some_args(5));
  EXPECT_EQ(null_driver().launches, 1);
  EXPECT_EQ(null_driver().unloads, 0);
  runtime->prepare(Gather{}, changed).launch(nullptr, some_args(5));
  EXPECT_EQ(null_driver().loads, 2) << "not loaded again";
  runtime->trim();
  EXPECT_EQ(null_driver().unloads, 2);
  EXPECT_EQ(runtime->statistics().held.libraries, 0u);
}

TEST_F(Kernels, ForgetTakesTheProblemInEveryContextAndNoOther) {
  Runtime runtime(options());
  for (std::uintptr_t context = 1; context <= 2; ++context) {
    null_driver().current_context = context;
    runtime.prepare(Gather{.dtype = f32});
    runtime.prepare(Gather{});
  }
  EXPECT_EQ(runtime.forget(Gather{.dtype = f32}), 2u);
  EXPECT_EQ(runtime.forget(Gather{.dtype = f32}), 0u);
  EXPECT_EQ(null_driver().unloads, 4);
  EXPECT_EQ(runtime.statistics().held.plans, 2u);
  const int loads = null_driver().loads;
  runtime.prepare(Gather{});
  EXPECT_EQ(null_driver().loads, loads);
  runtime.prepare(Gather{.dtype = f32});
  EXPECT_EQ(null_driver().loads, loads + 2);
  EXPECT_EQ(compiles(), 4) << "from memory";
}

TEST_F(Kernels, ForgetTakesTheFamilysOwn) {
  static Family mine = Gather::family();
  mine.name = "mine";
  Runtime runtime(options());
  const Gather problem;
  runtime.prepare(problem);
  runtime.prepare_any(mine, &problem);
  EXPECT_EQ(runtime.forget_any(mine, &problem), 1u);
  EXPECT_EQ(runtime.statistics().held.plans, 1u);
  EXPECT_EQ(runtime.forget(problem), 1u);
}

TEST_F(Kernels, TrimLeavesWhatIsHeld) {
  Runtime runtime(options());
  std::optional<AnyPlan> held(runtime.prepare(Gather{}));
  runtime.prepare(Gather{.dtype = f32});
  runtime.trim();
  EXPECT_EQ(runtime.statistics().held.plans, 1u);
  EXPECT_EQ(runtime.statistics().held.libraries, 2u);
  EXPECT_EQ(runtime.statistics().held.images, 2u);
  EXPECT_EQ(null_driver().unloads, 2);
  EXPECT_EQ(runtime.prepare(Gather{}).state(), held->state());
  held.reset();
  runtime.trim();
  EXPECT_EQ(runtime.statistics().held.plans + runtime.statistics().held.libraries + runtime.statistics().held.images,
            0u);
  EXPECT_EQ(null_driver().unloads, 4);
}

// ---- the table of plans

PlanKey key_for(std::int64_t count, std::uint64_t context = 1) {
  const Gather problem{.count = count};
  return {Gather::family(), &problem, context};
}

// A plan that can be identified.
std::shared_ptr<PlanState> plan_named(const std::string& name) {
  auto plan = std::make_shared<PlanState>();
  plan->text = name;
  return plan;
}

TEST(PlanTable, FindsEachOfAHundredThousand) {
  constexpr std::int64_t kPlans = 100'000;
  PlanTable table;
  for (std::int64_t count = 0; count < kPlans; ++count) table.add(key_for(count), plan_named(std::to_string(count)));
  EXPECT_EQ(table.size(), static_cast<std::size_t>(kPlans));
  for (std::int64_t count = 0; count < kPlans; ++count) {
    const auto found = table.find(key_for(count));
    ASSERT_NE(found, nullptr) << count;
    ASSERT_EQ(found->text, std::to_string(count));
  }
  EXPECT_EQ(table.find(key_for(kPlans)), nullptr);
  EXPECT_EQ(table.find(key_for(1, 2)), nullptr) << "another context";
}

TEST(PlanTable, TheFirstPlanOfAProblemServes) {
  PlanTable table;
  const auto first = plan_named("first");
  EXPECT_EQ(table.add(key_for(1), first), first);
  EXPECT_EQ(table.add(key_for(1), plan_named("second")), first);
  EXPECT_EQ(table.find(key_for(1)), first);
}

// Equal hashes do not make equal problems.
TEST(PlanTable, ACollisionOfHashesIsNotAHit) {
  const auto colliding = [](std::int64_t count, std::uint64_t context = 1) {
    PlanKey key = key_for(count, context);
    key.hash = 7;
    return key;
  };
  PlanTable table;
  table.add(colliding(1), plan_named("one"));
  table.add(colliding(2), plan_named("two"));
  table.add(colliding(1, 2), plan_named("other context"));
  EXPECT_EQ(table.find(colliding(1))->text, "one");
  EXPECT_EQ(table.find(colliding(2))->text, "two");
  EXPECT_EQ(table.find(colliding(1, 2))->text, "other context");
  EXPECT_EQ(table.find(colliding(3)), nullptr);
}

TEST(PlanTable, APlanOutlivesTheTable) {
  std::shared_ptr<const PlanState> plan;
  {
    PlanTable table;
    plan = table.add(key_for(1), plan_named("one"));
    table.add(key_for(2), plan_named("two"));
  }
  EXPECT_EQ(plan->text, "one");
}

TEST(PlanTable, WhatIsNotHeldOutsideIsForgottenEvenIfManyThreadsAskedForIt) {
  PlanTable table;
  std::weak_ptr<const PlanState> busy;
  std::weak_ptr<const PlanState> idle;
  {
    const auto one = plan_named("one");
    const auto two = plan_named("two");
    busy = one;
    idle = two;
    table.add(key_for(1), one);
    table.add(key_for(2), two);
    EXPECT_EQ(table.forget_unused(), 0u) << "held here, as they were given";
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int times = 0; times < 1000; ++times) ASSERT_NE(table.find(key_for(1)), nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.striped(), 1u);
  {
    const auto held = table.find(key_for(1));
    EXPECT_EQ(table.forget_unused(), 1u);
    EXPECT_EQ(table.find(key_for(1)), held);
  }
  EXPECT_EQ(table.forget_unused(), 1u);
  EXPECT_EQ(table.striped(), 0u);
  EXPECT_TRUE(busy.expired() && idle.expired());
}

TEST(PlanTable, APlanThatManyThreadsAskedForEndsWithTheTable) {
  const auto plan = plan_named("one");
  {
    PlanTable table;
    table.add(key_for(1), plan);
    for (int i = 0; i < 2; ++i) {  // one of them has another stripe than this thread
      std::thread([&] {
        for (int times = 0; times < 1000; ++times) table.find(key_for(1));
      }).join();
    }
    ASSERT_EQ(table.striped(), 1u);
    EXPECT_GT(plan.use_count(), 1);
  }
  EXPECT_EQ(plan.use_count(), 1);
}

TEST(PlanTable, NotEveryPlanOfVeryManyIsStriped) {
  constexpr std::int64_t kPlans = 3000;
  PlanTable table;
  for (std::int64_t count = 0; count < kPlans; ++count) table.add(key_for(count), plan_named("one"));
  for (int i = 0; i < 2; ++i) {  // one of them has another stripe than this thread
    std::thread([&] {
      for (int times = 0; times < 100; ++times)
        for (std::int64_t count = 0; count < kPlans; ++count) table.find(key_for(count));
    }).join();
  }
  EXPECT_GT(table.striped(), 0u);
  EXPECT_LT(table.striped(), 2000u);
}

TEST(PlanTable, PlansMayGoWhileOthersLookThemUp) {
  PlanTable table;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (std::int64_t n = 0; !done; ++n) {
        const auto found = table.find(key_for(n % 10));
        EXPECT_TRUE(found == nullptr || found->text == std::to_string(n % 10));
      }
    });
  }
  for (int round = 0; round < 300; ++round) {
    for (std::int64_t count = 0; count < 10; ++count) table.add(key_for(count), plan_named(std::to_string(count)));
    if (round % 3 == 0) table.forget_context(1);
    if (round % 3 == 1) table.forget_unused();
    if (round % 3 == 2) table.forget(Gather::family(), key_for(round % 10).packed);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace quern::test
