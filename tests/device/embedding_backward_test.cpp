// embedding's backward pass beyond single cases: the same bits in every run and in each config, used workspaces, runs
// of given lengths, and gradients that agree with differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "driver/stream.h"
#include "quern/quern.h"
#include "support/replay.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

class EmbeddingBackwardOnDevice : public ReplayTest {
 protected:
  // Of threads and blocks, where the driver can change it.
  void set_order(int seed) {
    if (driver().runs_host_images())
      driver().check(driver().host().Configure(cat("seed=", seed).c_str()), Stage::tool, "quernHostConfigure");
  }

  int place(const HostOperands& host, const char* name) {
    for (int i = 0; i < host.size(); ++i)
      if (host.name(i) == name) return i;
    return -1;
  }
};

bool same_bits(const HostOperands& a, const HostOperands& b) {
  for (int i = 0; i < a.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(a.bytes(i));
    if (bytes != 0 && std::memcmp(a.data(i), b.data(i), bytes) != 0) return false;
  }
  return true;
}

int runs() { return on_host() ? 4 : 10; }  // on the host driver each has its own order of threads

// Without NaNs, whose signs follow the order of operands on the CPU. A GPU has one NaN. Runs of one chunk and of two,
// and of several groups.
TEST_F(EmbeddingBackwardOnDevice, TenRunsAndEachConfigGiveTheSameBits) {
  for (const char* fields :
       {"batch=1500 rows=1,2,400 dim=12,24,40",
        "batch=1500 rows=3 dim=16 optimizer=row_adagrad dtype=bf16 table_dtype=bf16 rounding=stochastic",
        "batch=1500 rows=5 dim=8 optimizer=adam"}) {
    const AnyProblem problem = runtime().parse(cat("embedding pass=backward tables=3 ", fields));
    HostOperands host(problem.family(), problem.data());
    host.generate(3, false);
    const HostOperands first = launched(host, "");
    EXPECT_EQ(compare(first, host.reference(AnyArgs(problem.family()))).difference, "") << fields;
    for (int run = 1; run < runs(); ++run) {
      set_order(run);
      EXPECT_TRUE(same_bits(first, launched(host, ""))) << fields << ", run " << run;
    }
    set_order(0);
    for (const char* config : {"sum.elements=1,sum.lanes=32", "sum.elements=2,sum.lanes=32,sum.batch=4",
                               "sum.positions=2,sum.threads=128", "sum.positions=32,sum.resident=1",
                               "sort.threads=1024,sort.bits=4", "sort.threads=256,sort.bits=8,sort.unroll=8"})
      EXPECT_TRUE(same_bits(first, launched(host, config))) << fields << " with " << config;
  }
}

TEST_F(EmbeddingBackwardOnDevice, AReplayReadsOtherIdsInAUsedWorkspace) {
  expect_replays("embedding pass=backward batch=700 tables=3 rows=9,1,500 dim=8 dense=4");
  expect_replays("embedding pass=backward batch=70 tables=3 rows=9 dim=8 pooling=max count=900 padding=3 mode=zero");
  expect_replays("embedding pass=backward batch=70 tables=3 rows=9 dim=8 pooling=mean count=900 padding=3");
  expect_replays(
      "embedding pass=backward batch=70 tables=3 rows=9 dim=8 pooling=sum count=900 sample_weights=f32 "
      "optimizer=row_adagrad");
}

// Of a sort in two passes, which leaves pairs behind.
TEST_F(EmbeddingBackwardOnDevice, AWorkspaceServesOtherBatches) {
  const std::string shape = "embedding pass=backward tables=2 rows=2,3000 dim=20";
  expect_workspace_serves(runtime().parse(shape), {3000, 20, 1100, 1, 3000},
                          [&](int batch) { return runtime().parse(cat(shape, " batch=", batch)); });
}

// Each row of one table as often as `lengths` says, shuffled.
TEST_F(EmbeddingBackwardOnDevice, RunsOfEveryLength) {
  const std::vector<std::int64_t> lengths = {0, 0,    1,    2,    31, 0,  32, 33, 1,    100,
                                             0, 1023, 1024, 1025, 0,  63, 64, 65, 2100, 0};
  std::vector<std::int64_t> ids;
  for (std::size_t row = 0; row < lengths.size(); ++row)
    ids.insert(ids.end(), static_cast<std::size_t>(lengths[row]), static_cast<std::int64_t>(row));
  Random random(5);
  random.shuffle(ids);
  for (const char* fields : {"dim=16", "dim=33 dtype=f16", "dim=300 optimizer=row_adagrad", "dim=8 optimizer=adam"}) {
    const AnyProblem problem =
        runtime().parse(cat("embedding pass=backward tables=1 rows=20 batch=", ids.size(), " ", fields));
    HostOperands host(problem.family(), problem.data());
    host.generate(2, false);
    std::copy(ids.begin(), ids.end(), reinterpret_cast<std::int64_t*>(host.data(place(host, "index"))));
    for (const char* config : {"", "sum.positions=2", "sum.positions=32,sum.batch=1"})
      EXPECT_EQ(compare(launched(host, config), host.reference(AnyArgs(problem.family()))).difference, "")
          << fields << " with " << config;
  }
}

// All ids equal, all different, none with a row, and empty bags before, between and after the others.
TEST_F(EmbeddingBackwardOnDevice, IdsOfEveryKind) {
  const AnyProblem problem = runtime().parse(
      "embedding pass=backward tables=2 rows=400 dim=8 batch=5 pooling=mean count=300 padding=-1 mode=zero dense=4");
  HostOperands host(problem.family(), problem.data());
  host.generate(2, false);
  auto* const ids = reinterpret_cast<std::int64_t*>(host.data(place(host, "index")));
  auto* const offsets = reinterpret_cast<std::int64_t*>(host.data(place(host, "offsets")));
  const std::int64_t bags[] = {3, 3, 3, 100, 100, 101, 101, 220, 300, 300};
  std::copy(std::begin(bags), std::end(bags), offsets);
  const auto expect_equal = [&](const char* what) {
    EXPECT_EQ(compare(launched(host, ""), host.reference(AnyArgs(problem.family()))).difference, "") << what;
  };
  std::fill(ids, ids + 300, 7);
  expect_equal("all ids equal");
  std::iota(ids, ids + 300, 50);
  expect_equal("all different");
  std::fill(ids, ids + 300, 1000);
  expect_equal("none has a row");
  std::fill(ids, ids + 300, -1);
  expect_equal("all padding");
}

// Ids before the first bag have no gradient, and their weights zeros.
TEST_F(EmbeddingBackwardOnDevice, WeightsOfIdsInNoBagHaveZeroGradients) {
  for (const int batch : {2, 0}) {
    const AnyProblem problem = runtime().parse(
        cat("embedding pass=backward tables=1 rows=9 dim=4 pooling=sum count=10 sample_weights=f32 batch=", batch));
    HostOperands host(problem.family(), problem.data());
    host.generate(2, false);
    auto* const offsets = reinterpret_cast<std::int64_t*>(host.data(place(host, "offsets")));
    const std::int64_t bags[] = {3, 5};
    std::copy(bags, bags + batch, offsets);
    const HostOperands got = launched(host, "");
    EXPECT_EQ(compare(got, host.reference(AnyArgs(problem.family()))).difference, "") << batch;
    const auto* const made = reinterpret_cast<const float*>(got.data(place(got, "sample_weights_gradient")));
    for (const int outside : {0, 1, 2}) EXPECT_EQ(made[outside], 0) << outside;
  }
}

}  // namespace
}  // namespace quern::test
