// quern bench [FAMILY …]: measured times, each with its floor from the same run.
#include "commands/bench.h"

#include <algorithm>
#include <ctime>

#include "api/runtime_state.h"
#include "base/text.h"
#include "commands/gpu_or_host.h"
#include "io/arguments.h"
#include "io/draw.h"
#include "io/progress.h"
#include "io/subject.h"
#include "plan/problem.h"
#include "quern/version.h"

namespace quern::tool {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d", &utc)};
}

// Which of the three kinds of benchmark take an option.
struct OptionUse {
  std::string_view option;
  bool kernels;
  bool host;
  bool compile;
};
constexpr OptionUse kOptionUses[] = {
    {"--problem", true, false, false}, {"--device", true, true, false},       {"--config", true, false, false},
    {"--draw", true, false, false},    {"--copy-config", true, false, false}, {"--arch", false, false, true},
    {"--seed", true, false, false},    {"--data-seed", true, false, false},   {"--samples", false, false, true},
};

class Bench : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("[FAMILY...]", families_, "Families to measure; default all");
    arguments.option("--problem PROBLEM", problems_, "A problem instead of families, \"gather rows=64 count=64\"");
    arguments.option("--draw N", draw_, {1, 10000}, "N problems of each family, at random from its distribution");
    arguments.option("--seed N", seed_, {0, kNoLimit}, "Of --draw; the same one gives the same problems");
    arguments.option(
        "--data-seed N", kernel_.data_seed, {0, kNoLimit},
        "Of the generated data, as --seed of quern run; routings to experts are even with 1, uneven with 2");
    arguments.option("--device DEVICE", device_, "Where to run, cuda:0 (default), or host, for a functional run");
    arguments.option("--config CONFIG", kernel_.config, "Changes to each default config");
    arguments.option("--copy-config CONFIG", kernel_.copy_config, "Changes to the copy kernel's config");
    arguments.flag("--host", host_, "Host cost of launches and look-ups");
    arguments.flag("--compile", compile_, "Cost of a cold specialization; needs no device");
    arguments.option("--arch ARCH", arch_, "Architecture for --compile; default sm_90a");
    arguments.option("--samples N", samples_, {1, 1000}, "Samples of --compile");
    arguments.flag("--json", json_, "Print JSON lines");
    arguments.example("quern bench gather", "Kernel times, with a copy of the same bytes, on a GPU");
    arguments.example("quern bench gather --draw 20 --seed 7", "The same of 20 problems that no table has");
    arguments.example("quern bench --compile", "Cost of the first and the second kernel of a process");
    arguments.example("quern bench --problem 'gather rows=64 count=64 width=40' --device host",
                      "Does it work? Runs once on the CPU and compares with the reference");
  }

  int run(const Global& global) override {
    typed_ = global.typed;
    kernel_.drawn = draw_ > 0;
    const Options options = runtime_options(global);
    Runtime runtime(options);
    const std::vector<const Family*> families = this->families(runtime);
    const std::vector<AnyProblem> problems = parse_problems(runtime, families);
    check(global);
    const Place place = parse_place(runtime, arch_, "");
    const DeviceName name = device_.empty() ? DeviceName{} : parse_device(device_);
    if (compile_) return run_compile(runtime, families, options, place);
    if (host_) return run_host(runtime, families, options, name);
    const OpenDevice device = open_device(runtime, name);
    if (device.device.emulated) {
      bool agree = true;
      print_all(device.name(), problems.size(),
                [&](const Emit& emit) { agree = bench_on_host(runtime, device, problems, kernel_, emit); });
      return agree ? kDone : kFailed;
    }
    return print_all(device.name(), problems.size(),
                     [&](const Emit& emit) { bench_kernels(runtime, device, options, problems, kernel_, emit); });
  }

 private:
  static bool given(const Global& global, std::string_view option) {
    return std::find(global.options.begin(), global.options.end(), option) != global.options.end();
  }
  // No option is silently ignored.
  void check(const Global& global) const {
    if (host_ && compile_) throw wrong("give --host or --compile, not both");
    for (const OptionUse& use : kOptionUses) {
      if (given(global, use.option) && !(compile_ ? use.compile : host_ ? use.host : use.kernels))
        throw wrong(cat(use.option, compile_ ? " does not go with --compile"
                                    : host_  ? " does not go with --host"
                                             : " belongs to --compile"));
    }
    if (!device_.empty() && parse_device(device_).host && host_)
      throw wrong("nothing is measured on the host; give --device cuda:0");
    if (!problems_.empty() && !families_.empty()) throw wrong("give families or --problem, not both");
    if (!problems_.empty() && draw_ > 0) throw wrong("give --problem or --draw, not both");
    if (given(global, "--seed") && draw_ == 0) throw wrong("--seed goes with --draw");
  }

  AnyProblem parse_problem(const Runtime& runtime, const std::string& text) const {
    const Subject subject = parse_subject(runtime, {text});
    if (const auto open = open_extents(subject.problem); !open.empty())
      throw problem_error(subject.family(), subject.problem.data(),
                          cat(open.front()->name, " is open; a benchmark needs every extent, for example ",
                              open.front()->name, "=8192"));
    check_config(subject, kernel_.config);
    return subject.problem;
  }

  std::vector<const Family*> families(const Runtime& runtime) const {
    std::vector<const Family*> families;
    for (const std::string& name : families_) families.push_back(&runtime.family(name));
    return families.empty() ? runtime.families() : families;
  }

  std::vector<AnyProblem> parse_problems(const Runtime& runtime, const std::vector<const Family*>& families) const {
    std::vector<AnyProblem> problems;
    for (const std::string& text : problems_) problems.push_back(parse_problem(runtime, text));
    if (draw_ > 0) {
      problems = draw_problems(runtime, families_, draw_, static_cast<std::uint64_t>(seed_));
      for (const AnyProblem& problem : problems) check_config(Subject(problem), kernel_.config);
    } else if (problems_.empty()) {
      for (const Family* family : families) {
        for (const char* text : family->bench_cases) problems.push_back(parse_problem(runtime, text));
      }
    }
    // Small ones first: a small call after calls on gigabytes takes some 0.3 us longer.
    const auto bytes = [](const AnyProblem& p) { return p.family().bytes(p.data()); };
    std::stable_sort(problems.begin(), problems.end(),
                     [&](const AnyProblem& a, const AnyProblem& b) { return bytes(a) < bytes(b); });
    return problems;
  }

  // JSON lines are printed as they are measured, a table when its columns are known. `total`: the most rows there can
  // be.
  template <class F>
  int print_all(const std::string& where, std::size_t total, const F& measure) const {
    std::vector<Row> rows;
    {
      Progress progress(total, 0, stderr_screen(json_));
      measure([&](std::string_view schema, const Row& row) {
        if (json_) print_json(schema, row);
        rows.push_back(row);
        progress.show(rows.size(), text_of(row.fields.front().second));
      });
    }
    if (json_) return kDone;
    print_line(cat("<!-- ", where, ", ", today(), ", quern ", QUERN_VERSION, ": ", typed_, " -->"));
    print_tables(rows);
    return kDone;
  }

  // A table for each sequence of rows with the same columns.
  static void print_tables(const std::vector<Row>& rows) {
    std::vector<Row> table;
    for (const Row& row : rows) {
      if (!table.empty() && columns(table.front()) != columns(row)) {
        print_table(std::exchange(table, {}));
        print_line("");
      }
      table.push_back(row);
    }
    print_table(table);
  }
  static std::string columns(const Row& row) {
    std::string names;
    for (const auto& [name, value] : row.fields) names += cat(name, " ");
    return names;
  }

  int run_compile(Runtime& runtime, const std::vector<const Family*>& families, const Options& options,
                  const Place& place) const {
    if (runtime.state().compiler.nvrtc().identity().empty())
      runtime.state().compiler.nvrtc().nvrtc();  // says why there is none
    const std::size_t total = (1 + families.size()) + (2 + families.size());
    return print_all(place.target.text(), total, [&](const Emit& emit) {
      bench_first_compile(options, families, place.target, samples_, emit);
      bench_compile(runtime, families, place.target, samples_, emit);
    });
  }

  int run_host(Runtime& runtime, const std::vector<const Family*>& families, const Options& options,
               DeviceName wanted) const {
    std::string why_not;
    std::optional<OpenDevice> device;
    if (!device_.empty()) device = open_device(runtime, wanted);
    if (device_.empty()) device = try_first_gpu(runtime, &why_not);
    if (!device) note("no device: measures only what needs no device");
    return print_all(device ? device->device.name : "no device", host_rows(families, device.has_value()),
                     [&](const Emit& emit) { bench_host(runtime, families, device, options, emit); });
  }

  std::vector<std::string> families_;
  std::vector<std::string> problems_;
  std::string device_;
  std::string arch_;
  std::string typed_;
  KernelBench kernel_;
  int samples_ = 15;
  int draw_ = 0;
  int seed_ = 1;
  bool host_ = false;
  bool compile_ = false;
  bool json_ = false;
};

const Registration<Bench> register_bench("bench", "Kernel, host and compile times, with their floors");

}  // namespace
}  // namespace quern::tool
