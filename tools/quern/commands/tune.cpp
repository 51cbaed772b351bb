// quern tune: searches tuning spaces, on devices and in saved spaces, and manages records and sweeps.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "commands/tune_actions.h"
#include "io/arguments.h"

namespace quern::tool {
namespace {

// Options that go with --replay.
constexpr std::array<std::string_view, 4> kReplayOptions = {"--replay", "--strategy", "--seeds", "--json"};

// No option is silently ignored.
void check_replay_options(bool replay, const std::vector<std::string>& given) {
  for (const std::string& option : given) {
    const bool of_replay = std::find(kReplayOptions.begin(), kReplayOptions.end(), option) != kReplayOptions.end();
    if (replay && !of_replay) throw wrong(cat(option, " does not go with --replay"));
    if (!replay && option == "--seeds") throw wrong("--seeds goes with --replay only; a sweep takes --seed");
  }
}

void declare_worker(Arguments& arguments, WorkerRequest& worker) {
  arguments.option("--memory BYTES", worker.memory,
                   "Memory limit for data on each device, 8G; default half of the free memory");
  arguments.option("--timeout SECONDS", worker.timeout_s, {1, kNoLimit}, "Time limit for one config");
  arguments.option("--compile-timeout SECONDS", worker.compile_timeout_s, {1, kNoLimit}, "Time limit for one compile");
  arguments.flag("--in-process", worker.in_process,
                 "No worker processes: starts faster, but a config that crashes ends the sweep");
}

class Tune : public Command {
 public:
  void declare(Arguments& arguments) override {
    declare_sweep(arguments);
    declare_show(arguments.action("show", "The records that prepare would find"));
    declare_check(arguments.action("check", "Measures the records of this device again; exit code 3 if one flips"));
    declare_merge(arguments.action("merge", "Merges several files of records into one"));
    declare_report(arguments.action("report", "Writes an HTML page or CSV of sweeps, or compares two"));
  }

  int run(const Global& global) override {
    if (global.action == "report") return tune_report(words_, report_);
    if (global.action == "show" || global.action == "merge") return records(global.action, global);
    if (global.action == "check") return check(global);
    check_replay_options(!replay_.files.empty(), global.options);
    refuse_action(global);
    if (!replay_.files.empty()) return replay();
    if (strategies_.size() > 1) throw wrong("--strategy may be given only once without --replay");
    sweep_.words = words_;
    sweep_.json = json_;
    if (!strategies_.empty()) sweep_.strategy = strategies_.front();
    return run_sweeps(sweep_, global);
  }

 private:
  void declare_sweep(Arguments& arguments) {
    arguments.words("[FAMILY FIELD=VALUE...]", words_, "The problem to tune, with all extents");
    arguments.option("--manifest FILE", sweep_.manifest,
                     "Problems of a file instead: JSON lines, as written by QUERN_MANIFEST");
    arguments.flag("--bench-table", sweep_.bench_table, "The problems that `quern bench` measures instead");
    arguments.option("--draw N", sweep_.draw, {1, 10000},
                     "N problems at random from the distribution of each family instead; the words are families");
    arguments.option("--device DEVICE", sweep_.devices, "Where to run, cuda:0 by default; several share each sweep");
    arguments.option("--step STEP", sweep_.step, "Tune this step of a family of several; default each");
    arguments.option("--strategy STRATEGY", strategies_, "Search strategy; default ils, see docs/search.md");
    arguments.option("--budget BUDGET", sweep_.budget, "Stop after a time, 90s or 10m, or a number of configs, 200");
    arguments.option("--regime REGIME", sweep_.regime, "cold (default): no data in L2 when a call begins; or warm");
    arguments.option("--seed N", sweep_.seed, {0, kNoLimit}, "Of the search, and of --draw");
    arguments.option("--jobs N", sweep_.jobs, kJobs, "Parallel compiles; default one per core");
    declare_worker(arguments, sweep_.worker);
    arguments.flag("--no-record", sweep_.no_record, "Do not keep a record of the winner");
    arguments.option("--save-space FILE", sweep_.save_space, "Measure every config and keep the file, for --replay");
    arguments.option("--replay FILE", replay_.files,
                     "Search a saved space instead of a device: a cache file of Kernel Tuner or a complete sweep "
                     "of quern, plain or gzipped");
    arguments.option("--seeds N", replay_.seeds, {1, 100000}, "Searches of each replayed space");
    arguments.flag("--json", json_, "Print JSON lines");
    arguments.example("quern tune gather rows=8192 count=8192 width=4096",
                      "Finds the fastest config, and keeps it as a record for prepare");
    arguments.example("quern tune --manifest problems.jsonl --budget 10m", "Each problem that an application prepared");
    arguments.example("quern tune --replay space.jsonl.gz --strategy ils --strategy random",
                      "Compares two strategies on a saved space");
  }

  void declare_show(Arguments& action) {
    action.words("[FAMILY [FIELD=VALUE...]]", words_, "Only records with these fields");
    action.option("--records FILE", records_.records, "This file alone");
    action.flag("--json", json_, "Print JSON lines");
    action.example("quern tune show gather dtype=bf16", "Records of gather in bf16, of any size");
  }

  void declare_check(Arguments& action) {
    action.words("[FAMILY [FIELD=VALUE...]]", words_, "Only records with these fields");
    action.option("--records FILE", records_.records, "This file alone");
    action.option("--device DEVICE", check_device_, "Where to measure; default cuda:0");
    declare_worker(action, sweep_.worker);
    action.flag("--json", json_, "Print JSON lines");
    action.note("A record flips where a sweep would replace it. Nothing is written.");
    action.example("quern tune check gather", "Are its records still right and still the fastest?");
  }

  void declare_merge(Arguments& action) {
    action.words("OUT FILE...", words_, "the file to write, and those to read");
    action.flag("--json", json_, "Print one JSON line");
    action.note(
        "Of several records for one problem, device and regime the newest is kept. OUT may exist; its records are "
        "merged too.");
    action.example("quern tune merge all.jsonl a.jsonl b.jsonl", "Merges the records of two machines");
  }

  void declare_report(Arguments& action) {
    action.words("FILE...", words_, "sweep files, as `quern tune` names them, plain or gzipped");
    action.option("--output FILE", report_.output, "The file to write; default standard output");
    action.flag("--compare", report_.compare, "Compare two sweeps of one family: machines, versions, seeds");
    action.flag("--csv", report_.csv, "Every measurement as CSV instead of a page");
    action.example("quern tune report sweep.jsonl --output sweep.html", "One page that needs no network");
    action.example("quern tune report before.jsonl after.jsonl --compare --output both.html",
                   "Is the second sweep faster?");
  }

  // "repot": neither a family nor an action, but close to an action.
  void refuse_action(const Global& global) const {
    if (words_.empty()) return;
    std::vector<std::string> names;
    for (const Family* family : Runtime(runtime_options(global)).families()) names.emplace_back(family->name);
    const auto& actions = global.root->find_action("tune")->actions();
    for (const Arguments& action : actions) names.push_back(action.name());
    const std::string close = closest(words_.front(), names);
    if (close != words_.front() &&
        std::any_of(actions.begin(), actions.end(), [&](const Arguments& action) { return action.name() == close; }))
      throw wrong(cat("quern tune takes a problem or an action; there is no \"", words_.front(), "\". Did you mean ",
                      close, "?"));
  }

  int records(const std::string& action, const Global& global) {
    records_.words = words_;
    records_.json = json_;
    Runtime runtime(runtime_options(global));
    return action == "show" ? tune_show(runtime, records_) : tune_merge(runtime, records_);
  }

  // Records decide what is measured and how; there is no search.
  int check(const Global& global) {
    CheckRequest request{records_, check_device_, sweep_.worker};
    request.records.words = words_;
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
  ReportOptions report_;
  std::string check_device_ = "cuda:0";
  bool json_ = false;
  TuneRecordArguments records_;
  SweepRequest sweep_;
  ReplayRequest replay_;
};

const Registration<Tune> register_tune("tune",
                                       "Search for the fastest config, on devices or in a saved space; report on it");

}  // namespace
}  // namespace quern::tool
