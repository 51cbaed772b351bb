// Many processes start at once on an empty cache: each key is built once, and every process gets complete images.
#include <gtest/gtest.h>

#include "store/support.h"

namespace quern::cache {
namespace {

constexpr std::chrono::milliseconds kStormBuildTime{2};  // long enough for others to start waiting

// DIR LOG TALLY KEYS SEED GATE
int storm(const Arguments& arguments) {
  const BuildLog log(arguments[1]);
  Random random(std::stoul(arguments[4]));
  Store store(in(arguments[0]), silent());
  const std::vector<int> order = shuffled(std::stoi(arguments[3]), random);
  pass_barrier(arguments[5]);
  for (const int number : order) {
    const std::string wrong =
        why_wrong(*store.get_or_build(key_of(number), log.build(number, kStormBuildTime)).entry, number);
    if (!wrong.empty()) return std::fprintf(stderr, "%s\n", wrong.c_str()), 1;
  }
  Tally(arguments[2]).add(store.counters());
  return 0;
}
const WorkerRow kStorm("storm", storm);

struct StormTotals {
  int builds = 0;
  std::uint64_t waits = 0, hits = 0;
};

void run_storm(int processes, int keys, int round, StormTotals* totals) {
  const Scratch scratch;
  const BuildLog log(scratch / "builds");
  const Tally tally(scratch / "tally");
  ProcessBarrier barrier;
  std::vector<pid_t> started;
  for (int i = 0; i < processes; ++i) {
    const std::string seed = std::to_string(1000 * round + i);
    started.push_back(start_worker("storm", {scratch / "cache", scratch / "builds", scratch / "tally",
                                             std::to_string(keys), seed, barrier.argument()}));
  }
  barrier.let_through(processes);
  for (const pid_t process : started) EXPECT_EQ(wait_for(process), 0);
  const std::map<int, int> builds = log.counts();
  EXPECT_EQ(builds.size(), static_cast<std::size_t>(keys));
  for (const auto& [number, count] : builds) EXPECT_EQ(count, 1) << "key " << number << " in round " << round;
  for (const char* name : {"failures", "not_stored", "damaged", "foreign", "unreadable", "lease_timeouts"})
    EXPECT_EQ(tally.sum(name), 0U) << name;
  EXPECT_EQ(left_behind(scratch / "cache"), std::vector<std::string>{});
  EXPECT_EQ(why_account_short(scratch / "cache"), "");
  totals->builds += log.total();
  totals->waits += tally.sum("lease_waits");
  totals->hits += tally.sum("layer_hits");
}

TEST(Storm, EveryKeyIsBuiltOnce) {
  const int processes = 64, keys = 64, rounds = sized(10, 2);
  const Stopwatch watch;
  StormTotals totals;
  for (int round = 0; round < rounds; ++round) run_storm(processes, keys, round, &totals);
  figures(cat("storm: ", rounds, " rounds of ", processes, " processes and ", keys, " keys; ", totals.builds,
              " builds, ", totals.waits, " waits for another process, ", totals.hits, " hits; ", watch.text()));
}

}  // namespace
}  // namespace quern::cache
