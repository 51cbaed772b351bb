// Cost of the host driver: a switch between fibers, and a step of a CUDA thread from barrier to barrier.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include "compiler/host_compiler.h"
#include "driver/find_host_driver.h"
#include "hostdriver/exec/fiber.h"
#include "quern/runtime.h"
#include "support/test_kernel.h"

namespace quern {
namespace {

struct Pair {
  host::Continuation home;
  host::Fiber fiber;
};

void switch_between_fibers(benchmark::State& state) {
  Pair pair;
  pair.fiber.start(
      [](void* argument) {
        Pair& both = *static_cast<Pair*>(argument);
        for (;;) both.fiber.switch_to(both.home);
      },
      &pair);
  for (auto _ : state) pair.home.switch_to(pair.fiber);
  state.SetItemsProcessed(2 * state.iterations());  // two switches
}
BENCHMARK(switch_between_fibers);

// One core, so that the rate is per core.
class Kernel {
 public:
  explicit Kernel(const std::string& body)
      : driver_(open_host_driver(Environment::read())),
        context_(*driver_, 0),
        log_(LogLevel::warning, {}),
        compiler_(Options{}, Environment::read(), log_),
        kernel_(compiler_, driver_, body) {
    driver_->check(driver_->host().Configure("workers=1"), Stage::tool, "quernHostConfigure");
  }
  void run(const test::Shape& shape, int steps) {
    kernel_.run(shape, static_cast<int>(shape.blocks * shape.threads), steps);
  }

 private:
  std::shared_ptr<Driver> driver_;
  PrimaryContext context_;
  Log log_;
  Compiler compiler_;
  test::TestKernel kernel_;
};

void steps(benchmark::State& state, const std::string& body) {
  constexpr int kSteps = 1000;
  const test::Shape shape{8, static_cast<unsigned>(state.range(0))};
  Kernel kernel(body);
  for (auto _ : state) kernel.run(shape, kSteps);
  state.SetItemsProcessed(state.iterations() * shape.blocks * shape.threads * kSteps);
}

void barrier_steps(benchmark::State& state) { steps(state, "for (int i = 0; i < n; ++i) __syncthreads();"); }
BENCHMARK(barrier_steps)->Arg(32)->Arg(128)->Arg(256)->Arg(1024)->UseRealTime();

void shuffle_steps(benchmark::State& state) {
  steps(state,
        "int v = threadIdx.x; for (int i = 0; i < n; ++i) v += __shfl_xor_sync(~0u, v, 1); "
        "store<4>(out + blockIdx.x * blockDim.x + threadIdx.x, {{unsigned(v)}});");
}
BENCHMARK(shuffle_steps)->Arg(128)->UseRealTime();

// Threads that do not wait.
void threads(benchmark::State& state) {
  Kernel kernel("store<4>(out + blockIdx.x * blockDim.x + threadIdx.x, {{1}});");
  const test::Shape shape{1000, 128};
  for (auto _ : state) kernel.run(shape, 0);
  state.SetItemsProcessed(state.iterations() * shape.blocks * shape.threads);
}
BENCHMARK(threads)->UseRealTime();

}  // namespace
}  // namespace quern

BENCHMARK_MAIN();
