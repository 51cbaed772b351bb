// The launch path and the look-up of a known problem do not allocate. Replaces operator new for the whole program and
// counts in the calling thread. The other tests in this file need an operator new that fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include "base/read_mostly_table.h"
#include "driver/device.h"
#include "records/lookup.h"
#include "unit/api/support.h"
#include "unit/records/support.h"

namespace {

thread_local std::int64_t allocations = 0;
thread_local std::int64_t most_allocations = std::numeric_limits<std::int64_t>::max();

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations == most_allocations) throw std::bad_alloc();
  ++allocations;
  void* memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                     ? std::malloc(bytes == 0 ? 1 : bytes)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();  // terminates callers of the nothrow form: only tests use this
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
  // Through a volatile pointer, since a compiler may remove an unused allocation.
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
  const auto program = runtime.prepare(Pointwise{.expr = "m: number; b: row; out = relu(x + m * y + b)"});
  const auto second = runtime.prepare(Pointwise{.expr = "out = x"});
  const GatherArgs args = gather_args();
  const PointwiseArgs other = pointwise_args();
  const In inputs[] = {other.x, other.x, other.bias};
  PointwiseArgs of_program;
  of_program.inputs = {inputs, 3};
  of_program.outputs = {&other.out, 1};
  of_program.rows = 1;  // none overlaps
  PointwiseArgs of_second = of_program;
  of_second.inputs.count = 1;
  EXPECT_EQ(allocations_of([&] {
              gather.launch(nullptr, args);
              pointwise.launch(nullptr, other);
              (void)gather.try_launch(nullptr, args);
              program.launch(nullptr, of_program);
              second.launch(nullptr, of_second);
              program.launch(nullptr, of_program);
            }),
            0);
  EXPECT_EQ(null_driver().launches, 6);
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
  EXPECT_EQ(runtime.statistics().hits.plan, 2u);
}

// Thousands of records in hundreds of buckets: one is found by one hash, independent of their number.
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
  Gather::family().steps[0].variants(&any, target, generic_model(90), variants);
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

// Whether `f` succeeds with this many allocations.
template <class F>
bool done_with(std::int64_t most, F f) {
  most_allocations = allocations + most;
  bool done = true;
  try {
    f();
  } catch (const std::bad_alloc&) {
    done = false;
  }
  most_allocations = std::numeric_limits<std::int64_t>::max();
  return done;
}

// Counts live nodes; a node that a table still refers to is live.
struct Counted {
  explicit Counted(std::uint64_t node_key) : key(node_key) { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  std::uint64_t key;
  static inline std::size_t alive = 0;
};

TEST(ReadMostlyTable, NothingHasChangedWhereMemoryRanOut) {
  const auto has = [](std::uint64_t key) { return [key](const Counted& node) { return node.key == key; }; };
  ReadMostlyTable<Counted> table;
  const auto holds = [&](std::uint64_t nodes) {
    (void)table.collect();
    bool all = Counted::alive == nodes && table.size() == nodes;
    for (std::uint64_t key = 0; all && key < nodes; ++key) all = table.find(key, has(key)) != nullptr;
    return all;
  };
  constexpr std::uint64_t kNodes = 200;
  std::int64_t most = 0;
  for (std::uint64_t key = 0; key < kNodes; ++key) {
    const auto add = [&] { table.set(key, has(key), key); };
    for (std::int64_t i = 0; !done_with(i, add); most = std::max(most, ++i)) ASSERT_TRUE(holds(key)) << i << " to add";
  }
  EXPECT_GT(most, 3) << "it grew";
  const auto remove = [&] { table.remove_if([](const Counted& node) { return node.key >= kNodes / 2; }); };
  for (most = 0; !done_with(most, remove); ++most) ASSERT_TRUE(holds(kNodes)) << most << " to remove";
  EXPECT_GT(most, 1);
  EXPECT_TRUE(holds(kNodes / 2));
}

}  // namespace
}  // namespace quern::test
