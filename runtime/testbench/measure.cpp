#include "testbench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "testbench/estimate.h"

namespace quern {
namespace {

constexpr int kLook = 3;           // samples after which a hopeless candidate is dropped
constexpr double kHopeless = 1.3;  // times the best: more than any noise

Timing summarize(std::vector<double> samples, const char* method) {
  const std::vector<double>& all = samples;
  return {median(all), quantile(all, 0.2), quantile(all, 0.8), std::move(samples), method};
}

using Clock = std::chrono::steady_clock;

double ns_a_call(const std::function<void()>& call, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
}

}  // namespace

Timing measure(const Driver& driver, const Calls& calls, const Effort& effort) {
  const std::unique_ptr<Sampler> sampler = make_sampler(driver, calls);
  std::vector<double> samples;
  for (int i = 0; i < effort.samples; ++i) {
    if (i == kLook && median(samples) > kHopeless * effort.hopeless_us) break;
    samples.push_back(sampler->us());
  }
  return summarize(std::move(samples), sampler->method());
}

std::vector<Round> measure_rounds(Sampler& a, Sampler& b, int rounds) {
  std::vector<Round> all;
  for (int i = 0; i < rounds; ++i) {
    Round round;
    round.a1 = a.us();
    round.b1 = b.us();
    round.b2 = b.us();
    round.a2 = a.us();
    all.push_back(round);
  }
  return all;
}

double gigabytes_a_second(std::int64_t bytes, double us) { return us > 0 ? static_cast<double>(bytes) / us * 1e-3 : 0; }

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
