#include "commands/sweep.h"

#include <algorithm>
#include <set>

#include "api/images.h"
#include "api/runtime_state.h"
#include "base/text.h"
#include "io/jobs.h"
#include "io/progress.h"
#include "io/subject.h"
#include "plan/config.h"
#include "plan/variants.h"

namespace quern::tool {
namespace {

// One config for each image that the configs need: parameters that are not compiled make no difference.
std::vector<Config> one_an_image(const Family& family, const std::vector<Config>& configs) {
  std::set<std::array<std::int32_t, kMaxParameters>> seen;
  std::vector<Config> chosen;
  for (const Config& config : configs) {
    Config compiled = config;
    for (int i = 0; i < family.parameters.count; ++i) {
      if (!family.parameters[i].compiled) compiled[i] = 0;
    }
    if (seen.insert(compiled.values).second) chosen.push_back(config);
  }
  return chosen;
}

// Fills the store. What fails here fails again, by name, when its turn comes.
void compile_all(Runtime& runtime, const AnyProblem& problem, const Target& target, const std::vector<Config>& configs,
                 int jobs) {
  const Family& family = problem.family();
  Progress progress(configs.size());
  const auto compile = [&](std::size_t i) {
    const Variant variant{"sweep", configs[i], family.alignment(problem.data(), configs[i])};
    try {
      obtain_image(runtime.state(), {&family, problem.data(), target, variant});
    } catch (const std::exception&) {
    }
  };
  run_jobs(configs.size(), jobs, compile,
           [&](std::size_t finished, std::size_t) { progress.show(finished, "images compiled"); });
}

void verify(const AnyPlan& plan, DeviceCase& data, const HostOperands& expected, SweepRow& row) {
  data.reset();
  data.launch(plan);
  const HostOperands got = data.download();
  const Comparison comparison = compare(got, expected);
  const std::string damage = data.damage();
  row.max_error = comparison.max_error;
  row.verified = comparison.equal && damage.empty();
  if (!row.verified) row.failure = comparison.equal ? cat("damaged ", damage) : comparison.difference;
}

void measure(Runtime& runtime, const AnyProblem& problem, DeviceCase& data, const HostOperands* expected,
             SweepRow& row) {
  runtime.state().kernels.drop_unused();  // of the configs before
  try {
    PrepareOptions options;
    options.config = row.config;
    const AnyPlan plan = runtime.prepare_any(problem.family(), problem.data(), options);
    if (data.image_of(plan) != 0) {
      row.failure = "not for these addresses";
      return;
    }
    if (expected != nullptr) verify(plan, data, *expected, row);
    if (row.failure.empty()) row.timing = data.time(plan);
  } catch (const Error& error) {
    row.failure = error.sentence;
  }
}

bool faster(const SweepRow& a, const SweepRow& b) {
  if (a.failure.empty() != b.failure.empty()) return a.failure.empty();
  return a.timing.us < b.timing.us;
}

}  // namespace

std::vector<SweepRow> sweep(Runtime& runtime, const OpenDevice& device, const AnyProblem& problem, DeviceCase& data,
                            const HostOperands* expected, int jobs) {
  const Family& family = problem.family();
  const std::vector<Config> configs = legal_configs(family, problem.data(), device.target);
  const Config usual = variants_of(family, problem.data(), device.target, model_of(device.device), {}).front().config;
  compile_all(runtime, problem, device.target, one_an_image(family, configs), jobs);
  std::vector<SweepRow> rows;
  Progress progress(configs.size());
  for (const Config& config : configs) {
    SweepRow row;
    row.config = config_option(family, config);
    row.is_default = config == usual;
    progress.show(rows.size(), row.config);
    measure(runtime, problem, data, expected, row);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), faster);
  return rows;
}

std::vector<Row> to_rows(const std::vector<SweepRow>& sweep, std::int64_t bytes, bool verified) {
  std::vector<Row> rows;
  for (const SweepRow& config : sweep) {
    const bool timed = config.timing.timed();
    Row row;
    row.add("config", config.config).add("default", config.is_default);
    row.add("us", timed ? Value(config.timing.us) : Value());
    row.add("gbs", timed ? Value(gigabytes_a_second(bytes, config.timing.us), 0) : Value());
    if (verified) row.add("verified", config.verified).add("max_error", config.max_error);
    row.add("failure", config.failure.empty() ? Value() : Value(config.failure));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace quern::tool
