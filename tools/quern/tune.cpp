// quern tune: searching tuning spaces, on devices and in saved spaces, and what is kept of it.
#include <algorithm>
#include <array>
#include <string_view>

#include "arguments.h"
#include "base/text.h"
#include "tune_check.h"
#include "tune_records.h"
#include "tune_replay.h"
#include "tune_report.h"
#include "tune_sweep.h"

namespace quern::tool {
namespace {

// What each thing that tune does takes. `sweep` and `replay` are no words: the first is what is done with a problem,
// the second with --replay.
struct Action {
  const char* name;
  bool word;  // whether it is typed
  std::vector<std::string_view> options;
};
const std::array<Action, 6>& actions() {
  static const std::array<Action, 6> all = {{
      {"sweep",
       false,
       {"--manifest", "--bench-table", "--device", "--strategy", "--budget", "--regime", "--seed", "--jobs", "--memory",
        "--timeout", "--compile-timeout", "--in-process", "--no-record", "--save-space", "--json"}},
      {"show", true, {"--records", "--json"}},
      {"check",
       true,
       {"--records", "--device", "--memory", "--timeout", "--compile-timeout", "--in-process", "--json"}},
      {"merge", true, {"--json"}},
      {"report", true, {"--output"}},
      {"replay", false, {"--replay", "--strategy", "--seeds", "--json"}},
  }};
  return all;
}

bool takes(const Action& action, std::string_view option) {
  return std::find(action.options.begin(), action.options.end(), option) != action.options.end();
}

// No option is passed over in silence.
void refuse_others(std::string_view name, const std::vector<std::string>& given) {
  const auto action =
      std::find_if(actions().begin(), actions().end(), [&](const Action& each) { return each.name == name; });
  for (const std::string& option : given) {
    if (takes(*action, option)) continue;
    std::vector<std::string> others;
    for (const Action& each : actions()) {
      if (takes(each, option)) others.emplace_back(each.name);
    }
    throw wrong(cat(option, " belongs to ", join(others, " and "), ", not to ", name));
  }
}

class Tune : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("FAMILY FIELD=VALUE... | ACTION [WORD...]", words_,
                    "The problem to tune for; or show [FAMILY FIELD=VALUE...], the records; check [FAMILY "
                    "FIELD=VALUE...], the records measured again; merge OUT FILE..., of records; report FILE..., an "
                    "HTML page of sweeps");
    arguments.option("--manifest", sweep_.manifest,
                     "A file of problems instead: JSON lines, as QUERN_MANIFEST writes them");
    arguments.flag("--bench-table", sweep_.bench_table, "The problems that `quern bench` measures instead");
    arguments.option("--device", sweep_.devices, "Where to run, cuda:0 by default; several share each sweep");
    arguments.option("--strategy", strategies_, "How to search; may be repeated for --replay; the default is the best");
    arguments.option("--budget", sweep_.budget, "Stop after a time, 90s or 10m, or a number of configs, 200");
    arguments.option("--regime", sweep_.regime, "cold (default): nothing in L2 when a call begins; or warm");
    arguments.option("--seed", sweep_.seed, "Of the search; default 1");
    arguments.option("--jobs", sweep_.jobs, "Compiles at a time; default one a core");
    arguments.option("--memory", sweep_.worker.memory, "Of each device, 8G; default half of what is free");
    arguments.option("--timeout", sweep_.worker.timeout_s, "Seconds that one config may run; default 20");
    arguments.option("--compile-timeout", sweep_.worker.compile_timeout_s,
                     "Seconds that one compile may take; default 60");
    arguments.flag("--in-process", sweep_.worker.in_process,
                   "No workers: quicker to start, and a bad config ends everything");
    arguments.flag("--no-record", sweep_.no_record, "Keep no record of the winner");
    arguments.option("--save-space", sweep_.save_space, "Measure every config and keep the file, for --replay");
    arguments.option("--replay", replay_.files,
                     "A saved space to search instead of a device: a cache file of Kernel Tuner's or a complete sweep "
                     "of quern's, plain or gzipped; may be repeated");
    arguments.option("--seeds", replay_.seeds, "Searches of each replayed space; default 200");
    arguments.option("--records", records_.records, "With show and check: this file alone");
    arguments.option("--output", output_, "With report: the file to write; default standard output");
    arguments.flag("--json", json_, "Print JSON lines");
  }

  int run(const Global& global) override {
    const std::string action = this->action();
    refuse_others(action, global.options);
    if (action == "report") return tune_report({words_.begin() + 1, words_.end()}, output_);
    if (action == "show" || action == "merge") return records(action, global);
    if (action == "check") return check(global);
    if (action == "replay") return replay();
    if (strategies_.size() > 1) throw wrong("--strategy may be given once, unless with --replay");
    sweep_.words = words_;
    sweep_.json = json_;
    if (!strategies_.empty()) sweep_.strategy = strategies_.front();
    return run_sweeps(sweep_, global);
  }

 private:
  std::string action() const {
    if (!replay_.files.empty()) return "replay";
    const bool named = !words_.empty() && std::any_of(actions().begin(), actions().end(), [&](const Action& each) {
      return each.word && each.name == words_.front();
    });
    return named ? words_.front() : "sweep";
  }

  int records(const std::string& action, const Global& global) {
    records_.words.assign(words_.begin() + 1, words_.end());
    records_.json = json_;
    Runtime runtime(runtime_options(global));
    return action == "show" ? tune_show(runtime, records_) : tune_merge(runtime, records_);
  }

  // Records say what is measured and how; a search is not made.
  int check(const Global& global) {
    if (sweep_.devices.size() > 1) throw wrong("quern tune check takes one --device: a record is of one device");
    CheckRequest request{records_, sweep_.devices.empty() ? "cuda:0" : sweep_.devices.front(), sweep_.worker};
    request.records.words.assign(words_.begin() + 1, words_.end());
    request.records.json = json_;
    Runtime runtime(runtime_options(global));
    return tune_check(runtime, request, global);
  }

  int replay() {
    if (!words_.empty()) throw wrong(cat("give a problem or --replay, not both: ", words_.front()));
    replay_.strategies = strategies_;
    replay_.json = json_;
    return run_replay(replay_);
  }

  std::vector<std::string> words_;
  std::vector<std::string> strategies_;
  std::string output_;
  bool json_ = false;
  TuneRecordArguments records_;
  SweepRequest sweep_;
  ReplayRequest replay_;
};

const Registration<Tune> registration("tune",
                                      "Search for the fastest config, on devices or in a saved space; report on it");

}  // namespace
}  // namespace quern::tool
