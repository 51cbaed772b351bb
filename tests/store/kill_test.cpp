// SIGKILL before every file system call, in the middle of every write, and at random: the remaining state is
// consistent.
#include <gtest/gtest.h>

#include <filesystem>

#include "store/killing_files.h"
#include "store/scenarios.h"

namespace quern::cache {
namespace {

// Copies everything of a directory that the store depends on: names, bytes, modes and stamps.
void copy_with_stamps(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  if (!fs::exists(from)) return;
  fs::copy(from, to, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path copy = fs::path(to) / fs::relative(entry.path(), from);
    if (!entry.is_directory()) fs::last_write_time(copy, fs::last_write_time(entry.path()));
  }
}

// The number of kills before the scenario completed.
int kill_everywhere(const Scenario& scenario, Moment moment) {
  const Scratch prepared;
  scenario.prepare(prepared / "cache");
  for (int at = 0;; ++at) {
    SCOPED_TRACE(cat(scenario.name, ", killed at ", at));
    const Scratch scratch;
    copy_with_stamps(prepared / "cache", scratch / "cache");
    const int status = wait_for(start_fork([&] {
      UnsyncedFiles unsynced;
      KillingFiles files(at, moment, unsynced);
      scenario.run(scratch / "cache", files);
      return 0;
    }));
    EXPECT_EQ(why_account_short(scratch / "cache"), "");
    expect_scenario_sound(scratch / "cache");
    if (status != -SIGKILL) {
      EXPECT_EQ(status, 0);
      return at;
    }
    if (testing::Test::HasFailure()) return at;
  }
}

void kill_each_scenario(Moment moment, const char* what) {
  const Stopwatch watch;
  std::string line;
  int kills = 0;
  for (const Scenario& scenario : scenarios()) {
    const int here = kill_everywhere(scenario, moment);
    line += cat(line.empty() ? "" : ", ", scenario.name, " ", here);
    kills += here;
  }
  EXPECT_GT(kills, 0);
  figures(cat("kill ", what, ": ", kills, " kills (", line, "); ", watch.text()));
}

TEST(Kill, BeforeEveryCall) { kill_each_scenario(Moment::before_a_call, "before every call"); }
TEST(Kill, InEveryWrite) { kill_each_scenario(Moment::in_a_write, "in every write"); }

// ---- at random

constexpr int kKeysAtRandom = 6;

StoreSettings crowded(const std::string& dir) {
  StoreSettings settings = in(dir);
  settings.writer.limits.entries = 4;
  return settings;
}

// A new store's result for one key.
void do_something(const std::string& dir, Random& random) {
  Store store(crowded(dir), silent());
  const int number = below(random, kKeysAtRandom);
  const Key key = key_of(number);
  switch (below(random, 12)) {
    case 0:
      store.clear();
      break;
    case 1:
      store.reject(key, store.find(key));
      break;
    case 2:
      store.tidy(Limits{std::uint64_t{1} << 30, 2});
      break;
    case 3:
      store.find(key);
      break;
    case 4:
      try {
        store.get_or_build(key_of(kKeysAtRandom), &fail_for_good);
      } catch (const Error&) {
      }
      break;
    case 5:
      store.put(key, marked(image_of(number)));
      break;
    case 6:
    case 7:
      store.put(key, image_of(number));
      break;
    default:
      store.get_or_build(key, [&] { return image_of(number); });
  }
}

int do_things(const std::string& dir, std::uint64_t seed) {
  const auto loop = [&dir](std::uint64_t own) {
    for (Random random(own);;) do_something(dir, random);
  };
  std::thread second(loop, seed + 1);
  loop(seed);
  return 0;
}

// Each cycle continues with the files of the previous one.
TEST(Kill, AtRandom) {
  const int cycles = sized(10'000, 200);
  const std::uint64_t seed = 20'000;
  const Scratch scratch;
  const std::string dir = scratch / "cache";
  const Stopwatch watch;
  Random random(seed);
  std::size_t left = 0;
  for (int cycle = 0; cycle < cycles && !HasFailure(); ++cycle) {
    SCOPED_TRACE(cat("cycle ", cycle, " of seed ", seed));
    const std::uint64_t own = random();
    const pid_t process = start_fork([&] { return do_things(dir, own); });
    std::this_thread::sleep_for(std::chrono::microseconds(below(random, 20'000)));
    kill_and_wait(process);
    left += left_behind(dir).size();
    EXPECT_EQ(why_account_short(dir), "");
    expect_sound(dir, kKeysAtRandom);
  }
  figures(cat("kill at random: ", cycles, " cycles, seed ", seed, ", ", left, " files left behind and swept; ",
              watch.text()));
}

}  // namespace
}  // namespace quern::cache
