#include "testbench/sampler.h"

#include <algorithm>

#include "base/text.h"
#include "driver/stream.h"
#include "testbench/l2_flush.h"

namespace quern {
namespace {

// Total of the rotating sets: several times the largest L2 of current GPUs, so that no part of a set is still cached
// when it is used again.
constexpr std::int64_t kRotatingBytes = 256'000'000;
constexpr int kSmallSets = 4;                          // for calls so small that thousands of sets would be needed
constexpr std::int64_t kMostSetBytes = 4'000'000'000;  // of more than two sets
constexpr int kFlushCalls = 40;
constexpr int kWarmups = 2;

bool is_small(std::int64_t bytes) { return 400 * bytes < 180'000'000; }

void require_nodes(const Graph& graph, int calls) {
  if (graph.nodes() >= static_cast<std::size_t>(calls)) return;
  throw Error(Code::driver, Stage::tool, "the captured graph has fewer nodes than calls: nothing was measured");
}

// Calls per graph: enough to make the graph's launch overhead negligible, few enough to be fast.
int calls_a_graph(const Calls& calls) {
  if (calls.emulated) return 1;
  const double guess_us = std::max(2.0, static_cast<double>(calls.bytes) / 3.5e6);
  const int wanted = static_cast<int>(std::clamp(2000.0 / guess_us, 2.0, 400.0));
  return calls.cold.sets * ((wanted + calls.cold.sets - 1) / calls.cold.sets);
}

// Captures the calls in sequence, each on the next set.
class Replay : public Sampler {
 public:
  Replay(const Driver& driver, const Calls& calls)
      : driver_(driver),
        calls_(calls),
        count_(calls_a_graph(calls)),
        graph_(driver, [&](CUstream stream) { record(stream); }),
        stream_(driver) {
    require_nodes(graph_, count_);
    for (int i = 0; i < (calls.emulated ? 0 : kWarmups); ++i) us();
  }
  double us() override {
    return time_us(driver_, stream_.get(), [&] { graph_.launch(stream_.get()); }) / count_;
  }
  const char* method() const override { return calls_.regime == Regime::warm ? "warm" : "rotate"; }

 private:
  void record(CUstream stream) const {
    for (int i = 0; i < count_; ++i) calls_.enqueue(stream, i % calls_.cold.sets);
  }
  const Driver& driver_;
  const Calls calls_;  // keeps the kernels of the graph alive
  const int count_;
  const Graph graph_;
  const StreamOwner stream_;
};

// Flushes L2 before each call; the time of the flushes alone is measured with each sample and subtracted.
class Flushed : public Sampler {
 public:
  Flushed(const Driver& driver, const Calls& calls)
      : driver_(driver),
        calls_(calls),
        flush_(driver, calls.l2_bytes),
        with_(driver, [&](CUstream stream) { record(stream, true); }),
        without_(driver, [&](CUstream stream) { record(stream, false); }),
        stream_(driver) {
    require_nodes(with_, (flush_.nodes() + 1) * kFlushCalls);
    for (int i = 0; i < kWarmups; ++i) us();
  }
  double us() override {
    const double both = time_us(driver_, stream_.get(), [&] { with_.launch(stream_.get()); });
    const double alone = time_us(driver_, stream_.get(), [&] { without_.launch(stream_.get()); });
    return (both - alone) / kFlushCalls;
  }
  const char* method() const override { return "flush"; }

 private:
  void record(CUstream stream, bool with_calls) const {
    for (int i = 0; i < kFlushCalls; ++i) {
      flush_.enqueue(stream);
      if (with_calls) calls_.enqueue(stream, i % calls_.cold.sets);
    }
  }
  const Driver& driver_;
  const Calls calls_;  // keeps the kernels of the graph alive
  const L2Flush flush_;
  const Graph with_;
  const Graph without_;
  const StreamOwner stream_;
};

}  // namespace

const char* name(Regime regime) { return regime == Regime::cold ? "cold" : "warm"; }

Regime parse_regime(std::string_view text) {
  for (const Regime regime : {Regime::cold, Regime::warm}) {
    if (text == name(regime)) return regime;
  }
  throw Error(Code::bad_input, Stage::tool, cat("the regime \"", text, "\" is unknown; there are cold and warm"));
}

ColdSets cold_sets(std::int64_t bytes, std::int64_t set_bytes, std::int64_t l2_bytes) {
  const std::int64_t total = std::max(kRotatingBytes, 4 * l2_bytes);
  const std::int64_t sets =
      is_small(bytes) ? kSmallSets : std::clamp<std::int64_t>((total + bytes - 1) / bytes, 2, 400);
  if (sets > 2 && sets * set_bytes > kMostSetBytes) return {1, true};
  return {static_cast<int>(sets), is_small(bytes)};
}

std::unique_ptr<Sampler> make_sampler(const Driver& driver, const Calls& calls) {
  const bool flushed = calls.regime == Regime::cold && calls.cold.flush && !calls.emulated;
  if (flushed) return std::make_unique<Flushed>(driver, calls);
  return std::make_unique<Replay>(driver, calls);
}

}  // namespace quern
