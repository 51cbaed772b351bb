// Two machines share one cold directory through a slow file server: each of them builds a key at most once, and no
// caller sees an error.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "store/two_views.h"

namespace quern::cache {
namespace {

constexpr std::chrono::milliseconds kViewBuildTime{1};

enum class Mood {
  calm,
  moody,  // calls for images sometimes return ESTALE or EBUSY
  wild,   // and so do calls for leases, locks and the account
};

// The rate of such errors. Each call is retried a few times, so that at this rate, and with the number of calls of the
// full test, no call should run out of retries where builds are counted.
int one_in(Mood mood) { return mood == Mood::moody ? 100 : 20; }

class MoodyFiles : public test::InterceptedFiles {
 public:
  MoodyFiles(Mood mood, std::uint64_t seed, FileSystem& to)
      : InterceptedFiles([this](const test::FileCall& call) { return answer(call); }, to), mood_(mood), random_(seed) {}
  int answers() const { return answers_; }

 private:
  long answer(const test::FileCall& call) {
    if (mood_ == Mood::calm || (mood_ == Mood::moody && !is_for_images(call))) return 0;
    const std::lock_guard lock(mutex_);
    if (below(random_, one_in(mood_)) != 0) return 0;
    ++answers_;
    return below(random_, 2) == 0 ? -ESTALE : -EBUSY;
  }
  static bool is_for_images(const test::FileCall& call) {
    const std::string_view name = call.name;
    if (call.path.empty()) return name == "read" || name == "write" || name == "sync";
    return call.path.find("/.leases") == std::string::npos && !call.path.ends_with("/.usage");
  }
  const Mood mood_;
  std::mutex mutex_;
  Random random_;
  std::atomic<int> answers_{0};
};

// Stores act as processes: each has its own memory, and shares only the disk with the others.
class Views {
 public:
  Views(Mood mood, std::chrono::milliseconds delay, int stores, int keys, std::uint64_t seed)
      : stores_(stores), keys_(keys), seed_(seed), shared_(delay) {
    for (int view = 0; view < 2; ++view) {
      views_[view] = std::make_unique<View>(shared_, view, scratch_.path());
      files_[view] = std::make_unique<MoodyFiles>(mood, seed + static_cast<std::uint64_t>(view), *views_[view]);
    }
  }

  // Every store asks for every key, all at once.
  void storm() {
    std::barrier check(2 * stores_);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2 * stores_; ++i)
      threads.emplace_back([this, i, &check] { ask(i % 2, seed_ + 100 + static_cast<std::uint64_t>(i), check); });
    for (std::thread& thread : threads) thread.join();
  }

  std::map<int, int> builds(int view) const { return logs_[view].counts(); }
  int total() const { return logs_[0].total() + logs_[1].total(); }
  int answers() const { return files_[0]->answers() + files_[1]->answers(); }
  int wrong() const { return wrong_; }
  int not_stored() const { return not_stored_; }
  std::string dir() const { return scratch_ / "cache"; }

 private:
  void ask(int view, std::uint64_t seed, std::barrier<>& check) {
    Random random(seed);
    Store store(in(dir()), silent(), *files_[view]);
    const std::vector<int> order = shuffled(keys_, random);
    check.arrive_and_wait();
    for (const int number : order) {
      try {
        const auto found = store.get_or_build(key_of(number), logs_[view].build(number, kViewBuildTime));
        if (!why_wrong(*found.entry, number).empty()) ++wrong_;
      } catch (...) {
        ++wrong_;
      }
    }
    not_stored_ += static_cast<int>(store.counters().not_stored);
  }

  const Scratch scratch_;
  const int stores_, keys_;
  const std::uint64_t seed_;
  SharedDirectory shared_;
  std::unique_ptr<View> views_[2];
  std::unique_ptr<MoodyFiles> files_[2];
  BuildLog logs_[2] = {BuildLog(scratch_ / "builds.0"), BuildLog(scratch_ / "builds.1")};
  std::atomic<int> wrong_{0};
  std::atomic<int> not_stored_{0};
};

void run(Mood mood, const char* name) {
  const std::chrono::milliseconds delay = sized(std::chrono::milliseconds(60'000), std::chrono::milliseconds(2000));
  const int stores = sized(32, 8), keys = sized(64, 16), rounds = sized(5, 2);
  const Stopwatch watch;
  int builds = 0, answers = 0, not_stored = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(cat(name, ", round ", round));
    Views views(mood, delay, stores, keys, static_cast<std::uint64_t>(1000 * round));
    views.storm();
    EXPECT_EQ(views.wrong(), 0);
    for (int view = 0; view < 2 && mood != Mood::wild; ++view)
      for (const auto& [number, count] : views.builds(view))
        EXPECT_EQ(count, 1) << "key " << number << ", view " << view;
    // If locks and leases fail too, some builds are duplicated: twice as many would mean no lease at all.
    if (mood == Mood::wild) {
      EXPECT_LE(views.total(), 2 * 2 * keys);
    }
    builds += views.total();
    answers += views.answers();
    not_stored += views.not_stored();
    // When all names are visible, both see each other's entries.
    if (round == 0) std::this_thread::sleep_for(delay);
    if (round == 0) expect_sound(views.dir(), keys);
  }
  figures(cat("two views, ", name, ": ", rounds, " rounds of 2 x ", stores, " stores and ", keys,
              " keys, names hidden for ", delay.count(), " ms; ", builds, " builds, ", answers,
              " calls answered ESTALE or EBUSY", mood == Mood::calm ? "" : cat(" (one in ", one_in(mood), ")"), ", ",
              not_stored, " images not stored; ", watch.text()));
}

TEST(TwoViews, WithLateNames) { run(Mood::calm, "late names"); }
TEST(TwoViews, WithErrorsForImages) { run(Mood::moody, "and errors for images"); }
TEST(TwoViews, WithErrorsEverywhere) { run(Mood::wild, "and errors everywhere"); }

}  // namespace
}  // namespace quern::cache
