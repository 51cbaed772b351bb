#include "tuner/sweep/sweep_records.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// Regression: the message was "no config passed" when the reference had used up the budget.
TEST(NoWinner, OfABudgetThatEndedBeforeTheFirstConfigSaysSo) {
  Journal journal;
  journal.result.emplace();
  journal.result->stopped = "budget";
  journal.result->seconds = 14.25;
  EXPECT_EQ(
      no_winner_text(journal, "s.jsonl"),
      "the sweep ended before a config was measured (budget, 14.2 s): give a larger budget, since data and reference "
      "take time too");
}

TEST(NoWinner, OfConfigsThatFailedNamesTheReport) {
  Journal journal;
  journal.result.emplace();
  journal.trials.emplace_back();
  EXPECT_EQ(no_winner_text(journal, "s.jsonl"), "no config passed; `quern tune report s.jsonl` says why each failed");
  EXPECT_EQ(no_winner_text(journal, ""), "no config passed; `quern tune report FILE` says why each failed");
}

}  // namespace
}  // namespace quern
