// Cold specialization: NVRTC's time for an empty kernel, for all of templates/common, and for each family's default,
// with the phases that NVRTC reports; and the first and second kernel of a process.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "api/runtime_state.h"
#include "base/files.h"
#include "base/text.h"
#include "commands/bench.h"
#include "io/stopwatch.h"
#include "io/subject.h"
#include "plan/unit.h"
#include "plan/variants.h"
#include "testbench/device_case.h"

// From the header generated for the library's own sources.
namespace quern::embedded {
Table<SourceFile> common_sources();
}

namespace quern::tool {
namespace {

constexpr const char* kEmpty = "extern \"C\" __global__ void quern_empty() {}\n";

struct CompileCase {
  std::string name;
  Unit unit;
};

struct Phases {
  double ms = 0;
  double front_end = 0;
  double optimizer = 0;
  double assembler = 0;
};

Unit empty_unit() { return {{"empty.cu", kEmpty}, {}}; }

// Not those that replace the GPU on the CPU, which NVRTC cannot compile, nor the kernels that families share, which
// need a spec.
bool is_for_any_kernel(const SourceFile& file) {
  const std::string_view path = file.path;
  return !path.starts_with("common/twin") && !path.starts_with("moe/") && !path.starts_with("rows/") &&
         !path.starts_with("sort/");
}

// Includes every header that any kernel may include, before a kernel that uses none.
Unit common_unit() {
  Unit unit;
  for (const SourceFile& file : embedded::common_sources()) {
    if (!is_for_any_kernel(file)) continue;
    unit.headers.push_back({file.path, file.text});
    unit.main.text += cat("#include \"", file.path, "\"\n");
  }
  unit.main.name = "common.cu";
  unit.main.text += kEmpty;
  return unit;
}

Unit default_unit(const Family& family, const Target& target) {
  const AnyProblem problem(family);
  const Step& step = *steps_of(family, problem.data()).front();
  const Variant variant = variants_of(family, step, problem.data(), target, generic_model(target.arch), {}).front();
  Spec spec;
  step.specialize(problem.data(), target, variant.config, spec);
  return make_unit(family, step, spec, target);
}

std::vector<CompileCase> subjects(const std::vector<const Family*>& families, const Target& target) {
  std::vector<CompileCase> all = {{"empty kernel", empty_unit()},
                                  {"empty kernel with all of templates/common", common_unit()}};
  for (const Family* family : families)
    all.push_back({cat(family->name, " by default"), default_unit(*family, target)});
  return all;
}

// "file, phase, metric, unit" a line; sums a phase in milliseconds.
double phase_ms(const std::string& report, std::string_view phase) {
  double ms = 0;
  for (const std::string_view line : split(report, '\n')) {
    const std::vector<std::string_view> cells = split(line, ',');
    if (cells.size() < 4 || trim(cells[1]).find(phase) == std::string_view::npos) continue;
    const double value = parse_number(trim(cells[2])).value_or(0);
    ms += trim(cells[3]) == "us" ? value / 1000 : value;
  }
  return ms;
}

// A temporary file for NVRTC's report.
class ReportFile {
 public:
  ReportFile() : path_((std::filesystem::temp_directory_path() / cat("quern", staging_name())).string()) {}
  ~ReportFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  const std::string& path() const { return path_; }
  std::string take() const { return read_file(path_).value_or(""); }

 private:
  std::string path_;
};

std::string log_of(const Nvrtc& nvrtc, nvrtcProgram program) {
  std::size_t bytes = 0;
  if (nvrtc.GetProgramLogSize(program, &bytes) != NVRTC_SUCCESS || bytes == 0) return "";
  std::string log(bytes, '\0');
  nvrtc.GetProgramLog(program, log.data());
  return log.substr(0, log.find('\0'));
}

// One compile, as in Compiler::compile, with NVRTC's report of its phases.
Phases compile(const Nvrtc& nvrtc, const Unit& unit, std::vector<std::string> options) {
  const ReportFile report;
  options.push_back(cat("--time=", report.path()));
  std::vector<const char*> texts;
  std::vector<const char*> names;
  std::vector<const char*> words;
  for (const SourceText& header : unit.headers) {
    texts.push_back(header.text.c_str());
    names.push_back(header.name.c_str());
  }
  words.reserve(options.size());
  for (const std::string& option : options) words.push_back(option.c_str());
  const Stopwatch compiling;
  nvrtcProgram program = nullptr;
  nvrtc.CreateProgram(&program, unit.main.text.c_str(), unit.main.name.c_str(), static_cast<int>(texts.size()),
                      texts.data(), names.data());
  const nvrtcResult result = nvrtc.CompileProgram(program, static_cast<int>(words.size()), words.data());
  const double ms = compiling.ms();
  const std::string log = result == NVRTC_SUCCESS ? "" : log_of(nvrtc, program);
  nvrtc.DestroyProgram(&program);
  if (result != NVRTC_SUCCESS) {
    Error error(Code::compile, Stage::tool, cat("NVRTC refused ", unit.main.name, ": ", nvrtc.GetErrorString(result)));
    error.log = log;
    throw error;
  }
  const std::string text = report.take();
  return {ms, phase_ms(text, "CUDA C++ Frontend"), phase_ms(text, "NVVM Optimizer"), phase_ms(text, "PTX Translation")};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double median_of(const std::vector<Phases>& samples, double Phases::*member) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Phases& sample : samples) values.push_back(sample.*member);
  return median(std::move(values));
}

Row row_of(const std::string& what, const std::vector<Phases>& samples, double floor) {
  const double ms = median_of(samples, &Phases::ms);
  Row row;
  row.add("what", what).add("ms", ms).add("of_empty", ms / floor);
  row.add("front_end_ms", median_of(samples, &Phases::front_end));
  row.add("optimizer_ms", median_of(samples, &Phases::optimizer));
  return row.add("assembler_ms", median_of(samples, &Phases::assembler)).add("samples", samples.size());
}

// Writes the times of the first and the second kernel to `pipe`. The first one's includes finding and opening NVRTC.
void compile_two(const Options& options, const Target& target, const std::string& family, int pipe) {
  const Stopwatch first;
  Runtime runtime(options);
  const Unit unit = family.empty() ? empty_unit() : default_unit(runtime.family(family), target);
  NvrtcCompiler& compiler = runtime.state().compiler.nvrtc();
  compiler.compile(unit, "first", target, false);
  const double first_ms = first.ms();
  const Stopwatch second;
  compiler.compile(unit, "second", target, false);
  const std::array<double, 2> times = {first_ms, second.ms()};
  if (write(pipe, times.data(), sizeof(times)) != sizeof(times)) _exit(kFailed);
}

// Runs in a child process. Zeros if it failed.
std::array<double, 2> in_new_process(const Options& options, const Target& target, const std::string& family) {
  std::array<int, 2> ends{};
  std::array<double, 2> times{};
  if (pipe(ends.data()) != 0) return times;
  const pid_t child = fork();
  if (child == 0) {
    try {
      compile_two(options, target, family, ends[1]);
    } catch (const Error& error) {
      note(error.what());
    }
    _exit(kDone);
  }
  close(ends[1]);
  if (read(ends[0], times.data(), sizeof(times)) != sizeof(times)) times = {};
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return times;
}

Row first_row(const Options& options, const Target& target, const std::string& family, int processes) {
  std::vector<double> first;
  std::vector<double> second;
  for (int i = 0; i < processes; ++i) {
    const auto [a, b] = in_new_process(options, target, family);
    first.push_back(a);
    second.push_back(b);
  }
  return Row()
      .add("what", cat(family.empty() ? "empty kernel" : family + " by default", ", first in a process"))
      .add("ms", median(first))
      .add("second_ms", median(second));
}

}  // namespace

void bench_first_compile(const Options& options, const std::vector<const Family*>& families, const Target& target,
                         int samples, const Emit& emit) {
  constexpr int kMostProcesses = 5;
  std::vector<std::string> names = {""};
  for (const Family* family : families) names.emplace_back(family->name);
  for (const std::string& name : names)
    emit("quern.bench.first/1", first_row(options, target, name, std::min(samples, kMostProcesses)));
}

// The subjects take turns, so that a slow moment of the machine affects all of them.
void bench_compile(Runtime& runtime, const std::vector<const Family*>& families, const Target& target, int samples,
                   const Emit& emit) {
  NvrtcCompiler& compiler = runtime.state().compiler.nvrtc();
  const Nvrtc& nvrtc = compiler.nvrtc();
  const std::vector<std::string> options = NvrtcCompiler::options(target, false, nvrtc.version);
  const std::vector<CompileCase> all = subjects(families, target);
  std::vector<std::vector<Phases>> times(all.size());
  for (int sample = -2; sample < samples; ++sample) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Phases phases = compile(nvrtc, all[i].unit, options);
      if (sample >= 0) times[i].push_back(phases);
    }
  }
  const double floor = median_of(times.front(), &Phases::ms);
  for (std::size_t i = 0; i < all.size(); ++i) emit("quern.bench.compile/1", row_of(all[i].name, times[i], floor));
}

}  // namespace quern::tool
