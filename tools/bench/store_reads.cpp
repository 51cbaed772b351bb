// Reads of images and plans that are in memory, by one thread and by several.
#include <cstring>
#include <functional>
#include <latch>
#include <thread>

#include "api/images.h"
#include "base/text.h"
#include "plan/variants.h"
#include "store_bench.h"

namespace quern::bench {
namespace {

constexpr int kRounds = 9;
constexpr double kWindowNs = 40e6;
constexpr int kChunk = 256;
constexpr std::size_t kDistinct = 64;

// The `i`th call by thread `thread`.
using Call = std::function<void(std::size_t thread, std::size_t i)>;

// Calls per nanosecond by one thread, over one window. The loop is a template over the call, so that it contains
// nothing else.
template <class Work>
double rate(const Work& work, std::size_t thread) {
  std::size_t calls = 0;
  for (; calls < 2000; ++calls) work(thread, calls);
  calls = 0;
  const Stopwatch watch;
  double ns = 0;
  while (ns < kWindowNs) {
    for (int i = 0; i < kChunk; ++i) work(thread, calls++);
    ns = watch.ns();
  }
  return static_cast<double>(calls) / ns;
}

// By `count` threads together.
template <class Work>
double rate_of(int count, const Place& place, const Work& work) {
  std::vector<double> rates(static_cast<std::size_t>(count));
  std::latch start(count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < rates.size(); ++thread) {
      threads.emplace_back([&, thread] {
        place.make_current();
        start.arrive_and_wait();
        rates[thread] = rate(work, thread);
      });
    }
  }
  double sum = 0;
  for (const double own : rates) sum += own;
  return sum;
}

// 1, 2, 4, … up to the number of cores.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count <= std::min<int>(most, static_cast<int>(std::thread::hardware_concurrency())); count *= 2)
    counts.push_back(count);
  return counts;
}

// Collects the rates of several kinds of call in rounds, so that drift affects all of them equally.
class Table {
 public:
  Table(const Place& place, const Settings& settings) : place_(place), counts_(thread_counts(settings.threads)) {}

  // `floor`: one thread is enough, as scaling is not measured.
  template <class Work>
  void measure(const std::string& what, const Work& work, bool floor = false) {
    Kind& kind = kind_of(what);
    for (std::size_t i = 0; i < (floor ? 1 : counts_.size()); ++i)
      kind.rates[i].push_back(rate_of(counts_[i], place_, work));
  }

  std::vector<Row> rows() const {
    std::vector<Row> rows;
    for (const Kind& kind : kinds_) {
      for (std::size_t i = 0; i < counts_.size() && !kind.rates[i].empty(); ++i) rows.push_back(row(kind, i));
    }
    return rows;
  }

 private:
  struct Kind {
    std::string what;
    std::vector<std::vector<double>> rates;  // one list for each thread count
  };

  Kind& kind_of(const std::string& what) {
    for (Kind& kind : kinds_) {
      if (kind.what == what) return kind;
    }
    return kinds_.emplace_back(Kind{what, std::vector<std::vector<double>>(counts_.size())});
  }

  Row row(const Kind& kind, std::size_t i) const {
    const double calls_a_ns = median(kind.rates[i]);
    return Row()
        .add("what", kind.what)
        .add("threads", counts_[i])
        .add("ns", Value(counts_[i] / calls_a_ns, 1))
        .add("millions_a_second", Value(calls_a_ns * 1e3, 1))
        .add("scaling", Value(calls_a_ns / median(kind.rates[0]), 2));
  }

  const Place& place_;
  const std::vector<int> counts_;
  std::vector<Kind> kinds_;
};

cache::Key first_key(Runtime& runtime, const Place& place) {
  const AnyProblem problem = runtime.parse(problems().front());
  const Family& family = problem.family();
  const Step& step = family.steps[0];
  const Target& target = place.device.target;
  const auto variants = variants_of(family, step, problem.data(), target, model_of(place.device), {});
  return obtain_image(runtime.state(), {&family, &step, problem.data(), target, variants.front()}).key;
}

// Keys as long as a real one.
std::vector<cache::Key> distinct_keys(const cache::Key& real) {
  std::vector<cache::Key> keys;
  for (std::size_t i = 0; i < kDistinct; ++i)
    keys.push_back(
        cache::make_key(cat(real.what, cache::KeyText().field("number", std::to_string(i)).text()), real.who));
  return keys;
}

bool equal_text(const cache::Key& left, const cache::Key& right) {
  return left.what.size() == right.what.size() &&
         std::memcmp(left.what.data(), right.what.data(), left.what.size()) == 0;
}

}  // namespace

Section measure_memory_hits(const Place& place, const Settings& settings) {
  Runtime runtime(options_for(settings.images, place.driver));
  const cache::Key key = first_key(runtime, place);
  const std::vector<cache::Key> keys = distinct_keys(key);
  const auto entry = runtime.state().store.find(key);
  cache::StoreSettings in_memory;
  in_memory.mode = CacheMode::off;
  cache::Store store(in_memory, Log(LogLevel::warning, {}));
  for (const cache::Key& one : keys) store.put(one, *entry);
  store.put(key, *entry);
  const cache::Key copy = key;
  std::atomic<bool> same{true};
  const std::shared_ptr<const cache::Entry> resident = store.find(key);
  const auto one_key = [&](std::size_t, std::size_t) { return store.find(key); };
  const auto own_keys = [&](std::size_t thread, std::size_t i) { return store.find(keys[(thread + i) % kDistinct]); };
  const auto floor = [&](std::size_t, std::size_t) {
    const std::shared_ptr<const cache::Entry> held = resident;  // NOLINT(performance-unnecessary-copy-initialization)
    if (held == nullptr || !equal_text(key, copy)) same = false;
  };
  Table table(place, settings);
  for (int round = 0; round < kRounds; ++round) {
    table.measure("floor: compare the texts, copy a shared_ptr", floor, true);
    table.measure("find, one key", one_key);
    table.measure("find, 64 keys", own_keys);
  }
  return {cat("memory hit (key text of ", key.what.size() + key.who.size(), " bytes)"), table.rows()};
}

Section measure_known_problems(const Place& place, const Settings& settings) {
  Runtime runtime(options_for(settings.images, place.driver));
  std::vector<AnyProblem> known;
  for (std::size_t i = 0; i < kDistinct; ++i) {
    known.push_back(runtime.parse(problems().front()));
    known.back().set("count", std::to_string(i + 1));
    runtime.prepare_any(known.back().family(), known.back().data());
  }
  const auto ask = [&](std::size_t i) { return runtime.prepare_any(known[i].family(), known[i].data()); };
  const auto one_problem = [&](std::size_t, std::size_t) { return ask(0); };
  const auto many = [&](std::size_t thread, std::size_t i) { return ask((thread + i) % kDistinct); };
  const auto floor = [&](std::size_t, std::size_t) { return current_context_id(*place.driver); };
  Table table(place, settings);
  for (int round = 0; round < kRounds; ++round) {
    table.measure("floor: cuCtxGetCurrent, cuCtxGetId", floor);
    table.measure("prepare, one problem", one_problem);
    table.measure("prepare, 64 problems", many);
  }
  return {"prepare of a known problem", table.rows()};
}

}  // namespace quern::bench
