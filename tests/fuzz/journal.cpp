#include "tuner/journal/journal.h"

#include "base/text.h"
#include "fuzz/targets.h"
#include "quern/error.h"

namespace quern::fuzz {
namespace {

std::string text_of(const Journal& journal) {
  std::string text = cat(serialize(journal.head), "\n");
  for (const SweepTrial& trial : journal.trials) text += cat(serialize(trial), "\n");
  text += cat(serialize(journal.finalists), "\n");
  return journal.result ? cat(text, serialize(*journal.result), "\n") : text;
}

void check_round_trip(const Journal& journal) {
  const Journal again = read_journal(text_of(journal));
  require(again.head == journal.head, "a head that is written reads the same");
  require(again.trials == journal.trials, "configs that are written read the same");
  require(again.finalists == journal.finalists && again.result == journal.result, "and so does the end");
}

void check_lines(const Journal& journal) {
  int last = 0;
  for (const DamagedLine& damaged : journal.skipped) {
    require(damaged.line > last && !damaged.reason.empty(), "every damaged line has its number and a reason");
    last = damaged.line;
  }
  for (const SweepTrial& trial : journal.trials)
    require(!trial.config.empty() && (trial.failure || trial.us > 0), "a config has a time or a failure");
}

bool is_refused(std::string_view bytes) {
  try {
    read_journal(bytes);
    return false;
  } catch (const Error& error) {
    require(error.code == Code::bad_input && !error.sentence.empty(), "a refusal says why");
    return true;
  }
}

}  // namespace

void journal(std::string_view bytes) {
  const bool refused = is_refused(bytes);
  Journal journal;
  try {
    journal = read_journal(bytes, Damaged::skip);
  } catch (const Error&) {
    require(refused, "what is read strictly is read with damage skipped");
    return;
  }
  require(refused == !journal.skipped.empty(), "a file is refused for its damaged lines");
  check_lines(journal);
  check_round_trip(journal);
}

}  // namespace quern::fuzz
