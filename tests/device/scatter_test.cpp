// scatter beyond single cases: segments of given lengths, other indices in a used workspace, and gather's gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "base/text.h"
#include "driver/stream.h"
#include "quern/quern.h"
#include "support/differences.h"
#include "support/replay.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

enum ScatterOperand { kSource, kIndex, kOrder, kScale, kOut, kWorkspace, kGradient, kSourceGradient, kScaleGradient };
enum GatherOperand { kTable, kIds, kScaleOfIds, kPicked };

// Each row of out as often as `lengths` says, shuffled, and the order of it.
void set_lengths(HostOperands& host, const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < lengths.size(); ++row)
    rows.insert(rows.end(), static_cast<std::size_t>(lengths[row]), static_cast<std::int64_t>(row));
  Random random(rows.size());
  random.shuffle(rows);
  std::copy(rows.begin(), rows.end(), reinterpret_cast<std::int64_t*>(host.data(kIndex)));
  auto* const order = reinterpret_cast<std::int32_t*>(host.data(kOrder));
  std::iota(order, order + rows.size(), 0);
  std::stable_sort(order, order + rows.size(), [&](std::int32_t a, std::int32_t b) {
    return rows[static_cast<std::size_t>(a)] < rows[static_cast<std::size_t>(b)];
  });
}

class ScatterOnDevice : public ReplayTest {
 protected:
  void expect_sums(const std::vector<std::int64_t>& lengths, const std::string& fields, const std::string& config) {
    const std::int64_t count = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    const std::string text = cat("scatter rows=", lengths.size(), " count=", count, " order=given ", fields);
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    const AnyArgs scalars(problem.family());
    host.generate(static_cast<std::uint64_t>(count), false);
    set_lengths(host, lengths);
    DeviceOperands device(driver(), host);
    const AnyArgs args = device.args(scalars);
    PrepareOptions changed;
    changed.config = config;
    const AnyPlan plan = runtime().prepare_any(problem.family(), problem.data(), changed);
    device.upload(host);
    plan.launch(nullptr, args.data());
    driver().check(driver()->CtxSynchronize(), Stage::launch, "cuCtxSynchronize");
    HostOperands got = host;
    device.download(got);
    EXPECT_EQ(compare(got, host.reference(scalars)).difference, "") << text << " with " << config;
  }
};

// The lengths around those of a group and of a chunk, with and without rows between them; the largest has three chunks.
TEST_F(ScatterOnDevice, SegmentsOfEveryLengthHaveTheSameSumsInEachConfig) {
  const std::vector<std::int64_t> lengths = {0, 0,    1,    2,    31, 0,  32, 33, 1,    100,
                                             0, 1023, 1024, 1025, 0,  63, 64, 65, 2100, 0};
  for (const char* config :
       {"", "positions=1", "positions=32,threads=64", "positions=4,batch=1", "form=1,batch=4,positions=8"}) {
    for (const char* fields : {"op=add width=40", "op=add width=40 rest=zero dtype=f32", "width=40 rest=zero"}) {
      if (cat(fields).find("add") == std::string::npos && cat(config).find("batch") != std::string::npos) continue;
      expect_sums(lengths, fields, config);
    }
  }
  expect_sums(lengths, "op=add width=515", "");
  expect_sums(lengths, "op=add width=1100 rest=zero", "positions=16");
}

TEST_F(ScatterOnDevice, SegmentsOfOneLength) {
  for (const std::int64_t length : {1, 2, 31, 32, 33, 100})
    expect_sums(std::vector<std::int64_t>(static_cast<std::size_t>(200 / length + 2), length), "op=add width=24", "");
}

TEST_F(ScatterOnDevice, OneSegmentOfAllIndices) {
  for (const std::int64_t count : {1, 31, 33, 1024, 1025, 5000}) {
    expect_sums({0, 0, 0, count, 0}, "op=add width=8 rest=zero", "");
    expect_sums({count}, "op=add width=33 dtype=f16", "");
  }
}

// Blocks of rows without any index, and those at the ends of out.
TEST_F(ScatterOnDevice, RowsWithoutAnIndexAreZeros) {
  std::vector<std::int64_t> lengths(700, 0);
  for (const std::size_t row : {0, 31, 32, 33, 200, 255, 256, 699}) lengths[row] = 1;
  for (const char* fields : {"rest=zero width=520", "op=add rest=zero width=16", "op=add rest=zero width=521"})
    expect_sums(lengths, fields, "");
  lengths[0] = lengths[699] = 0;
  expect_sums(lengths, "rest=zero width=24", "");
  expect_sums(std::vector<std::int64_t>(300, 0), "op=add rest=zero width=24", "");
}

// The seeds give other segments.
TEST_F(ScatterOnDevice, AReplayReadsNewIndicesInAUsedWorkspace) {
  expect_replays("scatter op=add rows=60 count=2500 width=100 order=given");
  expect_replays("scatter op=add rows=60 count=2500 width=100 scale=f16 mode=skip pass=backward");
  expect_replays("scatter rows=900 count=700 width=100 rest=zero indices=unique");
  expect_replays("scatter op=add rows=90 count=70 width=1001 outer=2 scale=f16 rest=zero indices=unique mode=skip");
}

// Not as the user says: an index twice gives the last of its rows, and one outside of out no row, in each mode.
TEST_F(ScatterOnDevice, OfUniqueIndicesThatRepeatTheLastIsUsed) {
  for (const char* fields : {"width=40", "width=41 mode=skip", "width=3000 outer=2", "op=add width=41 scale=f32"}) {
    const AnyProblem problem = runtime().parse(cat("scatter rows=50 count=49 rest=zero indices=unique ", fields));
    HostOperands host(problem.family(), problem.data());
    const AnyArgs scalars(problem.family());
    host.generate(1, false);
    auto* const index = reinterpret_cast<std::int64_t*>(host.data(kIndex));
    for (std::int64_t i = 0; i < 49; ++i) index[i] = i * i % 7 * 5;
    const std::int64_t outside[] = {-1, 50, std::int64_t{1} << 32, std::numeric_limits<std::int64_t>::min()};
    std::copy(std::begin(outside), std::end(outside), index + 20);
    DeviceOperands device(driver(), host);
    const AnyArgs args = device.args(scalars);
    const AnyPlan plan = runtime().prepare_any(problem.family(), problem.data(), {});
    device.upload(host);
    plan.launch(nullptr, args.data());
    synchronize();
    HostOperands got = host;
    device.download(got);
    EXPECT_EQ(compare(got, host.reference(scalars)).difference, "") << fields;
  }
}

// One workspace for problems of several sizes, cleared once: what a launch leaves in it is where the next one, of
// another size, has other words.
TEST_F(ScatterOnDevice, AWorkspaceServesOtherCounts) {
  for (const char* fields : {"op=add rows=60 width=100 order=given", "op=add rows=60 width=100 scale=f32 pass=backward",
                             "op=add rows=60 width=33 order=given rest=zero outer=2",
                             "rows=60 width=33 rest=zero indices=unique mode=skip outer=2"}) {
    constexpr int kCounts[] = {2500, 40, 1100, 33, 2500};
    const AnyProblem largest = runtime().parse(cat("scatter count=2500 ", fields));
    const auto bytes =
        static_cast<std::size_t>(largest.family().operands[kWorkspace].layout(largest.data()).span_bytes());
    const DeviceMemory workspace(driver(), bytes);
    driver().check(driver()->MemsetD8Async(workspace.get(), 0, bytes, nullptr), Stage::tool, "cuMemsetD8Async");
    const AnyProblem open = runtime().parse(cat("scatter ", fields));
    const AnyPlan plan = runtime().prepare_any(open.family(), open.data(), {});
    std::uint64_t seed = 0;
    for (const int count : kCounts) {
      const AnyProblem problem = runtime().parse(cat("scatter count=", count, " ", fields));
      HostOperands host(problem.family(), problem.data());
      host.generate(++seed, false);
      DeviceOperands device(driver(), host);
      const AnyArgs scalars(problem.family());
      AnyArgs args = device.args(scalars);
      args.set_operand(kWorkspace, workspace.data(), static_cast<std::int64_t>(bytes));
      device.upload(host);
      plan.launch(nullptr, args.data());
      synchronize();
      HostOperands got = host;
      device.download(got);
      EXPECT_EQ(compare(got, host.reference(scalars)).difference, "") << fields << " count " << count;
    }
    std::vector<std::byte> left(bytes);
    driver().check(driver()->MemcpyDtoH(left.data(), workspace.get(), bytes), Stage::tool, "cuMemcpyDtoH");
    EXPECT_EQ(std::count(left.begin(), left.end(), std::byte{0}), static_cast<std::ptrdiff_t>(bytes)) << fields;
  }
}

// index_sort and scatter in one graph, as an embedding's gradient has them. The same bits as with the order of a stable
// sort on the host, and the same again when the graph is replayed, with other indices too.
TEST_F(ScatterOnDevice, AddsInTheOrderThatIndexSortFinds) {
  const AnyProblem sorts = runtime().parse("index_sort rows=300 count=5000");
  const AnyProblem adds =
      runtime().parse("scatter op=add rows=300 count=5000 width=40 dtype=f32 order=given rest=zero mode=skip");
  HostOperands keys(sorts.family(), sorts.data()), rows(adds.family(), adds.data());
  keys.generate(1, false);
  rows.generate(1, false);
  DeviceOperands of_sort(driver(), keys), of_scatter(driver(), rows);
  const AnyArgs none(adds.family());
  AnyArgs sort_args = of_sort.args(AnyArgs(sorts.family())), scatter_args = of_scatter.args(none);
  sort_args.set_operand(0, of_scatter.pointer(kIndex), rows.bytes(kIndex));
  scatter_args.set_operand(kOrder, of_sort.pointer(1), rows.bytes(kOrder));
  const AnyPlan sort = runtime().prepare_any(sorts.family(), sorts.data(), {});
  const AnyPlan scatter = runtime().prepare_any(adds.family(), adds.data(), {});
  const Graph graph(driver(), [&](CUstream capturing) {
    sort.launch(capturing, sort_args.data());
    scatter.launch(capturing, scatter_args.data());
  });
  const StreamOwner stream(driver());
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    rows.generate(seed, false);
    of_scatter.upload(rows);
    graph.launch(stream.get());
    graph.launch(stream.get());
    stream.synchronize();
    HostOperands got = rows;
    of_scatter.download(got);
    EXPECT_EQ(compare(got, rows.reference(none)).difference, "") << seed;
  }
}

// The loss of scatter's result y is the sum of u * y * y, with y = before + alpha * scale * source: a polynomial of
// degree 2 of each number, so that differences in double give its gradients exactly. All numbers are multiples of
// powers of 2.
TEST_F(ScatterOnDevice, GradientsOfAScaledSumAreItsDifferences) {
  for (const char* scale_of : {"columns", "rows"}) {
    const std::string text =
        cat("scatter op=add rows=9 count=7 width=5 dtype=f32 mode=skip factor=alpha scale=f32 scale_of=", scale_of);
    const AnyProblem forward = runtime().parse(text), backward = runtime().parse(cat(text, " pass=backward"));
    AnyArgs scalars(forward.family());
    scalars.set_scalar("alpha", 0.5);
    HostOperands host(forward.family(), forward.data()), gradient(backward.family(), backward.data());
    host.generate(3, false);
    gradient.generate(3, false);
    const auto numbers = [](HostOperands& of, int operand) { return reinterpret_cast<float*>(of.data(operand)); };
    const auto size = [](const HostOperands& of, int operand) { return of.bytes(operand) / 4; };
    for (const int operand : {kSource, kScale, kOut}) {
      for (std::int64_t i = 0; i < size(host, operand); ++i)
        numbers(host, operand)[i] = static_cast<float>((i * 7 + operand) % 11 - 5) / 4;
    }
    const std::int64_t ids[] = {3, 8, -1, 0, 9, 5, 1};  // two are skipped
    for (HostOperands* each : {&host, &gradient})
      std::copy_n(ids, std::size(ids), reinterpret_cast<std::int64_t*>(each->data(kIndex)));
    const auto u = [](std::int64_t i) { return static_cast<double>(i % 5 - 2) / 2; };
    const auto loss = [&] {
      const HostOperands y = host.reference(scalars);
      double sum = 0;
      for (std::int64_t i = 0; i < size(y, kOut); ++i) {
        const double value = reinterpret_cast<const float*>(y.data(kOut))[i];
        sum += u(i) * value * value;
      }
      return sum;
    };
    const HostOperands y = host.reference(scalars);
    for (std::int64_t i = 0; i < size(y, kOut); ++i)
      numbers(gradient, kGradient)[i] = static_cast<float>(2 * u(i)) * reinterpret_cast<const float*>(y.data(kOut))[i];
    std::copy_n(numbers(host, kSource), size(host, kSource), numbers(gradient, kSource));
    std::copy_n(numbers(host, kScale), size(host, kScale), numbers(gradient, kScale));

    run(backward, gradient, scalars);

    for (const auto& [of, result] : {std::pair{kSource, kSourceGradient}, {kScale, kScaleGradient}})
      expect_differences(numbers(host, of), size(host, of), numbers(gradient, result), loss, cat(text, " ", of));
  }
}

// The loss of gather's result y is the sum of u * y * y, so its gradient by y is 2 * u * y. Scattered it must be the
// gradient by the table, which differences in double give: exactly, as the loss is a polynomial of degree 2.
TEST_F(ScatterOnDevice, TheGradientOfGatherIsAScatter) {
  constexpr std::int64_t kRows = 9, kCount = 40, kWidth = 5;
  const AnyProblem forward = runtime().parse("gather rows=9 count=40 width=5 dtype=f64");
  HostOperands table(forward.family(), forward.data());
  const AnyArgs scalars(forward.family());
  table.generate(3, false);
  auto* const x = reinterpret_cast<double*>(table.data(kTable));
  auto* const ids = reinterpret_cast<std::int64_t*>(table.data(kIds));
  for (std::int64_t i = 0; i < kRows * kWidth; ++i) x[i] = static_cast<double>(i * 7 % 11 - 5) / 4;
  for (std::int64_t i = 0; i < kCount; ++i) ids[i] = i * i % kRows;  // some rows often, some never
  const auto u = [](std::int64_t i) { return static_cast<double>(i % 5 - 2) / 2; };
  const auto picked = [&](std::int64_t i) {
    return reinterpret_cast<const double*>(table.reference(scalars).data(kPicked))[i];
  };
  const auto loss = [&] {
    const HostOperands result = table.reference(scalars);
    const auto* const y = reinterpret_cast<const double*>(result.data(kPicked));
    double sum = 0;
    for (std::int64_t i = 0; i < kCount * kWidth; ++i) sum += u(i) * y[i] * y[i];
    return sum;
  };

  const AnyProblem backward = runtime().parse("scatter op=add rows=9 count=40 width=5 dtype=f32 order=given rest=zero");
  HostOperands gradient(backward.family(), backward.data());
  gradient.generate(3, false);
  std::copy_n(ids, kCount, reinterpret_cast<std::int64_t*>(gradient.data(kIndex)));
  auto* const order = reinterpret_cast<std::int32_t*>(gradient.data(kOrder));
  std::iota(order, order + kCount, 0);
  std::stable_sort(order, order + kCount, [&](std::int32_t a, std::int32_t b) { return ids[a] < ids[b]; });
  for (std::int64_t i = 0; i < kCount * kWidth; ++i)
    reinterpret_cast<float*>(gradient.data(kSource))[i] = static_cast<float>(2 * u(i) * picked(i));
  run(backward, gradient);
  expect_differences(x, kRows * kWidth, reinterpret_cast<const float*>(gradient.data(kOut)), loss, "source");
}

}  // namespace
}  // namespace quern::test
