// The limits hold if each process writes one entry, and during reads of entries that are evicted.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "store/support.h"

namespace quern::cache {
namespace {

constexpr std::uint64_t kManyBytes = std::uint64_t{1} << 30;

StoreSettings limited(const std::string& dir, const Limits& limits) {
  StoreSettings settings = in(dir);
  settings.writer.limits = limits;
  return settings;
}

// ---- processes of one entry

// DIR BYTES ENTRIES NUMBER TALLY
int write_one(const Arguments& arguments) {
  const Limits limits{std::stoull(arguments[1]), std::stoull(arguments[2])};
  const int number = std::stoi(arguments[3]);
  Store store(limited(arguments[0], limits), silent());
  const auto found = store.get_or_build(key_of(number), [&] { return image_of(number); });
  Tally(arguments[4]).add(store.counters());
  return why_wrong(*found.entry, number).empty() ? 0 : 1;
}
const WorkerRow kWriteOne("write_one", write_one);

// The account while no file can be added: files are added under this lock.
Limits stored_now(const std::string& dir) {
  const OpenFile account(real_file_system(), dir + "/.usage", O_RDWR);
  if (account.error() != 0) return {0, 0};
  while (real_file_system().try_lock(account.get()) != 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  return stored_in(dir);
}

void write_one_each(const Limits& limits, const char* what) {
  const int processes = sized(1000, 100);
  constexpr std::size_t kAtATime = 8;
  const std::uint64_t biggest = 9000;  // of an entry of image_of: two parts of up to 4,100 bytes, and the rest
  const Scratch scratch;
  const Stopwatch watch;
  const Tally tally(scratch / "tally");
  std::deque<pid_t> running;
  Limits most{0, 0};
  for (int number = 0; number < processes || !running.empty();) {
    if (number < processes)
      running.push_back(
          start_worker("write_one", {scratch / "cache", std::to_string(limits.bytes), std::to_string(limits.entries),
                                     std::to_string(number), scratch / "tally"}));
    number += number < processes;
    if (running.size() < kAtATime && number < processes) continue;
    EXPECT_EQ(wait_for(running.front()), 0);
    running.pop_front();
    const Limits now = stored_now(scratch / "cache");
    most = {std::max(most.bytes, now.bytes), std::max(most.entries, now.entries)};
  }
  EXPECT_LE(most.bytes, limits.bytes + biggest);
  EXPECT_LE(most.entries, limits.entries + 1);
  EXPECT_GT(tally.sum("evictions"), 0U);
  EXPECT_EQ(tally.sum("not_stored") + tally.sum("failures"), 0U);
  EXPECT_EQ(left_behind(scratch / "cache"), std::vector<std::string>{});
  EXPECT_EQ(why_account_short(scratch / "cache"), "");
  figures(cat("limit of ", what, ": ", processes, " processes of one entry, ", kAtATime, " at a time; at most ",
              most.bytes, " bytes and ", most.entries, " entries, ", tally.sum("evictions"), " evicted; ",
              watch.text()));
}

TEST(Limits, OfEntriesHoldOverShortProcesses) { write_one_each({kManyBytes, 40}, "40 entries"); }
TEST(Limits, OfBytesHoldOverShortProcesses) { write_one_each({100'000, 100'000}, "100,000 bytes"); }

// ---- readers of evicted entries

constexpr int kCrowdedKeys = 32;
constexpr Limits kCrowded{kManyBytes, 8};  // a quarter of the keys

struct Reads {
  int hits = 0, misses = 0, wrong = 0;
};

// Each round uses a new store: a look-up, and a build on a miss.
Reads read_victims(const std::string& dir, int rounds, std::uint64_t seed, const Tally& tally) {
  Reads reads;
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    const int number = below(random, kCrowdedKeys);
    Store store(limited(dir, kCrowded), silent());
    const auto found = store.find(key_of(number));
    ++(found ? reads.hits : reads.misses);
    if (found && !why_wrong(*found, number).empty()) ++reads.wrong;
    const auto built = store.get_or_build(key_of(number), [&] { return image_of(number); });
    if (!why_wrong(*built.entry, number).empty()) ++reads.wrong;
    tally.add(store.counters());
  }
  return reads;
}

// DIR ROUNDS SEED TALLY
int read_in_a_process(const Arguments& arguments) {
  return read_victims(arguments[0], std::stoi(arguments[1]), std::stoull(arguments[2]), Tally(arguments[3])).wrong;
}
const WorkerRow kReadInAProcess("read_in_a_process", read_in_a_process);

TEST(Limits, EvictionHurtsNoReader) {
  constexpr int kThreads = 16, kProcesses = 2;
  const int rounds = sized(1000, 60);
  const Scratch scratch;
  const std::string dir = scratch / "cache";
  const Tally tally(scratch / "tally");
  const Stopwatch watch;
  std::vector<pid_t> processes;
  std::vector<std::thread> threads;
  std::atomic<int> hits{0}, misses{0}, wrong{0};
  for (int i = 0; i < kProcesses; ++i)
    processes.push_back(
        start_worker("read_in_a_process", {dir, std::to_string(rounds), std::to_string(100 + i), scratch / "tally"}));
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Reads reads = read_victims(dir, rounds, static_cast<std::uint64_t>(i), tally);
      hits += reads.hits;
      misses += reads.misses;
      wrong += reads.wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const pid_t process : processes) EXPECT_EQ(wait_for(process), 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
  EXPECT_GT(tally.sum("evictions"), 0U);
  for (const char* name : {"failures", "damaged", "foreign", "unreadable", "untrusted"})
    EXPECT_EQ(tally.sum(name), 0U) << name;
  EXPECT_LE(stored_in(dir).entries, kCrowded.entries);
  EXPECT_EQ(why_account_short(dir), "");
  figures(cat("eviction during reads by ", kThreads, " readers and ", kProcesses, " processes: ", hits.load(),
              " hits and ", misses.load(), " misses in the threads, ", tally.sum("evictions"), " evicted, ",
              tally.sum("not_stored"), " not stored; ", watch.text()));
}

}  // namespace
}  // namespace quern::cache
