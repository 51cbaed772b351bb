// The launch path and the look-up of a known problem do not allocate. Replaces operator new for the whole program and
// counts in the thread that asks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "driver/device.h"
#include "records/lookup.h"
#include "unit/api/support.h"
#include "unit/records/support.h"

namespace {

thread_local std::int64_t allocations = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                     ? std::malloc(bytes == 0 ? 1 : bytes)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();  // ends the program where the caller asked for null: it is a test's
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return allocate(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t a) {
  return allocate(bytes, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, std::align_val_t a) {
  return allocate(bytes, static_cast<std::size_t>(a));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace quern::test {
namespace {

using Allocations = ApiTest;

template <class F>
std::int64_t allocations_of(F f) {
  const std::int64_t before = allocations;
  f();
  return allocations - before;
}

GatherArgs gather_args() {
  GatherArgs args;
  args.source = reinterpret_cast<const void*>(0x10000);
  args.index = reinterpret_cast<const void*>(0x20000);
  args.out = reinterpret_cast<void*>(0x40000);
  args.count = 100;
  return args;
}

PointwiseArgs pointwise_args() {
  PointwiseArgs args;
  args.x = reinterpret_cast<const void*>(0x10000);
  args.bias = reinterpret_cast<const void*>(0x20000);
  args.out = reinterpret_cast<void*>(0x40002);  // takes the ragged variant
  args.rows = 100;
  return args;
}

TEST_F(Allocations, AreCounted) {
  // Through a volatile pointer, since a compiler may leave out an allocation that nobody sees.
  EXPECT_EQ(allocations_of([] {
              int* volatile seen = new int(3);
              delete seen;
            }),
            1);
  EXPECT_GE(allocations_of([] { const std::vector<int> v(100); }), 1);
}

TEST_F(Allocations, ALaunchMakesNone) {
  Runtime runtime(options());
  const auto gather = runtime.prepare(Gather{});
  const auto pointwise = runtime.prepare(Pointwise{});
  const GatherArgs args = gather_args();
  const PointwiseArgs other = pointwise_args();
  EXPECT_EQ(allocations_of([&] {
              gather.launch(nullptr, args);
              pointwise.launch(nullptr, other);
              (void)gather.try_launch(nullptr, args);
            }),
            0);
  EXPECT_EQ(null_driver().launches, 3);
}

TEST_F(Allocations, PrepareOfAKnownProblemMakesNone) {
  Runtime runtime(options());
  const Gather gather{.width = 777};
  const Pointwise pointwise{.activation = Activation::silu};
  runtime.prepare(gather);
  runtime.prepare(pointwise);
  EXPECT_EQ(allocations_of([&] {
              const auto plan = runtime.prepare(gather);
              const auto other = runtime.prepare(pointwise);
            }),
            0);
  EXPECT_EQ(runtime.statistics().plan_hits, 2u);
}

// Thousands of records in hundreds of buckets: found by one hash, however many others there are.
TEST_F(Allocations, ALookUpOfARecordMakesNone) {
  std::vector<Record> records;
  for (const char* fields : {"dtype=bf16", "dtype=f32", "dtype=f16", "mode=zero", "index=i32"}) {
    for (int width = 16; width <= 16000; width += 16)
      records.push_back(record_for(cat("gather rows=8 count=8 width=", width, " ", fields), "unroll=2"));
  }
  std::vector<const Record*> pointers;
  for (const Record& record : records) pointers.push_back(&record);
  const FamilyRecords known(Gather::family(), pointers, Log(LogLevel::off, {}));
  ASSERT_EQ(known.size(), 5000u);
  const Target target;
  Variant variants[kMaxVariants];
  const Gather any;
  Gather::family().variants(&any, target, generic_model(90), variants);
  int found = 0;
  EXPECT_EQ(allocations_of([&] {
              for (const std::int64_t width : {64, 72, 98304}) {
                const Gather problem{.width = width, .mode = GatherMode::zero};
                const auto record = known.find({&problem, target, "NVIDIA H200", variants[0].config});
                found += record ? 1 : 0;
              }
            }),
            0);
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace quern::test
