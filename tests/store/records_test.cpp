// Record files that several processes append to, merge and read, and that are killed at any of their calls.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "store/killing_files.h"
#include "store/support.h"
#include "unit/records/support.h"

namespace quern::cache {
namespace {

using test::problems_in;
using test::record_for;

std::string problem_of(int process, int number) { return cat("gather rows=", process, " count=8 width=", number); }

int append(const std::string& path, const std::string& problem, FileSystem& files) {
  return RecordsFile(files, path).append(record_for(problem));
}

// What every process sees in the file at any time: whole records, and at most one line being written.
int damaged_in(const std::string& path) {
  int damaged = 0;
  for (const PassedLine& line : test::read_records(path).damaged) damaged += line.unfinished ? 0 : 1;
  return damaged;
}

TEST(Records, TwoProcessesAppendOthersMergeAndReadAndNothingIsLost) {
  const Scratch scratch;
  const std::string path = scratch / "records.jsonl";
  const int each = sized(2000, 150);
  const auto writer = [&](int process) {
    return start_fork([&, process] {
      UnsyncedFiles files;
      for (int i = 1; i <= each; ++i) {
        if (append(path, problem_of(process, i), files) != 0) return 1;
      }
      return 0;
    });
  };
  const auto merger = [&] {
    return start_fork([&] {
      UnsyncedFiles files;
      for (int i = 0; i < each / 10; ++i) {
        if (!merge_records(files, path, {}).damaged.empty()) return 1;
      }
      return 0;
    });
  };
  const auto reader = [&] {
    return start_fork([&] {
      std::size_t seen = 0;
      for (int i = 0; i < each / 10; ++i) {
        const std::size_t now = problems_in(path).size();
        if (now < seen || damaged_in(path) != 0) return 1;
        seen = now;
      }
      return 0;
    });
  };
  for (const pid_t process : {writer(1), writer(2), merger(), reader()}) EXPECT_EQ(wait_for(process), 0);
  const auto problems = problems_in(path);
  EXPECT_EQ(problems.size(), 2u * static_cast<std::size_t>(each));
  EXPECT_EQ(std::set<std::string>(problems.begin(), problems.end()).size(), problems.size());
}

// The number of kills before `work` completed; `check` checks the state after each.
template <class Work, class Check>
int kill_everywhere(const std::string& path, const Work& work, const Check& check) {
  for (const Moment moment : {Moment::before_a_call, Moment::in_a_write}) {
    for (int at = 0;; ++at) {
      SCOPED_TRACE(cat("killed at ", at, moment == Moment::in_a_write ? " in a write" : ""));
      UnsyncedFiles unsynced;
      std::filesystem::remove(path);
      EXPECT_EQ(append(path, problem_of(1, 1), unsynced), 0);
      const int status = wait_for(start_fork([&] {
        KillingFiles files(at, moment, unsynced);
        work(files);
        return 0;
      }));
      check();
      if (testing::Test::HasFailure()) return at;
      if (status != -SIGKILL) {
        EXPECT_EQ(status, 0);
        EXPECT_GT(at, 0);
        break;
      }
    }
  }
  return 0;
}

TEST(Records, AnAppendThatIsKilledCostsItsOwnRecordAlone) {
  const Scratch scratch;
  const std::string path = scratch / "records.jsonl";
  UnsyncedFiles unsynced;
  kill_everywhere(
      path, [&](FileSystem& files) { append(path, problem_of(1, 2), files); },
      [&] {
        EXPECT_EQ(append(path, problem_of(1, 3), unsynced), 0);
        const auto problems = problems_in(path);
        ASSERT_GE(problems.size(), 2u);
        EXPECT_EQ(problems.front(), problem_of(1, 1));
        EXPECT_EQ(problems.back(), problem_of(1, 3));
        EXPECT_LE(damaged_in(path), 1);
      });
}

TEST(Records, AMergeThatIsKilledLeavesAllOrNothing) {
  const Scratch scratch;
  const std::string path = scratch / "records.jsonl";
  const std::string other = scratch / "other.jsonl";
  UnsyncedFiles unsynced;
  ASSERT_EQ(append(other, problem_of(1, 2), unsynced), 0);
  kill_everywhere(
      path, [&](FileSystem& files) { merge_records(files, path, {other}); },
      [&] {
        EXPECT_EQ(append(path, problem_of(1, 3), unsynced), 0) << "the lock is free";
        const auto problems = problems_in(path);
        EXPECT_TRUE(problems.size() == 2 || problems.size() == 3) << problems.size();
        EXPECT_EQ(problems.front(), problem_of(1, 1));
        EXPECT_EQ(problems.back(), problem_of(1, 3));
        EXPECT_TRUE(test::read_records(path).damaged.empty());
      });
}

}  // namespace
}  // namespace quern::cache
