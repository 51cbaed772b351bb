#include "tuner/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>

#include "driver/stream.h"

namespace quern {
namespace {

// Total of the rotating sets: several times any L2 so far, so that nothing of a set is left when its turn comes.
constexpr std::int64_t kRotatingBytes = 256'000'000;
constexpr int kSamples = 21;
constexpr int kWarmups = 2;
constexpr int kSmallSets = 4;  // where calls are so small that rotating enough of them would take thousands
constexpr int kFlushCalls = 40;

bool is_small(std::int64_t bytes) { return 400 * bytes < 180'000'000; }

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

Timing summarize(const std::vector<double>& samples, const char* method) {
  return {quantile(samples, 0.5), quantile(samples, 0.2), quantile(samples, 0.8), static_cast<int>(samples.size()),
          method};
}

void require_nodes(const Graph& graph, int calls) {
  if (graph.nodes() >= static_cast<std::size_t>(calls)) return;
  throw Error(Code::driver, Stage::tool, "the captured graph has fewer nodes than calls: nothing was measured");
}

// Calls a graph: enough that the graph's own start does not count, few enough to stay quick.
int calls_a_graph(int sets, std::int64_t bytes) {
  const double guess_us = std::max(2.0, static_cast<double>(bytes) / 3.5e6);
  const int wanted = static_cast<int>(std::clamp(2000.0 / guess_us, 2.0, 400.0));
  return sets * ((wanted + sets - 1) / sets);
}

Timing measure_rotating(const Driver& driver, const Enqueue& enqueue, int sets, std::int64_t bytes) {
  const int calls = calls_a_graph(sets, bytes);
  const Graph graph(driver, [&](CUstream stream) {
    for (int i = 0; i < calls; ++i) enqueue(stream, i % sets);
  });
  require_nodes(graph, calls);
  const StreamOwner stream(driver);
  std::vector<double> samples;
  for (int i = 0; i < kSamples + kWarmups; ++i) {
    const double us = time_us(driver, stream.get(), [&] { graph.launch(stream.get()); }) / calls;
    if (i >= kWarmups) samples.push_back(us);
  }
  return summarize(samples, "rotate");
}

Timing measure_flushed(const Driver& driver, const Enqueue& enqueue, int sets, std::int64_t l2_bytes) {
  const std::size_t flush_bytes = static_cast<std::size_t>(std::max<std::int64_t>(128 << 20, 2 * l2_bytes));
  const DeviceMemory flush(driver, flush_bytes);
  const auto record = [&](CUstream stream, bool call) {
    for (int i = 0; i < kFlushCalls; ++i) {
      driver.check(driver->MemsetD8Async(flush.get(), 0, flush_bytes, stream), Stage::tool, "cuMemsetD8Async");
      if (call) enqueue(stream, i % sets);
    }
  };
  const Graph with(driver, [&](CUstream stream) { record(stream, true); });
  const Graph without(driver, [&](CUstream stream) { record(stream, false); });
  require_nodes(with, 2 * kFlushCalls);
  const StreamOwner stream(driver);
  std::vector<double> samples;
  for (int i = 0; i < kSamples + kWarmups; ++i) {
    const double both = time_us(driver, stream.get(), [&] { with.launch(stream.get()); });
    const double alone = time_us(driver, stream.get(), [&] { without.launch(stream.get()); });
    if (i >= kWarmups) samples.push_back((both - alone) / kFlushCalls);
  }
  return summarize(samples, "flush");
}

using Clock = std::chrono::steady_clock;

double ns_a_call(const std::function<void()>& call, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
}

// Random words: zeros can make a copy look faster than it is.
void fill_random(const Driver& driver, const DeviceMemory& memory, std::size_t bytes) {
  std::vector<std::uint64_t> words(std::size_t{1} << 20);
  std::mt19937_64 random(7);
  for (std::uint64_t& word : words) word = random();
  const std::size_t step = words.size() * sizeof(words[0]);
  for (std::size_t at = 0; at < bytes; at += step)
    driver.check(driver->MemcpyHtoD(memory.get() + at, words.data(), std::min(step, bytes - at)), Stage::tool,
                 "cuMemcpyHtoD");
}

}  // namespace

int rotating_sets(std::int64_t bytes, std::int64_t l2_bytes) {
  if (is_small(bytes)) return kSmallSets;
  const std::int64_t total = std::max(kRotatingBytes, 4 * l2_bytes);
  return static_cast<int>(std::clamp<std::int64_t>((total + bytes - 1) / bytes, 2, 400));
}

Timing measure_cold(const Driver& driver, const Enqueue& enqueue, int sets, std::int64_t bytes, std::int64_t l2_bytes) {
  if (is_small(bytes)) return measure_flushed(driver, enqueue, sets, l2_bytes);
  return measure_rotating(driver, enqueue, sets, bytes);
}

CopyFloor measure_copy(const Driver& driver, std::int64_t bytes, std::int64_t l2_bytes, const CopyKernel& kernel) {
  const std::int64_t half = std::max<std::int64_t>(16, bytes / 2 / 16 * 16);
  const int sets = rotating_sets(2 * half, l2_bytes);
  std::vector<std::unique_ptr<DeviceMemory>> from;
  std::vector<std::unique_ptr<DeviceMemory>> to;
  for (int i = 0; i < sets; ++i) {
    from.push_back(std::make_unique<DeviceMemory>(driver, static_cast<std::size_t>(half)));
    to.push_back(std::make_unique<DeviceMemory>(driver, static_cast<std::size_t>(half)));
    fill_random(driver, *from.back(), static_cast<std::size_t>(half));
  }
  const auto at = [](const auto& all, int set) -> const DeviceMemory& { return *all[static_cast<std::size_t>(set)]; };
  const Enqueue by_driver = [&](CUstream stream, int set) {
    driver.check(
        driver->MemcpyDtoDAsync(at(to, set).get(), at(from, set).get(), static_cast<std::size_t>(half), stream),
        Stage::tool, "cuMemcpyDtoDAsync");
  };
  CopyFloor floor{measure_cold(driver, by_driver, sets, 2 * half, l2_bytes).us, "driver"};
  if (!kernel) return floor;
  const Enqueue by_kernel = [&](CUstream stream, int set) {
    kernel(stream, at(from, set).data(), at(to, set).data(), half);
  };
  const double us = measure_cold(driver, by_kernel, sets, 2 * half, l2_bytes).us;
  if (us < floor.us) floor = {us, "kernel"};
  return floor;
}

double measure_host_ns(const std::function<void()>& call) {
  ns_a_call(call, 1000);
  std::vector<double> blocks;
  for (int i = 0; i < 31; ++i) blocks.push_back(ns_a_call(call, 2000));
  return quantile(blocks, 0.5);
}

PairedNs measure_paired_ns(const std::function<void()>& a, const std::function<void()>& b,
                           const std::function<void()>& settle) {
  constexpr int kBlocks = 60;
  constexpr int kCalls = 200;
  const auto block = [&](const std::function<void()>& call) {
    const double ns = ns_a_call(call, kCalls);
    settle();
    return ns;
  };
  std::vector<double> first;
  std::vector<double> second;
  std::vector<double> differences;
  for (int i = -2; i < kBlocks; ++i) {
    const double a1 = block(a);
    const double b1 = block(b);
    const double b2 = block(b);
    const double a2 = block(a);
    if (i < 0) continue;
    first.push_back((a1 + a2) / 2);
    second.push_back((b1 + b2) / 2);
    differences.push_back(second.back() - first.back());
  }
  double mean = 0;
  for (const double d : differences) mean += d / kBlocks;
  double variance = 0;
  for (const double d : differences) variance += (d - mean) * (d - mean) / (kBlocks - 1);
  const double half_width = 2.0 * std::sqrt(variance / kBlocks);  // Student's t at 59 degrees of freedom: 2.001
  return {quantile(first, 0.5), quantile(second, 0.5), mean, mean - half_width, mean + half_width};
}

}  // namespace quern
