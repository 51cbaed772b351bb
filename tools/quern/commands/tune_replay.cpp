#include "commands/tune_actions.h"

#include <filesystem>

#include "base/text.h"
#include "io/command.h"
#include "io/gunzip.h"
#include "io/output.h"
#include "tuner/search/replay.h"

namespace quern::tool {
namespace {

struct SavedFile {
  std::string file;  // name without its folder
  SavedSpace saved;
};

std::vector<const StrategyRow*> chosen(const std::vector<std::string>& names) {
  std::vector<const StrategyRow*> rows;
  for (const std::string& name : names) rows.push_back(&find_strategy(name));
  if (rows.empty()) rows.push_back(&strategies().front());
  return rows;
}

std::vector<SavedFile> read_all(const std::vector<std::string>& files) {
  std::vector<SavedFile> subjects;
  for (const std::string& file : files)
    subjects.push_back({std::filesystem::path(file).filename().string(), read_saved_space(file, read_text_file(file))});
  return subjects;
}

Row row_of(const std::string& file, std::size_t points, int failed, const char* strategy, int seeds,
           const ReplayScore& score, int digits) {
  Row row;
  row.add("file", file).add("points", points).add("failed", failed).add("strategy", strategy).add("seeds", seeds);
  row.add("median_5", Value(score.median_5, digits)).add("p90_5", Value(score.p90_5, digits));
  row.add("median_1", Value(score.median_1, digits)).add("p90_1", Value(score.p90_1, digits));
  row.add("stop_evaluations", Value(score.stop_evaluations, digits));
  row.add("stop_regret_p50", score.stop_regret_p50).add("stop_regret_p90", score.stop_regret_p90);
  return row;
}

// The rows of one strategy.
void add_rows(RowPrinter& printer, const std::vector<SavedFile>& subjects, const StrategyRow& strategy, int seeds) {
  std::vector<ReplayScore> scores;
  std::size_t points = 0;
  int failed = 0;
  for (const auto& [file, saved] : subjects) {
    scores.push_back(replay(saved, strategy.search, seeds, 1));
    printer.add(row_of(file, saved.us.size(), saved.failed, strategy.name, seeds, scores.back(), 0));
    points += saved.us.size();
    failed += saved.failed;
  }
  if (subjects.size() > 1)
    printer.add(row_of("geometric mean", points, failed, strategy.name, seeds, mean_score(scores), 1));
}

}  // namespace

int run_replay(const ReplayRequest& request) {
  const std::vector<const StrategyRow*> strategies = chosen(request.strategies);
  const std::vector<SavedFile> subjects = read_all(request.files);
  RowPrinter printer("quern.tune.replay/1", request.json);
  for (const StrategyRow* strategy : strategies) add_rows(printer, subjects, *strategy, request.seeds);
  printer.finish();
  return kDone;
}

}  // namespace quern::tool
