// hash_table beyond single cases: orders of threads, replays, a table that is built and searched in one graph, and
// tables that are almost full.
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"
#include "hash/reference.h"
#include "quern/quern.h"
#include "support/has.h"
#include "support/replay.h"
#include "support/test_kernel.h"

namespace quern::test {
namespace {

class HashTableOnDevice : public ReplayTest {};

// In a used workspace: the launch before has left zeros.
TEST_F(HashTableOnDevice, AReplayBuildsAnotherTable) {
  for (const char* dtype : {"i64", "i32"}) {
    expect_replays(cat("hash_table count=3000 dtype=", dtype));
    expect_replays(cat("hash_table op=find count=3000 capacity=4096 dtype=", dtype));
  }
}

// Any order of threads on the host gives one table, with several blocks at once too.
TEST_F(HashTableOnDevice, NoOrderOfThreadsChangesAByte) {
  if (!on_host()) GTEST_SKIP() << "only the host driver chooses orders";
  for (const std::uint64_t kind : {1U, 2U, 3U, 4U, 6U}) {
    const AnyProblem problem = runtime().parse("hash_table count=2000");
    HostOperands host(problem.family(), problem.data());
    host.generate(kind, false);
    const HostOperands expected = host.reference(AnyArgs(problem.family()));
    for (int seed = 0; seed < 6; ++seed) {
      driver().host().Configure(cat("seed=", seed, " workers=", seed % 3 == 0 ? 1 : 4).c_str());
      HostOperands got = host;
      run(problem, got);
      EXPECT_EQ(compare(got, expected).difference, "") << "keys " << kind << ", seed " << seed;
    }
  }
  driver().host().Configure("seed=0 workers=0");
}

// What the index hash of a recommender model gives: argmax over (x[i] == tokens), which is 0 without a match.
TEST_F(HashTableOnDevice, FindsWhatAComparisonOfEachPairFinds) {
  constexpr std::int64_t kTokens = 700, kCount = 1500;
  HashTable build, find;
  build.count = kTokens;
  find.op = HashTableOp::find, find.count = kCount, find.capacity = 2048;
  std::vector<std::int64_t> tokens, wanted, found(kCount, -9);
  for (std::int64_t i = 0; i < kTokens; ++i) tokens.push_back(static_cast<std::int64_t>(random_at(1, i) % 900) - 200);
  for (std::int64_t i = 0; i < kCount; ++i) wanted.push_back(static_cast<std::int64_t>(random_at(2, i) % 1200) - 300);
  const DeviceMemory keys(driver(), 8 * kTokens), x(driver(), 8 * kCount), table(driver(), 2048 * 16),
      out(driver(), 8 * kCount), workspace(driver(), 2048 * 4);
  const auto code = [&](CUresult result) { driver().check(result, Stage::tool, "a copy"); };
  code(driver()->MemcpyHtoD(keys.get(), tokens.data(), 8 * kTokens));
  code(driver()->MemcpyHtoD(x.get(), wanted.data(), 8 * kCount));
  code(driver()->MemsetD8Async(workspace.get(), 0, 2048 * 4, nullptr));
  const auto builds = runtime().prepare(build);
  const auto finds = runtime().prepare(find);
  HashTableArgs of_build, of_find;
  of_build.keys = keys.data(), of_build.out = table.data(), of_build.workspace = workspace.data();
  of_find.keys = x.data(), of_find.table = table.data(), of_find.out = out.data();
  const Graph graph(driver(), [&](CUstream capturing) {
    builds.launch(capturing, of_build);
    finds.launch(capturing, of_find);
  });
  const StreamOwner stream(driver());
  graph.launch(stream.get());
  stream.synchronize();
  code(driver()->MemcpyDtoH(found.data(), out.get(), 8 * kCount));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto at = std::find(tokens.begin(), tokens.end(), wanted[i]);
    EXPECT_EQ(found[i], at == tokens.end() ? 0 : at - tokens.begin()) << wanted[i];
  }
}

TEST_F(HashTableOnDevice, MoreKeysThanTheCapacityTakesAreRefusedAtTheLaunch) {
  HashTable build;
  build.capacity = 8;
  const auto plan = runtime().prepare(build);
  HashTableArgs args;
  args.count = 5;
  const auto launched = plan.try_launch(nullptr, args);
  ASSERT_FALSE(launched);
  EXPECT_TRUE(has(launched.error().sentence, "capacity must be at least 2 * count: 16")) << launched.error().sentence;
}

// 63 different keys in 64 slots, each several times: `out` has the words, keys are i and 64 * i, which have few homes.
TEST_F(HashTableOnDevice, WordsOfATableThatIsAlmostFull) {
  constexpr int kKeys = 63, kThreads = 512;
  const auto key_at = [](std::int64_t i) { return i % kKeys * 64 - 900; };
  std::vector<hash::Entry> expected(64);
  hash::build_reference(kThreads, key_at, 64, expected.data());
  const TestKernel kernel(runtime().state().compiler, options().driver, R"(
    quern::hash::insert(reinterpret_cast<unsigned*>(out), 63, [](unsigned i) { return static_cast<long long>(i) % 63 * 64 - 900; },
                 n - 1 - blockIdx.x * blockDim.x - threadIdx.x);)",
                          "#include \"hash/table.cuh\"\n");
  const std::vector<int> words = kernel.run({4, 128}, 64, kThreads, 0);
  for (std::size_t slot = 0; slot < 64; ++slot) EXPECT_EQ(words[slot], expected[slot].position + 1) << slot;
}

}  // namespace
}  // namespace quern::test
