// quern inspect FAMILY k=v …: the generated source, and what the compiler made of it.
#include <algorithm>

#include "api/configs.h"
#include "api/images.h"
#include "base/text.h"
#include "commands/image_analysis.h"
#include "driver/library.h"
#include "io/arguments.h"
#include "io/output.h"
#include "io/subject.h"
#include "testbench/open_device.h"

namespace quern::tool {
namespace {

struct Inspected {
  ObtainedImage image;
  Block block;
  int blocks = 0;  // per SM
};

class Inspect : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("FAMILY [FIELD=VALUE...]", words_, "The problem, as `quern describe FAMILY` shows it");
    arguments.option("--arch ARCH", arch_, "Architecture; default sm_90a");
    arguments.option("--device-model MODEL", model_, "Device model, by name");
    arguments.option("--device DEVICE", device_, "Ask this device's driver for the occupancy, cuda:0");
    arguments.option("--config CONFIG", config_, "Changes to the default config of the first image");
    arguments.option("--variant N", variant_, {0, kMaxSteps * kMaxVariants - 1}, "Only this image, counted from 0");
    arguments.flag("--source", source_, "Print the generated source");
    arguments.flag("--ptx", ptx_, "Print the PTX");
    arguments.flag("--accesses", accesses_, "Run it on the host driver and print whether its accesses are coalesced");
    arguments.flag("--all", all_, "Print everything");
    arguments.flag("--json", json_, "Print a JSON line an image");
    arguments.example("quern inspect pointwise activation=silu --arch sm_100a", "Registers, spills, widths, occupancy");
    arguments.example("quern inspect pointwise activation=silu --ptx --variant 0 >silu.ptx", "The PTX of one image");
    arguments.example("quern inspect pointwise rows=64 --accesses", "Are its loads and stores coalesced?");
  }

  int run(const Global& global) override {
    Runtime runtime(runtime_options(global));
    const Subject subject = parse_subject(runtime, words_);
    check_config(subject, config_);
    Place place = parse_place(runtime, arch_, model_);
    if (!device_.empty()) parse_device(device_);
    if (accesses_ && (variant_ >= 0 || !device_.empty() || source_ || ptx_ || all_))
      throw wrong(
          "--accesses is about the image that a launch uses; give it with --arch, --device-model and --config only");
    if (!device_.empty() && !(arch_.empty() && model_.empty())) throw wrong("give --device or --arch, not both");
    if (accesses_) return print_accesses(global, subject, place);
    std::optional<OpenDevice> device;
    if (!device_.empty()) {
      device = open_device(runtime, parse_device(device_));
      place = {device->target, model_of(device->device)};
    }
    for (const Wanted& wanted : chosen(runtime, subject, place, device))
      print_image(subject, place, device, look(runtime, subject, place, device, wanted));
    return kDone;
  }

 private:
  int print_accesses(const Global& global, const Subject& subject, const Place& place) const {
    Runtime runtime(runtime_options(global));
    print_rows("quern.inspect.accesses/1", access_rows(runtime, subject, config_, place.model), json_);
    return kDone;
  }

  struct Wanted {
    const Step* step;
    Variant variant;
  };

  std::vector<Wanted> chosen(Runtime& runtime, const Subject& subject, const Place& place,
                             const std::optional<OpenDevice>& device) const {
    const ConfigPlace where{place.target, place.model, device ? device->device.name : place.model.name};
    std::vector<Wanted> all;
    for (const Choice& choice :
         select_configs(runtime.state(), subject.family(), subject.problem.data(), where, config_)) {
      for (const Variant& variant : choice.variants) all.push_back({choice.step, variant});
    }
    if (variant_ < 0) return all;
    const auto index = static_cast<std::size_t>(variant_);
    if (index >= all.size())
      throw wrong(cat("--variant ", variant_, " does not exist; this problem has images 0 to ", all.size() - 1));
    return {all[index]};
  }

  static Inspected look(Runtime& runtime, const Subject& subject, const Place& place,
                        const std::optional<OpenDevice>& device, const Wanted& wanted) {
    Inspected inspected;
    inspected.image = obtain_image(
        runtime.state(), {&subject.family(), wanted.step, subject.problem.data(), place.target, wanted.variant});
    inspected.block = block_of(subject, *wanted.step, place.model, wanted.variant.config);
    const Resources& resources = inspected.image.info.resources;
    if (device) {
      const cache::Entry& entry = *inspected.image.entry;
      const Library library(device->driver, entry.cubin.empty() ? entry.ptx : entry.cubin, entry.kernel);
      inspected.blocks = library.blocks_per_multiprocessor(inspected.block.threads,
                                                           static_cast<std::size_t>(inspected.block.shared_bytes));
    } else {
      inspected.blocks = blocks_that_fit(resources, inspected.block, place.model);
    }
    return inspected;
  }

  void print_image(const Subject& subject, const Place& place, const std::optional<OpenDevice>& device,
                   const Inspected& inspected) const {
    if (json_) return print_json("quern.inspect/1", to_row(subject, place, device, inspected));
    if (all_ || (!source_ && !ptx_)) print_summary(subject, place, device, inspected);
    if (source_ || all_) print(inspected.image.entry->source);
    if (ptx_ || all_) print(inspected.image.entry->ptx);
  }

  static double occupancy(const Inspected& inspected, const DeviceModel& model) {
    return 100.0 * inspected.blocks * inspected.block.threads / model.threads_per_multiprocessor;
  }

  static std::string said_by(const std::optional<OpenDevice>& device, const Place& place) {
    return device ? cat("driver of ", device->device.name) : cat("computed for ", place.model.name);
  }

  static void print_summary(const Subject& subject, const Place& place, const std::optional<OpenDevice>& device,
                            const Inspected& inspected) {
    const ImageInfo& info = inspected.image.info;
    const Resources& r = info.resources;
    const std::string& ptx = inspected.image.entry->ptx;
    print_item("problem", subject.problem.text());
    print_item("image", cat(info.step, info.step.empty() ? "" : ", ", info.variant, " for addresses aligned to ",
                            static_cast<int>(info.alignment), ", ", place.target.text(), ", from ", name(info.origin)));
    print_item("config", info.config);
    print_item("key", info.key);
    print_item("resources", cat(r.registers, " registers, ", r.shared_bytes, " B shared, ", r.stack_bytes, " B stack, ",
                                r.spill_store_bytes, " B spilled, ", r.spill_load_bytes, " B reloaded"));
    print_item("loads", widths_text(ptx, false));
    print_item("stores", widths_text(ptx, true));
    print_item("occupancy", cat(inspected.blocks, " blocks of ", inspected.block.threads, " threads, ",
                                fixed(occupancy(inspected, place.model), 0), " % (", said_by(device, place), ")\n"));
  }

  Row to_row(const Subject& subject, const Place& place, const std::optional<OpenDevice>& device,
             const Inspected& inspected) const {
    const ImageInfo& info = inspected.image.info;
    const Resources& r = info.resources;
    const std::string& ptx = inspected.image.entry->ptx;
    Row row;
    row.add("family", subject.family().name).add("problem", subject.problem.text()).add("arch", place.target.text());
    if (!info.step.empty()) row.add("step", info.step);
    row.add("variant", info.variant).add("config", info.config).add("alignment", static_cast<int>(info.alignment));
    row.add("key", info.key).add("image", name(info.origin)).add("compile_ms", info.compile_ms);
    row.add("registers", r.registers).add("shared_bytes", r.shared_bytes).add("stack_bytes", r.stack_bytes);
    row.add("spill_store_bytes", r.spill_store_bytes).add("spill_load_bytes", r.spill_load_bytes);
    row.add("loads", widths_row(ptx, false)).add("stores", widths_row(ptx, true));
    row.add("threads", inspected.block.threads).add("blocks_per_multiprocessor", inspected.blocks);
    row.add("occupancy_percent", occupancy(inspected, place.model)).add("occupancy_by", said_by(device, place));
    if (source_ || all_) row.add("source", inspected.image.entry->source);
    if (ptx_ || all_) row.add("ptx", inspected.image.entry->ptx);
    return row;
  }

  std::vector<std::string> words_;
  std::string arch_;
  std::string model_;
  std::string device_;
  std::string config_;
  int variant_ = -1;
  bool source_ = false;
  bool ptx_ = false;
  bool accesses_ = false;
  bool all_ = false;
  bool json_ = false;
};

const Registration<Inspect> register_inspect("inspect", "Source, PTX, resources, accesses and occupancy of each image");

}  // namespace
}  // namespace quern::tool
