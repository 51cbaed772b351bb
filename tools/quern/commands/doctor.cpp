// quern doctor: what was found, where, and what is wrong. Exit code 1 if anything is wrong.
#include <optional>

#include "api/application_tuner.h"
#include "api/runtime_state.h"
#include "base/text.h"
#include "commands/cache_actions.h"
#include "driver/device.h"
#include "driver/find_host_driver.h"
#include "io/arguments.h"
#include "io/output.h"
#include "io/variable_names.h"
#include "quern/tuner.h"
#include "quern/version.h"

namespace quern::tool {
namespace {

// "13000" -> "13.0".
std::string version_text(int version, int minor_unit) { return cat(version / 1000, ".", version % 1000 / minor_unit); }

Row describe(const Device& device) {
  return Row()
      .add("device", cat("cuda:", device.ordinal))
      .add("name", device.name)
      .add("arch", device.target.text())
      .add("multiprocessors", device.multiprocessors)
      .add("memory_bytes", Value::of_bytes(static_cast<std::int64_t>(device.memory_bytes)))
      .add("l2_bytes", Value::of_bytes(static_cast<std::int64_t>(device.l2_bytes)))
      .add("model", model_of(device).name);
}

const char* mode_text(CacheMode mode) {
  static constexpr const char* kNames[] = {"read-write", "read-only", "off"};
  return kNames[static_cast<int>(mode)];
}
const char* match_text(CacheMatch match) {
  static constexpr const char* kNames[] = {"default", "exact", "any"};
  return kNames[static_cast<int>(match)];
}

class Doctor : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.flag("--json", json_, "Print one JSON object");
    arguments.note(
        "The exit code is 1 if a line begins with \"Wrong:\". Having no driver or no NVRTC is wrong; having no "
        "host driver and no C++ compiler for it is not.");
    arguments.example("quern doctor", "What was found, where it was searched for, and what is wrong");
  }

  int run(const Global& global) override {
    report_.add("version", QUERN_VERSION);
    Options options = runtime_options(global);
    options.tuning.mode.reset();  // as in an application that tunes
    options.tuning.tuner = make_tuner();
    std::optional<Runtime> runtime;
    guard([&] { runtime.emplace(options); });
    if (runtime) evaluate(*runtime);
    examine_environment();
    report_.add("problems", Value::Texts(problems_));
    if (json_) {
      print_json("quern.doctor/1", report_);
    } else {
      for_people(runtime.has_value());
    }
    return problems_.empty() ? kDone : kFailed;
  }

  bool names_variables() const override { return true; }

 private:
  template <class F>
  void guard(const F& work) {
    try {
      work();
    } catch (const Error& error) {
      problems_.push_back(error.sentence);
    }
  }

  void evaluate(Runtime& runtime) {
    for (const std::string& sentence : runtime.state().misread) problems_.push_back(sentence);
    examine_driver(runtime);
    examine_host_driver(runtime.state().environment);
    examine_nvrtc(runtime.state().compiler.nvrtc());
    examine_host_compiler(runtime.state().compiler.host());
    examine_cache(runtime);
    examine_records(runtime);
    examine_worker(runtime);
    Value::Texts names;
    for (const Family* family : runtime.families()) names.emplace_back(family->name);
    report_.add("families", names);
  }

  void examine_driver(Runtime& runtime) {
    guard([&] {
      const std::shared_ptr<Driver> driver = runtime.state().driver();
      driver_.add("path", driver->origin()).add("cuda", version_text(driver->version(), 10));
      for (int i = 0; i < device_count(*driver); ++i) devices_.push_back(describe(describe_device(*driver, i)));
    });
    report_.add("driver", driver_).add("devices", devices_);
  }

  // A missing host driver is not wrong either.
  void examine_host_driver(const Environment& environment) {
    try {
      host_driver_.add("path", open_host_driver(environment)->origin());
    } catch (const Error& error) {
      host_driver_.add("missing", error.sentence.substr(0, error.sentence.find('\n')));
    }
    report_.add("host_driver", host_driver_);
  }

  void examine_nvrtc(NvrtcCompiler& compiler) {
    for (const NvrtcCandidate& candidate : compiler.candidates())
      candidates_.push_back(
          Row().add("path", candidate.path).add("why", candidate.why).add("verdict", candidate.verdict));
    guard([&] {
      const Nvrtc& nvrtc = compiler.nvrtc();
      Value::Texts architectures;
      for (const int architecture : nvrtc.architectures) architectures.push_back(cat("sm_", architecture));
      nvrtc_.add("path", nvrtc.path).add("version", version_text(nvrtc.version, 1));
      nvrtc_.add("identity", compiler.identity()).add("architectures", architectures);
    });
    report_.add("nvrtc", nvrtc_).add("nvrtc_candidates", candidates_);
  }

  // A missing one is not wrong: only the target host needs it.
  void examine_host_compiler(HostCompiler& compiler) {
    Value::Rows candidates;
    for (const HostCandidate& candidate : compiler.candidates())
      candidates.push_back(
          Row().add("path", candidate.path).add("why", candidate.why).add("verdict", candidate.verdict));
    if (!compiler.path().empty())
      host_compiler_.add("path", compiler.path())
          .add("version", compiler.version())
          .add("identity", compiler.identity());
    report_.add("host_compiler", host_compiler_).add("host_compiler_candidates", candidates);
  }

  void examine_cache(Runtime& runtime) {
    cache::Store& store = runtime.state().store;
    const Options& options = runtime.state().options;
    std::uint64_t bytes = 0;
    const auto items = store.list(cache::Check::header);
    const auto untrusted = all_untrusted(store, items);
    for (const cache::Item& item : items) bytes += item.bytes;
    const std::string unusable = store.unusable();
    cache_.add("dir", store.directory()).add("usable", unusable.empty() && !store.directory().empty());
    cache_.add("mode", mode_text(*options.cache.mode)).add("match", match_text(*options.cache.match));
    cache_.add("layers", options.cache.layers.size())
        .add("trust", options.cache.trust.empty() ? "owner" : options.cache.trust)
        .add("max_bytes", Value::of_bytes(static_cast<std::int64_t>(*options.cache.max_bytes)));
    cache_.add("entries", items.size()).add("bytes", Value::of_bytes(static_cast<std::int64_t>(bytes)));
    cache_.add("untrusted", holding_of(store.directory(), items, untrusted).untrusted);
    if (!unusable.empty()) problems_.push_back(cat("nothing is kept on disk: ", unusable));
    for (const cache::LayerReport& layer : store.layers()) {
      const std::string sentence = untrusted_sentence(store, layer.path, untrusted);
      if (!sentence.empty()) problems_.push_back(sentence);
      if (layer.path == store.directory()) continue;
      cache_layers_.push_back(Row()
                                  .add("layer", layer.path)
                                  .add("kind", layer.kind)
                                  .add("untrusted", holding_of(layer.path, items, untrusted).untrusted)
                                  .add("unusable", layer.unusable.empty() ? Value() : Value(layer.unusable)));
      if (!layer.unusable.empty()) problems_.push_back(cat("a cache layer is not used: ", layer.unusable));
    }
    report_.add("cache_layers", cache_layers_);
    report_.add("cache", cache_);
  }

  void examine_records(Runtime& runtime) {
    RecordLayers& records = runtime.state().records;
    for (const RecordLayer& layer : records.layers()) {
      add_records(layer.path, layer.records, layer.passed, layer.unusable);
      if (!layer.unusable.empty()) problems_.push_back(cat("records are not read: ", layer.path, ": ", layer.unusable));
    }
    for (const Family* family : runtime.families()) {
      const std::string name = cat("shipped with ", family->name);
      const ReadRecords shipped = parse_records(shipped_records(*family), name);
      if (!shipped.records.empty()) add_records(name, shipped.records.size(), shipped.damaged, "");
    }
    report_.add("tuning", name(records.settings().tuning)).add("records", records_);
  }

  // The worker program that would measure for an application.
  void examine_worker(Runtime& runtime) {
    const std::string worker = find_worker(runtime.state().options, runtime.state().environment);
    report_.add("worker", worker.empty() ? Value() : Value(worker));
    worker_.add("mode", name(*runtime.state().options.tuning.mode)).add("worker", worker.empty() ? "none" : worker);
    if (worker.empty() && runtime.state().tuner != nullptr)
      problems_.push_back("tuning is on, but there is no worker: set QUERN_WORKER to the path of the quern command");
  }

  void add_records(const std::string& path, std::size_t count, const std::vector<PassedLine>& passed,
                   const std::string& unusable) {
    records_.push_back(Row()
                           .add("file", path)
                           .add("records", count)
                           .add("passed_over", passed.size())
                           .add("unusable", unusable.empty() ? Value() : Value(unusable)));
    if (!passed.empty())
      problems_.push_back(cat(passed.size(), " lines of records are skipped; the first is ", passed.front().text()));
  }

  void examine_environment() {
    const Environment environment = Environment::read();
    for (int i = 0; i < static_cast<int>(Variable::count); ++i) {
      const auto variable = static_cast<Variable>(i);
      const std::string& value = environment[variable];
      environment_.push_back(Row()
                                 .add("variable", row(variable).name)
                                 .add("value", value.empty() ? Value() : Value(value))
                                 .add("meaning", row(variable).sentence));
    }
    report_.add("environment", environment_);
    for (std::string& sentence : mistyped_variables(environment_names())) problems_.push_back(std::move(sentence));
  }

  // ---- for people

  static std::string line_of(const Row& fields) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : fields.fields) parts.push_back(cat(name, " ", text_of(value)));
    return parts.empty() ? "none, see below" : join(parts, ", ");
  }

  void for_people(bool whole) const {
    print_item("quern", QUERN_VERSION);
    if (whole) {
      print_item("driver", line_of(driver_));
      for (const Row& device : devices_) print_item("", line_of(device));
      print_item("host driver", line_of(host_driver_));
      print_item("nvrtc", line_of(nvrtc_));
      print_item("c++ for host", line_of(host_compiler_));
      print_item("cache", line_of(cache_));
      for (const Row& layer : cache_layers_) print_item("", line_of(layer));
      for (const Row& file : records_) print_item("records", line_of(file));
      print_item("tuning", line_of(worker_));
      print_line("\nWhere NVRTC was searched for:");
      print_table(candidates_);
    }
    print_line("\nEnvironment:");
    print_table(environment_);
    print_line("");
    if (problems_.empty()) print_line("Nothing is wrong.");
    for (const std::string& problem : problems_) print_line(cat("Wrong: ", problem));
  }

  bool json_ = false;
  Row report_;
  Row driver_;
  Value::Rows devices_;
  Row nvrtc_;
  Row host_driver_;
  Row host_compiler_;
  Value::Rows candidates_;
  Row cache_;
  Value::Rows cache_layers_;
  Value::Rows records_;
  Row worker_;
  Value::Rows environment_;
  Value::Texts problems_;
};

const Registration<Doctor> register_doctor(
    "doctor", "Driver, compiler, cache and environment: what was found, and what is wrong");

}  // namespace
}  // namespace quern::tool
