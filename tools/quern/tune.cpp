// quern tune: searching tuning spaces, on devices and on recordings, and what is kept of it.
#include "arguments.h"
#include "base/text.h"
#include "tune_check.h"
#include "tune_records.h"
#include "tune_replay.h"
#include "tune_report.h"
#include "tune_sweep.h"

namespace quern::tool {
namespace {

class Tune : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("FAMILY FIELD=VALUE... | ACTION [WORD...]", words_,
                    "The problem to tune for; or show [FAMILY FIELD=VALUE...], the records; check [FAMILY "
                    "FIELD=VALUE...], the records measured again; merge OUT FILE..., of records; report FILE..., an "
                    "HTML page of sweeps");
    arguments.option("--manifest", sweep_.manifest,
                     "A file of problems instead: JSON lines, as QUERN_RECORD writes them");
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
    arguments.option("--record-space", sweep_.record_space, "Measure every config and keep the file, for --replay");
    arguments.option(
        "--replay", replay_.files,
        "A recorded space to search instead of a device: a cache file of Kernel Tuner's or a complete sweep "
        "of quern's, plain or gzipped; may be repeated");
    arguments.option("--seeds", replay_.seeds, "Searches of each replayed space; default 200");
    arguments.option("--records", records_.records, "With show and check: this file alone");
    arguments.option("--output", output_, "With report: the file to write; default standard output");
    arguments.flag("--json", json_, "Print JSON lines");
  }

  int run(const Global& global) override {
    const std::string action = words_.empty() ? "" : words_.front();
    if (action == "report") return tune_report({words_.begin() + 1, words_.end()}, output_);
    if (!output_.empty()) throw wrong("--output belongs to report");
    if (action == "show" || action == "merge") return records(action, global);
    if (action == "check") return check(global);
    if (!records_.records.empty()) throw wrong("--records belongs to show and check");
    if (!replay_.files.empty()) return replay();
    if (strategies_.size() > 1) throw wrong("--strategy may be given once, unless with --replay");
    sweep_.words = words_;
    sweep_.json = json_;
    if (!strategies_.empty()) sweep_.strategy = strategies_.front();
    return run_sweeps(sweep_, global);
  }

 private:
  int records(const std::string& action, const Global& global) {
    if (action == "merge" && !records_.records.empty()) throw wrong("quern tune merge takes files, not --records");
    records_.words.assign(words_.begin() + 1, words_.end());
    records_.json = json_;
    Runtime runtime(runtime_options(global));
    return action == "show" ? tune_show(runtime, records_) : tune_merge(runtime, records_);
  }

  // Records say what is measured and how; a search is not made.
  int check(const Global& global) {
    const std::pair<const char*, bool> others[] = {{"--manifest", !sweep_.manifest.empty()},
                                                   {"--bench-table", sweep_.bench_table},
                                                   {"--strategy", !strategies_.empty()},
                                                   {"--budget", !sweep_.budget.empty()},
                                                   {"--record-space", !sweep_.record_space.empty()},
                                                   {"--replay", !replay_.files.empty()}};
    for (const auto& [option, given] : others) {
      if (given) throw wrong(cat("quern tune check does not take ", option, "; it takes [FAMILY FIELD=VALUE...]"));
    }
    if (!sweep_.regime.empty())
      throw wrong("quern tune check measures each record in its own regime, without --regime");
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

const Registration<Tune> registration("tune", "Search for the fastest config, on devices or a recording; report on it");

}  // namespace
}  // namespace quern::tool
