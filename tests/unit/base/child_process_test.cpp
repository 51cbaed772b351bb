#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "quern/error.h"

namespace quern {
namespace {

using Reading = ChildProcess::Reading;
using namespace std::chrono_literals;

std::string next(ChildProcess& child, std::chrono::milliseconds limit = 10s) {
  std::string line;
  return child.read_line(&line, limit) == Reading::line ? line : "none";
}

TEST(ChildProcess, TalksInLines) {
  ChildProcess child("/bin/cat", {});
  EXPECT_TRUE(child.write_line("one"));
  EXPECT_TRUE(child.write_line("two\nthree"));
  EXPECT_EQ(next(child), "one");
  EXPECT_EQ(next(child), "two");
  EXPECT_EQ(next(child), "three");
  EXPECT_TRUE(child.write_line(std::string(200'000, 'x')));
  EXPECT_EQ(next(child).size(), 200'000U);
}

TEST(ChildProcess, HasOurEnvironmentButForWhatIsSaid) {
  ::setenv("QUERN_CHILD_KEPT", "kept", 1);
  ::setenv("QUERN_CHILD_SAID", "ours", 1);
  ChildProcess child("/bin/sh",
                     {"-c", "echo $QUERN_CHILD_KEPT $QUERN_CHILD_SAID $QUERN_CHILD_NEW; env | grep -c ^QUERN_CHILD_"},
                     {{"QUERN_CHILD_SAID", "said"}, {"QUERN_CHILD_NEW", "new"}});
  EXPECT_EQ(next(child), "kept said new");
  EXPECT_EQ(next(child), "3");
  ::unsetenv("QUERN_CHILD_KEPT");
  ::unsetenv("QUERN_CHILD_SAID");
}

TEST(ChildProcess, HasNoFileOfOursButStandardError) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ChildProcess child("/bin/sh", {"-c", "for f in 0 1 2 " + std::to_string(ends[0]) +
                                           "; do [ -e /proc/$$/fd/$f ] && echo $f; done; echo end"});
  for (const char* file : {"0", "1", "2", "end"}) EXPECT_EQ(next(child), file);
  for (const int end : ends) ::close(end);
}

TEST(ChildProcess, WaitsNoLongerThanItIsTold) {
  ChildProcess child("/bin/cat", {});
  std::string line;
  EXPECT_EQ(child.read_line(&line, 20ms), Reading::timeout);
  EXPECT_TRUE(child.write_line("later"));
  EXPECT_EQ(next(child), "later");
}

TEST(ChildProcess, SaysHowTheOtherEnded) {
  ChildProcess exits("/bin/sh", {"-c", "exit 3"});
  std::string line;
  EXPECT_EQ(exits.read_line(&line, 10s), Reading::end);
  EXPECT_EQ(exits.end(10s), "exit status 3");
  ChildProcess dies("/bin/sh", {"-c", "kill -SEGV $$"});
  EXPECT_EQ(dies.read_line(&line, 10s), Reading::end);
  EXPECT_NE(dies.end(10s).find("signal 11"), std::string::npos);
}

TEST(ChildProcess, WritingToOneThatIsGoneRaisesNoSignal) {
  ChildProcess child("/bin/true", {});
  std::string line;
  EXPECT_EQ(child.read_line(&line, 10s), Reading::end);
  bool written = true;
  for (int i = 0; i < 100 && written; ++i) written = child.write_line("anybody there?");
  EXPECT_FALSE(written);
}

TEST(ChildProcess, WhatItStartedEndsWithIt) {
  ChildProcess child("/bin/sh", {"-c", "sleep 1000 & echo $!; wait"});
  const pid_t grandchild = std::stoi(next(child));
  EXPECT_EQ(::kill(grandchild, 0), 0);
  EXPECT_NE(child.end().find("signal 9"), std::string::npos);
  // Its parent has exited, so another process reaps it at some time.
  for (int i = 0; i < 10'000 && ::kill(grandchild, 0) == 0; ++i) {
    std::string state;
    ChildProcess ps("/bin/sh", {"-c", "cut -d' ' -f3 /proc/" + std::to_string(grandchild) + "/stat"});
    if (ps.read_line(&state, 10s) != Reading::line || state == "Z") return;
  }
  EXPECT_NE(::kill(grandchild, 0), 0);
}

TEST(ChildProcess, AProgramThatIsNotThereIsNamed) {
  try {
    ChildProcess child("/no/such/program", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.sentence.find("cannot start /no/such/program"), std::string::npos) << error.sentence;
  }
}

}  // namespace
}  // namespace quern
