#include "commands/tune_actions.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <thread>

#include "api/runtime_state.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "commands/tune_verdict.h"
#include "io/draw.h"
#include "io/gunzip.h"
#include "io/manifest.h"
#include "io/output.h"
#include "io/progress.h"
#include "io/subject.h"
#include "plan/config.h"
#include "plan/problem.h"
#include "plan/variants.h"
#include "quern/version.h"
#include "testbench/open_device.h"
#include "tuner/sweep/sweep.h"
#include "tuner/sweep/sweep_records.h"
#include "tuner/worker/worker_pool.h"

namespace quern::tool {
namespace {

// "90s", "10m", "2h": seconds; "200": evaluations.
SweepBudget parse_budget(const std::string& text) {
  SweepBudget budget;
  if (text.empty()) return budget;
  constexpr std::pair<char, int> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
  const auto unit =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& u) { return text.back() == u.first; });
  const bool timed = unit != std::end(kUnits);
  const auto number = parse_integer(std::string_view(text).substr(0, text.size() - (timed ? 1 : 0)));
  if (!number || *number < 1 || *number > 1'000'000'000)
    throw wrong(
        cat("--budget ", text, " is invalid; it takes a time, 90s or 10m, or a number of configs, 200; at least 1"));
  if (timed) budget.seconds = static_cast<double>(*number) * unit->second;
  if (!timed) budget.evaluations = *number;
  return budget;
}

// Progress of a sweep, relative to its budget.
class Line {
 public:
  explicit Line(std::string problem) : problem_(std::move(problem)) {}
  void show(const SweepProgress& now, const SweepBudget& budget) {
    const auto most = budget.evaluations > 0 ? std::min<std::int64_t>(budget.evaluations, now.points) : now.points;
    if (!progress_) progress_.emplace(static_cast<std::size_t>(most), static_cast<std::size_t>(now.known));
    progress_->show(
        static_cast<std::size_t>(now.measured),
        cat(problem_, ": ", now.best_us > 0 ? cat(fixed(now.best_us, 2), " us with ", now.best) : "nothing yet"),
        budget.seconds > 0 ? std::max(0.0, budget.seconds - now.seconds) : -1);
  }

 private:
  const std::string problem_;
  std::optional<Progress> progress_;
};

// What one sweep is of.
struct Work {
  AnyProblem problem;
  const Step* step;
};

// A sweep that ended well.
struct Swept {
  AnyProblem problem;
  Journal journal;
  std::string path;  // of its file; "": none
};

class Sweeps {
 public:
  Sweeps(const SweepRequest& request, const Global& global)
      : request_(request), global_(global), runtime_(runtime_options(global)) {}

  int run() {
    const SweepBudget budget = parse_budget(request_.budget);
    const std::vector<AnyProblem> problems = this->problems();
    check(problems);
    const std::vector<Work> works = works_of(problems);
    require_worker_store(runtime_, request_.worker, global_);
    device_ = place_of(runtime_, devices().front());
    if (device_->device.target.host) warn_of_emulation();
    std::vector<Swept> all;
    int code = kDone;
    for (const Work& work : works) {
      try {
        all.push_back(sweep_one(work, budget));
        if (request_.json) print_json("quern.tune/1", json_row(all.back()));
      } catch (const Error& error) {
        if (works.size() == 1 || error.code == Code::no_compiler || error.code == Code::no_device) throw;
        report_error(error, request_.json);
        code = kSomeFailed;
      }
    }
    if (!request_.json) print_all(all);
    return code;
  }

 private:
  std::vector<std::string> devices() const {
    return request_.devices.empty() ? std::vector<std::string>{"cuda:0"} : request_.devices;
  }

  // Arguments are checked before a device is opened.
  void check(const std::vector<AnyProblem>& problems) const {
    for (const std::string& device : devices()) parse_device(device);
    check_worker(request_.worker);
    if (!request_.save_space.empty() &&
        (problems.size() != 1 || !request_.budget.empty() || !request_.strategy.empty()))
      throw wrong("--save-space measures every config of one problem; it does not go with --budget or --strategy");
    for (const AnyProblem& problem : problems) {
      check_problem(problem.family(), problem.data());
      if (const auto open = open_extents(problem); !open.empty())
        throw problem_error(
            problem.family(), problem.data(),
            cat(open.front()->name, " is open; a sweep needs every extent, for example ", open.front()->name, "=8192"));
    }
  }

  std::vector<Work> works_of(const std::vector<AnyProblem>& problems) const {
    std::vector<Work> works;
    std::vector<std::string> known;
    for (const AnyProblem& problem : problems) {
      for (const Step* step : steps_of(problem.family(), problem.data())) {
        known.emplace_back(step->name);
        if (request_.step.empty() || request_.step == step->name) works.push_back({problem, step});
      }
    }
    if (works.empty() && !problems.empty())
      throw wrong(cat("--step ", request_.step, ": no problem has this step; they have ", join(known, ", ")));
    return works;
  }

  std::vector<AnyProblem> problems() const {
    const bool words = !request_.words.empty() && request_.draw == 0;
    const int given = (words ? 1 : 0) + (request_.draw > 0 ? 1 : 0) + (request_.manifest.empty() ? 0 : 1) +
                      (request_.bench_table ? 1 : 0);
    if (given != 1) throw wrong("give a problem, --draw N, --manifest FILE or --bench-table");
    std::vector<AnyProblem> problems;
    if (request_.draw > 0) {
      problems = draw_problems(runtime_, request_.words, request_.draw, static_cast<std::uint64_t>(request_.seed));
    } else if (request_.bench_table) {
      for (const Family* family : runtime_.families()) {
        for (const char* text : family->bench_cases) problems.push_back(runtime_.parse(text));
      }
    } else if (!request_.manifest.empty()) {
      problems = manifest_problems();
    } else {
      problems.push_back(parse_subject(runtime_, request_.words).problem);
    }
    return problems;
  }

  std::vector<AnyProblem> manifest_problems() const {
    const Manifest manifest = parse_manifest(read_text_file(request_.manifest));
    if (!manifest.bad.empty())
      throw wrong(
          cat(text_file_name(request_.manifest), ":", manifest.bad.front().line, ": ", manifest.bad.front().reason));
    std::vector<AnyProblem> problems;
    std::set<std::string> seen;
    for (const ManifestItem& item : manifest.items) {
      if (seen.insert(item.problem).second) problems.push_back(runtime_.parse(item.problem));
    }
    if (problems.empty()) note(cat(text_file_name(request_.manifest), " has no problem"));
    return problems;
  }

  // ---- one problem

  // Without the budget: a sweep that it stopped goes on with a larger one.
  std::string file_for(const Work& work) {
    if (!request_.save_space.empty()) return request_.save_space;
    return sweep_path(runtime_, work.problem,
                      cat(device_->device.name, "\n", request_.regime, "\n", request_.strategy, "\n", request_.seed,
                          *work.step->name == '\0' ? "" : "\n", work.step->name));
  }

  SweepSettings settings_for(const Work& work, const SweepBudget& budget) {
    SweepSettings settings;
    settings.step = work.step;
    settings.strategy = request_.save_space.empty() ? request_.strategy : "exhaustive";
    settings.seed = static_cast<std::uint64_t>(request_.seed);
    settings.budget = budget;
    settings.stop_on_evidence = request_.save_space.empty() && settings.strategy != "exhaustive";
    if (!request_.regime.empty()) settings.regime = parse_regime(request_.regime);
    settings.memory_bytes = memory_bytes(request_.worker);
    settings.path = file_for(work);
    settings.may_start_over = request_.save_space.empty();  // its name is ours to give
    settings.command = global_.typed;
    settings.devices = devices();
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    settings.jobs = request_.jobs > 0 ? request_.jobs : cores;
    settings.worker = worker_settings(runtime_, request_.worker, global_);
    const KnownConfigs known = known_configs(runtime_, work.problem, *work.step, *device_);
    settings.incumbent = known.incumbent;
    settings.related = known.related;
    return settings;
  }

  Swept sweep_one(const Work& work, const SweepBudget& budget) {
    const AnyProblem& problem = work.problem;
    const SweepSettings settings = settings_for(work, budget);
    Line line(problem.text());
    bool told = false;
    Journal journal = sweep(runtime_, problem, settings, [&](const SweepProgress& now) {
      if (now.known > 0 && !std::exchange(told, true))
        note(cat("resuming ", settings.path, ", ", now.known, " configs known"));
      line.show(now, budget);
    });
    if (journal.result->winner.empty())
      throw problem_error(problem.family(), problem.data(), no_winner_text(journal, settings.path));
    if (!request_.no_record) keep(work, journal, settings);
    return {problem, std::move(journal), settings.path};
  }

  // ---- records and output

  void keep(const Work& work, const Journal& journal, const SweepSettings& settings) {
    const std::string path = runtime_.state().records.settings().file;
    if (path.empty() || device_->device.target.host) return;
    const int error = RecordsFile(real_file_system(), path).append(record_of(*work.step, journal, settings.seed));
    if (error != 0) throw Error(Code::io, Stage::tool, cat("cannot write ", path, ": ", error_text(error)));
  }

  static Row row_of(const AnyProblem& problem, const Journal& journal) {
    const SweepResult& result = *journal.result;
    const auto failed = std::count_if(journal.trials.begin(), journal.trials.end(),
                                      [](const SweepTrial& t) { return t.failure.has_value(); });
    Row row;
    row.add("problem", problem.text()).add("us", result.us).add("default_us", result.default_us);
    // The file has differences of times, which are negative if it is faster.
    row.add("faster_percent", Value(0 - result.percent, 1));
    row.add("faster_low", Value(0 - result.high, 1)).add("faster_high", Value(0 - result.low, 1));
    row.add("copy_percent", journal.head.copy_us > 0 ? Value(100 * journal.head.copy_us / result.us, 1) : Value());
    row.add("measured", static_cast<std::int64_t>(result.evaluations)).add("points", journal.head.points);
    row.add("failed", static_cast<std::int64_t>(failed)).add("seconds", Value(result.seconds, 1));
    return row.add("stopped", result.stopped).add("why", result.why).add("config", result.winner);
  }

  static Row json_row(const Swept& swept) {
    Row row = row_of(swept.problem, swept.journal);
    row.add("verdict", verdict_text(*swept.journal.result));
    return row.add("file", swept.path.empty() ? Value() : Value(swept.path));
  }

  // After the table: each verdict as a sentence, the path of its file, and the command to run next.
  static void print_all(const std::vector<Swept>& all) {
    std::vector<Row> rows;
    std::vector<std::string> files;
    for (const Swept& swept : all) {
      rows.push_back(row_of(swept.problem, swept.journal));
      if (!swept.path.empty()) files.push_back(swept.path);
    }
    print_table(rows);
    for (const Swept& swept : all) {
      print_line(cat("\n", swept.problem.text(), ": ", verdict_text(*swept.journal.result), "."));
      if (!swept.path.empty()) print_item("sweep file", swept.path);
    }
    if (all.size() > 1) print_line(cat("\n", regret_text(all)));
    if (!files.empty()) print_item("next", report_command(files));
  }

  // How much slower than the winner the default is.
  static std::string regret_text(const std::vector<Swept>& all) {
    const auto ratio = [](const Swept& s) { return s.journal.result->default_us / s.journal.result->us; };
    double logarithms = 0;
    const Swept* worst = &all.front();
    for (const Swept& swept : all) {
      logarithms += std::log(ratio(swept));
      if (ratio(swept) > ratio(*worst)) worst = &swept;
    }
    const double mean = std::exp(logarithms / static_cast<double>(all.size()));
    return cat("The default of ", all.size(), " problems takes ", fixed(100 * (mean - 1), 1),
               " % longer than the winner in the geometric mean, ", fixed(100 * (ratio(*worst) - 1), 1),
               " % at worst: ", worst->problem.text());
  }

  const SweepRequest& request_;
  const Global& global_;
  Runtime runtime_;
  std::optional<DevicePlace> device_;
};

}  // namespace

int run_sweeps(const SweepRequest& request, const Global& global) { return Sweeps(request, global).run(); }

}  // namespace quern::tool
