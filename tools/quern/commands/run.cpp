// quern run FAMILY k=v …: specialize, compile, launch, time; with --verify against the reference.
#include <unistd.h>

#include <algorithm>

#include "api/configs.h"
#include "api/images.h"
#include "base/text.h"
#include "commands/gpu_or_host.h"
#include "commands/image_analysis.h"
#include "io/arguments.h"
#include "io/operand_files.h"
#include "io/output.h"
#include "io/stopwatch.h"
#include "io/subject.h"
#include "plan/plan_state.h"
#include "plan/problem.h"
#include "testbench/comparison.h"
#include "testbench/device_case.h"

namespace quern::tool {
namespace {

std::int64_t memory_of_machine() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE); }

// Refused here, since a system that overcommits memory kills the process that uses it.
void require_memory(const AnyProblem& closed, bool twice) {
  std::int64_t bytes = 0;
  for (const OperandEntry& each : operand_entries(closed.family(), closed.data())) {
    const Layout layout = closed.family().operands[each.operand].layout(closed.data(), each.entry);
    const bool large = layout.span_bytes() < 0 || __builtin_add_overflow(bytes, layout.span_bytes(), &bytes);
    if (large || bytes > memory_of_machine() / (twice ? 3 : 1))
      throw problem_error(closed.family(), closed.data(),
                          cat("the operands take more memory than this machine has (",
                              human_bytes(static_cast<double>(memory_of_machine())), "); make an extent smaller"));
  }
}

std::string resources_text(const Resources& r) {
  return cat(r.registers, " registers, ", r.shared_bytes, " B shared, ", r.spill_store_bytes + r.spill_load_bytes,
             " B spilled");
}

std::string ms_text(double ms) { return cat(fixed(ms, ms < 10 ? 2 : 1), " ms"); }

// The generated part of a source: up to where the template begins.
std::string spec_of(const std::string& source) { return source.substr(0, source.find("\n// ---- ", 1)); }

class Run : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words(
        "FAMILY [FIELD=VALUE...]", words_,
        "The problem, as `quern describe FAMILY` shows it, and run-time numbers, for example multiplier=0.5");
    arguments.option("--device DEVICE", device_, "Where to run, cuda:0 or host; default the first GPU, else host");
    arguments.option("--arch ARCH", arch_, "Compile for this architecture and do not launch");
    arguments.flag("--verify", verify_, "Compare the result with the reference; exit code 1 if it disagrees");
    arguments.flag("--in-place", in_place_, "Outputs that have the name of an input take its memory");
    arguments.option("--config CONFIG", config_, "Changes to the default config, threads=128,unroll=2 for two");
    arguments.option("--in NAME=FILE", in_, "A .npy file with the data of an input");
    arguments.option("--out NAME=FILE", out_, "Where an output goes, as .npy");
    arguments.option("--set NAME=NUMBER", set_, "A run-time number");
    arguments.option("--seed N", seed_, {0, kNoLimit}, "Of the generated data");
    arguments.option("--offset N", offset_, {0, 1 << 20}, "Elements between each pointer and a 256-byte boundary");
    arguments.option("--repeat N", repeat_, {1, 1000}, "Number of measurements; the median is shown");
    arguments.flag("--wild", wild_, "Generated data with infinities, NaNs, denormals and zeros");
    arguments.flag("--json", json_, "Print one JSON object");
    arguments.note("Dtypes and extents that are not given are taken from the --in files; other extents are 1024.");
    arguments.note("A file of bools is taken for u8.");
    arguments.note("A file for [experts, rows, cols] has three dimensions, or two with the rows of all experts.");
    arguments.example("quern run gather width=4096 rows=8192 count=8192 dtype=bf16 --verify",
                      "Compile, launch and time it, and compare the result with the reference");
    arguments.example("quern run gather width=4096 --in source=x.npy --in index=i.npy --out out=y.npy",
                      "With data from files");
    arguments.example("quern run pointwise rows=4096 activation=gelu op=add_mul_act --set multiplier=0.5",
                      "With a run-time number");
    arguments.example("quern run pointwise expr='x = relu(x)' --in-place --verify",
                      "A formula that replaces its input");
    arguments.example("quern run gather width=100 --device host --verify", "On the CPU, every access checked");
  }

  int run(const Global& global) override {
    Runtime runtime(runtime_options(global));
    Subject subject = read_subject(runtime, words_);
    const OperandFiles files(subject.problem, in_, out_);
    files.set_fields(subject);
    for (const std::string& setting : set_) set_scalar(subject, setting);
    check_subject(subject);
    check_options(subject);
    const Place place = parse_place(runtime, arch_, "");
    const AnyProblem closed = files.close(subject.problem);
    require_memory(closed, verify_);
    std::string why_not = "--arch was given";
    std::optional<OpenDevice> device;
    if (!device_.empty()) device = open_device(runtime, parse_device(device_));
    if (device_.empty() && arch_.empty()) device = gpu_or_host(runtime, &why_not);
    if (!device) require_no_device_needed(files, why_not);
    HostOperands host(closed.family(), closed.data());
    const Stopwatch generating;
    host.generate(static_cast<std::uint64_t>(seed_), wild_, subject.scalars);
    files.load(host);
    if (in_place_ && outputs_in_place(host).empty())
      throw wrong("--in-place: no output has the name, the type and the shape of an input, as in expr='x = relu(x)'");
    if (!json_) print_item("problem", closed.text());
    if (!json_)
      print_item("data", cat(in_.empty() ? "generated in " : "read and generated in ", ms_text(generating.ms())));
    if (!device) return compile_only(runtime, subject, host, place, why_not);
    return run_once(runtime, subject, host, *device, files);
  }

 private:
  void check_options(const Subject& subject) const {
    check_config(subject, config_);
    if (!device_.empty()) parse_device(device_);
    if (!device_.empty() && !arch_.empty()) throw wrong("give --device or --arch, not both");
    if (!arch_.empty() && (verify_ || in_place_ || !out_.empty()))
      throw wrong("--arch does not launch; it does not go with --verify, --in-place or --out");
  }

  void require_no_device_needed(const OperandFiles& files, const std::string& why_not) const {
    const char* const option = verify_ ? "--verify" : files.has_out() ? "--out" : nullptr;
    if (option == nullptr) return;
    throw Error(Code::no_device, Stage::tool, cat(option, " needs a launch, and there is no device: ", why_not));
  }

  // ---- without a device

  int compile_only(Runtime& runtime, const Subject& subject, const HostOperands& host, const Place& place,
                   const std::string& why_not) const {
    const Family& family = subject.family();
    std::vector<ObtainedImage> images;
    std::vector<ImageInfo> infos;
    const Stopwatch preparing;
    const void* const problem = subject.problem.data();
    for (const Choice& choice :
         select_configs(runtime.state(), family, problem, place_of(place.target, place.model), config_)) {
      for (const Variant& variant : choice.variants) {
        images.push_back(obtain_image(runtime.state(), {&family, choice.step, problem, place.target, variant}));
        infos.push_back(images.back().info);
      }
    }
    const double prepare_ms = preparing.ms();
    const Stopwatch computing;
    host.reference(subject.scalars);
    const double reference_ms = computing.ms();
    if (json_) {
      Row row = head_row(runtime, subject, infos, infos.front(), prepare_ms);
      row.add("kernel_us", Value()).add("bytes", Value()).add("gbs", Value());
      row.add("device", Value()).add("arch", place.target.text()).add("verified", Value()).add("max_error", Value());
      print_json("quern.run/1", row.add("reference_ms", reference_ms));
    } else {
      print_images(runtime, images, place, prepare_ms);
      print_item("reference", cat("computed in ", ms_text(reference_ms)));
      print_line("no device: not launched");
      print_line(cat("Full source and PTX: quern inspect ", subject.problem.text(), " --all"));
    }
    if (arch_.empty()) note(cat(why_not.substr(0, why_not.find(". ")), "; see `quern doctor`"));
    return kDone;
  }

  static void print_images(Runtime& runtime, const std::vector<ObtainedImage>& images, const Place& place,
                           double prepare_ms) {
    for (const ObtainedImage& image : images) {
      print_item("image",
                 cat(image.info.variant, " for ", place.target.text(), ", from ", name(image.info.origin),
                     image.info.origin == ImageOrigin::compiled ? cat(" in ", ms_text(image.info.compile_ms)) : ""));
      print_item("config", image.info.config);
      print_item("kept in", where(runtime, image.info.key));
      print_item("resources", resources_text(image.info.resources));
      print_item("loads", widths_text(image.entry->ptx, false));
      print_item("stores", widths_text(image.entry->ptx, true));
    }
    print_item("prepare", ms_text(prepare_ms));
    print_item("source", cat("the generated part of the first image, of ",
                             std::count(images.front().entry->source.begin(), images.front().entry->source.end(), '\n'),
                             " lines:"));
    print_line(spec_of(images.front().entry->source));
    print_item("ptx",
               cat(std::count(images.front().entry->ptx.begin(), images.front().entry->ptx.end(), '\n'), " lines"));
  }

  // ---- with a device

  static std::string where(Runtime& runtime, const std::string& key) {
    cache::Store& store = runtime.state().store;
    const bool on_disk = !store.directory().empty() && store.unusable().empty();
    return on_disk ? cat(store.directory(), "/", key) : cat("memory only, as ", key);
  }

  static Row head_row(Runtime& runtime, const Subject& subject, const std::vector<ImageInfo>& images,
                      const ImageInfo& launched, double prepare_ms) {
    Row row;
    row.add("family", subject.family().name).add("problem", subject.problem.text()).add("key", launched.key);
    row.add("image", name(worst_origin(images)))
        .add("compiles", static_cast<std::int64_t>(runtime.statistics().compiles.count));
    return row.add("prepare_ms", prepare_ms).add("variant", launched.variant).add("config", launched.config);
  }

  Timing measure(DeviceCase& data, const AnyPlan& plan) const {
    std::vector<Timing> timings;
    timings.reserve(static_cast<std::size_t>(repeat_));
    for (int i = 0; i < repeat_; ++i) timings.push_back(data.time(plan));
    std::sort(timings.begin(), timings.end(), [](const Timing& a, const Timing& b) { return a.us < b.us; });
    return timings[timings.size() / 2];
  }

  // Result of --verify.
  struct Verdict {
    bool equal = false;
    double max_error = 0;
    std::string difference;
    double ms = 0;
  };

  static Verdict verdict_of(const Subject& subject, const HostOperands& host, const HostOperands& got,
                            const DeviceCase& data) {
    const Stopwatch comparing;
    const Comparison comparison = compare(got, host.reference(subject.scalars));
    const std::string damage = data.damage();
    Verdict verdict{comparison.equal && damage.empty(), comparison.max_error, comparison.difference, comparing.ms()};
    if (comparison.equal && !damage.empty()) verdict.difference = cat("the kernel changed ", damage);
    return verdict;
  }

  int run_once(Runtime& runtime, const Subject& subject, const HostOperands& host, const OpenDevice& device,
               const OperandFiles& files) const {
    const Stopwatch preparing;
    PrepareOptions options;
    options.config = config_;
    const AnyPlan plan = runtime.prepare_any(subject.family(), subject.problem.data(), options);
    const double prepare_ms = preparing.ms();
    const Stopwatch uploading;
    DeviceCase data(*device.driver, device.device, host, subject.scalars, offset_,
                    in_place_ ? outputs_in_place(host) : std::vector<InPlace>());
    const double upload_ms = uploading.ms();
    const bool launched = data.launch(plan);
    const HostOperands got = data.download();
    std::optional<Verdict> verdict;
    if (verify_) verdict = verdict_of(subject, host, got, data);
    files.save(got);
    const Timing timing = launched && !device.device.emulated ? measure(data, plan) : Timing{};
    const std::vector<ImageInfo> images = launched ? launched_images(plan, data) : std::vector{plan.images().front()};
    if (json_) {
      Row row = head_row(runtime, subject, plan.images(), images.front(), prepare_ms);
      print_json("quern.run/1", finish_row(row, device, timing, data.bytes(), verdict));
    } else {
      print_launch(runtime, plan, images, device, prepare_ms, upload_ms);
      if (!device.device.emulated) print_timing(timing, data.bytes(), launched);
      if (device.device.emulated)
        print_item("kernel", launched ? "run by the host driver: not timed" : "nothing to launch");
      print_result(files, verdict);
    }
    if (verdict && !verdict->equal) note(cat("quern: the result disagrees with the reference: ", verdict->difference));
    return verdict && !verdict->equal ? kFailed : kDone;
  }

  static Row finish_row(Row row, const OpenDevice& device, const Timing& timing, std::int64_t bytes,
                        const std::optional<Verdict>& verdict) {
    row.add("kernel_us", timing.timed() ? Value(timing.us) : Value()).add("bytes", bytes);
    row.add("gbs", timing.timed() ? Value(gigabytes_a_second(bytes, timing.us)) : Value());
    row.add("device", device.name()).add("arch", device.target.text());
    row.add("verified", verdict ? Value(verdict->equal) : Value());
    row.add("max_error", verdict ? Value(verdict->max_error) : Value());
    return row.add("reference_ms", verdict ? Value(verdict->ms) : Value());
  }

  // One a step.
  static std::vector<ImageInfo> launched_images(const AnyPlan& plan, const DeviceCase& data) {
    std::vector<ImageInfo> images;
    for (std::size_t step = 0; step < plan.state()->steps.size(); ++step)
      images.push_back(plan.images()[data.image_of(plan, step)]);
    return images;
  }

  static void print_launch(Runtime& runtime, const AnyPlan& plan, const std::vector<ImageInfo>& images,
                           const OpenDevice& device, double prepare_ms, double upload_ms) {
    print_item("device", cat(device.device.name, " (", device.host() ? "host:" : "cuda:", device.device.ordinal, ", ",
                             device.target.text(), ")"));
    for (const ImageInfo& each : plan.images())
      print_item("image", cat(each.variant, " from ", name(each.origin),
                              each.origin == ImageOrigin::compiled ? cat(" in ", ms_text(each.compile_ms)) : "", ", ",
                              resources_text(each.resources)));
    for (const ImageInfo& image : images) print_item("launched", cat(image.variant, ", ", image.config));
    print_item("kept in", where(runtime, images.front().key));
    print_item("prepare", ms_text(prepare_ms));
    print_item("upload", ms_text(upload_ms));
  }

  static void print_timing(const Timing& timing, std::int64_t bytes, bool launched) {
    if (!launched) return print_item("kernel", "the problem is empty: nothing to launch");
    print_item("kernel",
               cat(fixed(timing.us, 2), " us, the median of ", timing.samples.size(), " (", fixed(timing.us_p20, 2),
                   " to ", fixed(timing.us_p80, 2), "), cold L2 by ", timing.method));
    print_item("speed", cat(fixed(gigabytes_a_second(bytes, timing.us), 0), " GB/s, ", bytes, " bytes"));
  }

  static void print_result(const OperandFiles& files, const std::optional<Verdict>& verdict) {
    for (const std::string& path : files.out_paths()) print_item("written", path);
    if (!verdict) return;
    print_item("verified", cat(verdict->equal ? "yes" : "NO", ", largest error ", text_of(Value(verdict->max_error, 0)),
                               " ulp, in ", ms_text(verdict->ms)));
  }

  std::vector<std::string> words_;
  std::vector<std::string> in_;
  std::vector<std::string> out_;
  std::vector<std::string> set_;
  std::string device_;
  std::string arch_;
  std::string config_;
  int seed_ = 1;
  int offset_ = 0;
  int repeat_ = 1;
  bool in_place_ = false;
  bool verify_ = false;
  bool wild_ = false;
  bool json_ = false;
};

const Registration<Run> register_run("run", "Specializes, compiles, launches and times a problem");

}  // namespace
}  // namespace quern::tool
