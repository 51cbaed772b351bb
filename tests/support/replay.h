// Replays of a graph that was captured once: each reads the data of another seed, in the same memory.
#ifndef QUERN_TESTS_SUPPORT_REPLAY_H_
#define QUERN_TESTS_SUPPORT_REPLAY_H_

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver/stream.h"
#include "support/device.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {

class ReplayTest : public DeviceTest {
 protected:
  // Launches the problem on these operands once.
  void run(const AnyProblem& problem, HostOperands& host, const AnyArgs& scalars) {
    DeviceOperands device(driver(), host);
    device.upload(host);
    const AnyArgs args = device.args(scalars);
    runtime().prepare_any(problem.family(), problem.data(), {}).launch(nullptr, args.data());
    synchronize();
    device.download(host);
  }
  void run(const AnyProblem& problem, HostOperands& host) { run(problem, host, AnyArgs(problem.family())); }

  // What a launch makes of the inputs, with these changes to the default config.
  HostOperands launched(const HostOperands& host, const std::string& config = {}) {
    DeviceOperands device(driver(), host);
    return launched_on(device, host, config);
  }
  // On these operands of a device, whose addresses may differ from those of launched().
  HostOperands launched_on(DeviceOperands& device, const HostOperands& host, const std::string& config = {}) {
    PrepareOptions options;
    options.config = config;
    const AnyPlan plan = runtime().prepare_any(host.family(), host.problem(), options);
    device.upload(host);
    plan.launch(nullptr, device.args(AnyArgs(host.family())).data());
    synchronize();
    HostOperands got = host;
    device.download(got);
    return got;
  }

  // One workspace for problems of several sizes, the largest first, cleared once: what a launch leaves in it is where
  // the next one has other words. `open` leaves out what problem_of(size) adds.
  template <class ProblemOf>
  void expect_workspace_serves(const AnyProblem& open, const std::vector<int>& sizes, const ProblemOf& problem_of) {
    const AnyPlan plan = runtime().prepare_any(open.family(), open.data(), {});
    const AnyProblem largest = problem_of(sizes.front());
    const HostOperands all(largest.family(), largest.data());
    const int at = place_of_workspace(all);
    const auto bytes = static_cast<std::size_t>(all.bytes(at));
    const DeviceMemory workspace(driver(), bytes);
    driver().check(driver()->MemsetD8Async(workspace.get(), 0, bytes, nullptr), Stage::tool, "cuMemsetD8Async");
    std::uint64_t seed = 0;
    for (const int size : sizes) {
      const AnyProblem problem = problem_of(size);
      HostOperands host(problem.family(), problem.data());
      host.generate(++seed, false);
      DeviceOperands device(driver(), host);
      device.upload(host);
      AnyArgs args = device.args(AnyArgs(problem.family()));
      args.set_operand(all.entries()[static_cast<std::size_t>(at)].operand, workspace.data(),
                       static_cast<std::int64_t>(bytes));
      plan.launch(nullptr, args.data());
      synchronize();
      HostOperands got = host, expected = host.reference(AnyArgs(problem.family()));
      device.download(got);
      std::memset(expected.data(at), 0, static_cast<std::size_t>(expected.bytes(at)));  // the launch had another one
      EXPECT_EQ(compare(got, expected).difference, "") << problem.text() << ", seed " << seed;
    }
  }

  // For each seed the graph is launched twice: the second time a workspace is as the launch before has left it. `wild`:
  // floats that the family does not choose are zeros of both signs, infinities and NaNs too.
  void expect_replays(const std::string& text, bool wild = false) {
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    const AnyArgs scalars(problem.family());
    host.generate(1, wild);
    DeviceOperands device(driver(), host);
    const AnyArgs args = device.args(scalars);
    const AnyPlan plan = runtime().prepare_any(problem.family(), problem.data(), {});
    const Graph graph(driver(), [&](CUstream capturing) { plan.launch(capturing, args.data()); });
    const StreamOwner stream(driver());
    HostOperands before = host;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      host.generate(seed, wild);
      device.upload(host);
      graph.launch(stream.get());
      graph.launch(stream.get());
      stream.synchronize();
      HostOperands got = host;
      device.download(got);
      EXPECT_EQ(compare(got, host.reference(scalars).reference(scalars)).difference, "") << text << " " << seed;
      EXPECT_NE(compare(got, before).difference, "") << text << ": as with the seed before, " << seed;
      before = got;
    }
  }

 private:
  static int place_of_workspace(const HostOperands& host) {
    int at = 0;
    while (host.name(at) != "workspace") ++at;
    return at;
  }
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_REPLAY_H_
