// Rule 13 of the design on a real driver: foreign contexts, captures, plans that outlive their Runtime.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "driver/stream.h"
#include "quern/families.h"
#include "support/device.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

// A small gather with its data on the device.
class DriverRules : public DeviceTest {
 protected:
  struct Work {
    Work(const Driver& driver, const Gather& gather)
        : problem(gather), host(Gather::family(), &problem), scalars(Gather::family()) {
      host.generate(3, false);
      device = std::make_unique<DeviceOperands>(driver, host);
      args = std::make_unique<AnyArgs>(device->args(scalars));
    }
    bool right() const {
      HostOperands got = host;
      device->download(got);
      return compare(got, host.reference(scalars)).equal;
    }
    Gather problem;
    HostOperands host;
    AnyArgs scalars;
    std::unique_ptr<DeviceOperands> device;
    std::unique_ptr<AnyArgs> args;
  };

  static Gather small() {
    Gather gather;
    gather.rows = 50;
    gather.count = 60;
    gather.width = 72;
    return gather;
  }
};

TEST_F(DriverRules, FirstLaunchInsideACapture) {
  Work work(driver(), small());
  const auto plan = runtime().prepare(work.problem);
  const StreamOwner stream(driver());
  const Graph graph(driver(), [&](CUstream capturing) { plan.AnyPlan::launch(capturing, work.args->data()); });
  EXPECT_EQ(graph.nodes(), 1u);
  graph.launch(stream.get());
  stream.synchronize();
  EXPECT_TRUE(work.right());
}

TEST_F(DriverRules, ReplayReadsNewIndices) {
  Work work(driver(), small());
  const auto plan = runtime().prepare(work.problem);
  const Graph graph(driver(), [&](CUstream capturing) { plan.AnyPlan::launch(capturing, work.args->data()); });
  work.host.generate(99, false);
  work.device->upload(work.host);
  const StreamOwner stream(driver());
  graph.launch(stream.get());
  stream.synchronize();
  EXPECT_TRUE(work.right());
}

// Preparing, which loads, and dropping a plan, which unloads, harm no capture: not another thread's, not this one's.
TEST_F(DriverRules, PrepareBesideOrInsideACaptureLeavesItWhole) {
  Work work(driver(), small());
  const auto plan = runtime().prepare(work.problem);
  CUcontext context = nullptr;
  driver()->CtxGetCurrent(&context);
  Pointwise other;
  for (const bool own_thread : {true, false}) {
    for (const auto kind : {CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING}) {
      for (const auto mode :
           {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        CUstream stream = nullptr;
        CUgraph graph = nullptr;
        driver().check(driver()->StreamCreate(&stream, kind), Stage::tool, "cuStreamCreate");
        driver().check(driver()->StreamBeginCapture(stream, mode), Stage::tool, "cuStreamBeginCapture");
        plan.AnyPlan::launch(stream, work.args->data());
        std::string refusal;
        const auto prepare = [&] {
          driver()->CtxSetCurrent(context);
          Runtime shorter(options());
          if (const auto prepared = shorter.try_prepare(other); !prepared) refusal = prepared.error().what();
        };
        if (own_thread) {
          prepare();
        } else {
          std::thread(prepare).join();
        }
        EXPECT_EQ(refusal, "");
        EXPECT_EQ(driver()->StreamEndCapture(stream, &graph), CUDA_SUCCESS) << own_thread << " " << kind << " " << mode;
        if (graph != nullptr) driver()->GraphDestroy(graph);
        driver()->StreamDestroy(stream);
      }
    }
  }
}

// This test in a separate process: the main thread ends the process while another thread continues to launch.
TEST_F(DriverRules, AnOrderlyExitWhileAnotherThreadLaunches) {
  static constexpr const char* kInside = "QUERN_TEST_EXIT";
  if (std::getenv(kInside) != nullptr) {
    auto* const work = new Work(driver(), small());
    auto* const plan = new Plan<Gather>(runtime().prepare(work->problem));
    CUcontext context = nullptr;
    driver()->CtxGetCurrent(&context);
    std::atomic<bool> launched{false};
    std::thread([&] {
      driver()->CtxSetCurrent(context);
      for (;; launched = true) plan->AnyPlan::launch(nullptr, work->args->data());
    }).detach();
    while (!launched) std::this_thread::yield();
    std::exit(0);
  }
  const std::string command =
      cat(kInside, "=1 /proc/", getpid(), "/exe --gtest_brief=1 --gtest_filter=DriverRules.AnOrderlyExit*");
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(DriverRules, PlanOutlivesItsRuntime) {
  Work work(driver(), small());
  Plan<Gather> plan;
  {
    Runtime shorter(options());
    plan = shorter.prepare(work.problem);
  }
  plan.AnyPlan::launch(nullptr, work.args->data());
  synchronize();
  EXPECT_TRUE(work.right());
}

TEST_F(DriverRules, TwoRuntimesSideBySide) {
  Work work(driver(), small());
  Runtime other(options());
  const auto first = runtime().prepare(work.problem);
  const auto second = other.prepare(work.problem);
  first.AnyPlan::launch(nullptr, work.args->data());
  second.AnyPlan::launch(nullptr, work.args->data());
  synchronize();
  EXPECT_TRUE(work.right());
}

TEST_F(DriverRules, AContextThatIsNotThePrimaryOne) {
  using Create = CUresult (*)(CUcontext*, unsigned, CUdevice);
  using Destroy = CUresult (*)(CUcontext);
  void* library = dlopen(driver().origin().c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto create = reinterpret_cast<Create>(dlsym(library, "cuCtxCreate_v2"));
  const auto destroy = reinterpret_cast<Destroy>(dlsym(library, "cuCtxDestroy_v2"));
  ASSERT_NE(create, nullptr);
  const auto primary = runtime().prepare(small());
  CUcontext own = nullptr;
  ASSERT_EQ(create(&own, 0, 0), CUDA_SUCCESS);
  {
    Work work(driver(), small());
    const auto plan = runtime().prepare(work.problem);
    EXPECT_NE(plan.state(), primary.state()) << "a plan belongs to its context";
    plan.AnyPlan::launch(nullptr, work.args->data());
    synchronize();
    EXPECT_TRUE(work.right());
  }
  CUcontext current = nullptr;
  driver()->CtxGetCurrent(&current);
  EXPECT_EQ(current, own) << "a library call must not change the current context";
  EXPECT_EQ(destroy(own), CUDA_SUCCESS);
}

TEST_F(DriverRules, EveryLegalConfigGivesTheSameBits) {
  Pointwise problem;
  problem.rows = 37;
  problem.width = 264;
  problem.op = PointwiseOp::add_mul_act;
  problem.activation = Activation::gelu;
  HostOperands host(Pointwise::family(), &problem);
  host.generate(5, true);
  const AnyArgs scalars(Pointwise::family());
  DeviceOperands device(driver(), host);
  const AnyArgs args = device.args(scalars);
  HostOperands first = host;
  bool have_first = false;
  const int out = 3;
  for (const char* config : {"", "form=2", "form=1", "unroll=4", "threads=512,unroll=2", "vector=8",
                             "load_stream=0,store_stream=0", "persistent=1,threads=64,blocks_per_sm=1"}) {
    device.upload(host);
    runtime().prepare_any(Pointwise::family(), &problem, {kCurrentDevice, config}).launch(nullptr, args.data());
    synchronize();
    HostOperands got = host;
    device.download(got);
    if (!have_first) first = got, have_first = true;
    EXPECT_TRUE(std::equal(got.data(out), got.data(out) + got.bytes(out), first.data(out))) << config;
  }
}

}  // namespace
}  // namespace quern::test
