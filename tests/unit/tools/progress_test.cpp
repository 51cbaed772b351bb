#include "io/progress.h"

#include <gtest/gtest.h>

#include <utility>

namespace quern::tool {
namespace {

// A fake clock, and the output.
struct Screen {
  double now = 0;
  std::string written;
  ProgressScreen as(std::size_t columns) {
    return {columns, [this] { return now; }, [this](std::string_view text) { written += text; }};
  }
  std::string take() { return std::exchange(written, ""); }
};

TEST(Progress, ShowsRateAndTimeLeftOnATerminal) {
  Screen screen;
  {
    Progress progress(10, 0, screen.as(60));
    progress.show(0, "first");
    EXPECT_EQ(screen.take(), "\r\033[K[0/10] first");
    screen.now = 2;
    progress.show(4, "gather width=8");
    EXPECT_EQ(screen.take(), "\r\033[K[4/10] 2.0/s, 3 s left: gather width=8");
    progress.show(4, std::string(100, 'x'));
    EXPECT_EQ(screen.take().size(), 4 + 59u) << "cut to the terminal";
  }
  EXPECT_EQ(screen.take(), "\r\033[K") << "removed at the end";
}

TEST(Progress, IsAPlainLineEveryTenSecondsElsewhere) {
  Screen screen;
  {
    Progress progress(1000, 0, screen.as(0));
    for (int i = 1; i <= 250; ++i) {
      screen.now = 0.1 * i;
      progress.show(static_cast<std::size_t>(i), "x");
    }
  }
  EXPECT_EQ(screen.take(), "[100/1000] 10/s, 2 min left: x\n[200/1000] 10/s, 80 s left: x\n");
}

TEST(Progress, ShortJobsSayNothingWithoutATerminal) {
  Screen screen;
  Progress(2, 0, screen.as(0)).show(1, "x");
  EXPECT_EQ(screen.take(), "");
}

// The items of an earlier run do not count for the rate; a time budget ends the job before all items are done.
TEST(Progress, KnowsWhatWasDoneBeforeAndWhatTheBudgetLeaves) {
  Screen screen;
  Progress progress(20, 10, screen.as(80));
  progress.show(10, "x");
  EXPECT_EQ(screen.take(), "\r\033[K[10/20] x");
  screen.now = 4;
  progress.show(12, "x");
  EXPECT_EQ(screen.take(), "\r\033[K[12/20] 0.5/s, 16 s left: x");
  progress.show(12, "x", 5);
  EXPECT_EQ(screen.take(), "\r\033[K[12/20] 0.5/s, 5 s left: x");
  screen.now = 200;
  progress.show(12, "x");
  EXPECT_EQ(screen.take(), "\r\033[K[12/20] 2 min each, 13 min left: x");
}

}  // namespace
}  // namespace quern::tool
