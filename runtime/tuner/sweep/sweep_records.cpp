#include "tuner/sweep/sweep_records.h"

#include <algorithm>

#include "api/runtime_state.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "plan/config.h"
#include "plan/variants.h"
#include "quern/version.h"

namespace quern {
namespace {

constexpr std::size_t kRelated = 8;

std::vector<Rival> rivals_of(const Journal& journal) {
  const std::vector<std::string>& names = journal.result->rivals;
  std::vector<Rival> rivals;
  for (const SweepFinalist& finalist : journal.finalists) {
    if (std::find(names.begin(), names.end(), finalist.config) != names.end())
      rivals.push_back({finalist.config, finalist.us});
  }
  return rivals;
}

}  // namespace

const SweepTrial* trial_of(const Journal& journal, const std::string& config) {
  const auto found = std::find_if(journal.trials.begin(), journal.trials.end(),
                                  [&](const SweepTrial& trial) { return trial.config == config; });
  return found == journal.trials.end() ? nullptr : &*found;
}

std::string no_winner_text(const Journal& journal, const std::string& path) {
  if (journal.trials.empty())
    return cat("the sweep ended before a config was measured (", journal.result->stopped, ", ",
               fixed(journal.result->seconds, 1), " s): give a larger budget, since data and reference take time too");
  return cat("no config passed; `quern tune report ", path.empty() ? "FILE" : path, "` says why each failed");
}

KnownConfigs known_configs(Runtime& runtime, const AnyProblem& problem, const Step& step, const DevicePlace& place) {
  const Family& family = problem.family();
  const Config base = variants_of(family, step, problem.data(), place.device.target, place.model, {}).front().config;
  const RecordQuery query{problem.data(), place.device.target, place.device.name, base, &step};
  RecordLayers& records = runtime.state().records;
  KnownConfigs known;
  if (const auto found = records.find(family, query); found && found->exact && !found->sibling)
    known.incumbent = config_text(step, problem.data(), found->config);
  for (const FoundRecord& found : records.related(family, query, kRelated))
    known.related.push_back(config_text(step, problem.data(), found.config));
  return known;
}

Record record_of(const Step& step, const Journal& journal, std::uint64_t seed) {
  const SweepHead& head = journal.head;
  const SweepResult& result = *journal.result;
  Record record;
  record.family = head.family;
  record.problem = head.problem;
  record.device = head.device;
  record.target = head.target;
  record.regime = head.regime;
  record.config = result.winner;
  record.us = result.us;
  record.default_us = result.default_us;
  record.band_percent = result.band_percent;
  record.rivals = rivals_of(journal);
  if (const SweepTrial* trial = trial_of(journal, result.winner)) {
    record.samples = static_cast<int>(trial->samples.size());
    record.image_key = trial->image;
    record.image_digest = trial->digest;
  }
  record.copy_us = head.copy_us;
  record.clocks = head.clocks;
  record.driver = head.driver;
  record.compiler = head.compiler;
  record.space_digest = space_digest(step);
  record.quern = QUERN_VERSION;
  record.strategy = head.strategy;
  record.seed = seed;
  record.evaluations = static_cast<int>(result.evaluations);
  record.seconds = result.seconds;
  record.created_unix_ns = real_file_system().now_unix_ns();
  return record;
}

std::string sweep_path(Runtime& runtime, const AnyProblem& problem, const std::string& identity) {
  const std::string& records = runtime.state().records.settings().file;
  if (records.empty()) return {};
  return cat(parent_directory(records), "/sweeps/", problem.family().name, "-",
             hash128(cat(problem.text(), "\n", identity)).hex().substr(0, 16), ".jsonl");
}

}  // namespace quern
