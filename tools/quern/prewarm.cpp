// quern prewarm FAMILY k=v … | --manifest F: compiles ahead of time. Looks for a device for `--arch native` alone.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "api/images.h"
#include "api/runtime_state.h"
#include "arguments.h"
#include "base/files.h"
#include "base/text.h"
#include "cache/transfer.h"
#include "jobs.h"
#include "manifest.h"
#include "named_file.h"
#include "output.h"
#include "plan/problem.h"
#include "progress.h"
#include "subject.h"

namespace quern::tool {
namespace {

// One problem for one architecture.
struct Item {
  AnyProblem problem;
  std::string arch;
  std::string device_model;
  std::string config;
};

// What `--arch all` means: what a device of each known architecture asks for.
std::set<std::string> all_architectures() {
  std::set<std::string> names;
  for (const DeviceModel& model : device_models()) names.insert(target_of(model.arch).text());
  return names;
}

struct Outcome {
  std::optional<Prewarmed> made;
  std::optional<Error> error;
  double ms = 0;
};

class Prewarm : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("[FAMILY [FIELD=VALUE...]]", words_, "The problem, as `quern describe FAMILY` shows it");
    arguments.option("--manifest FILE", manifest_,
                     "Problems of a file instead: JSON lines, as QUERN_MANIFEST writes them");
    arguments.option("--arch ARCH,...", arch_,
                     "Architectures; default sm_90a, or what each line of the manifest says; also h200, native (the "
                     "first GPU's) and all");
    arguments.option("--device-model MODEL", model_, "Only what this device model asks for");
    arguments.option("--config CONFIG", config_, "Changes to the default config, threads=128,unroll=2 for two");
    arguments.option("--jobs N", jobs_, kJobs, "Compiles at a time; default one a core");
    arguments.option("--pack FILE", pack_, "Put the images into this pack too, with what it holds already");
    arguments.flag("--json", json_, "Print a JSON line an item");
    arguments.note("--arch, --device-model and --config win over what a manifest's line says of itself.");
    arguments.example("quern prewarm gather width=7168 --arch sm_90a,sm_100a", "One problem, for two architectures");
    arguments.example("quern prewarm --manifest problems.jsonl --jobs 8",
                      "What an application prepared while QUERN_MANIFEST=problems.jsonl was set");
    arguments.example("quern prewarm --manifest problems.jsonl --pack app.pack",
                      "One file of images, which QUERN_CACHE_LAYERS=app.pack uses");
  }

  int run(const Global& global) override {
    Runtime runtime(runtime_options(global));
    const std::vector<Item> items = manifest_.empty() ? typed_items(runtime) : manifest_items(runtime);
    if (!pack_.empty()) cache::require_pack_or_nothing(follow_links(pack_));
    if (pack_.empty()) require_store(runtime.state(), global);
    const std::vector<Outcome> outcomes = compile(runtime, items);
    if (!pack_.empty()) write_pack(runtime.state().store);
    report(items, outcomes);
    const bool kept = !pack_.empty() || all_kept(runtime.state().store.counters());
    const int code = exit_of(outcomes);
    return code == kDone && !kept ? kSomeFailed : code;
  }

 private:
  // Each architecture of --arch, or the model's own.
  std::vector<std::string> architectures(Runtime& runtime) const {
    if (arch_.empty()) return {parse_place(runtime, "", model_).target.text()};
    std::vector<std::string> names;
    for (const std::string_view part : split(arch_, ',')) {
      const std::string name(trim(part));
      if (lower(name) == "all") {
        for (const std::string& each : all_architectures()) names.push_back(each);
      } else {
        names.push_back(parse_place(runtime, name, model_).target.text());
      }
    }
    return names;
  }

  // Everything that can be wrong with an item is said before anything is compiled.
  static void check(Runtime& runtime, const Item& item) {
    const Family& family = item.problem.family();
    check_problem(family, item.problem.data());
    const Place place = parse_place(runtime, item.arch, item.device_model);
    choose_variants(family, item.problem.data(), place.target, place.model, item.config);
  }

  std::vector<Item> typed_items(Runtime& runtime) const {
    const Subject subject = parse_subject(runtime, words_);
    std::vector<Item> items;
    for (const std::string& arch : architectures(runtime)) {
      items.push_back({subject.problem, arch, model_, config_});
      check(runtime, items.back());
    }
    return items;
  }

  // What was typed wins over what the line says itself: --arch and --device-model over either, --config over its own.
  void add_line(Runtime& runtime, const ManifestItem& line, std::vector<Item>& items) const {
    const bool place_typed = !arch_.empty() || !model_.empty();
    const std::vector<std::string> names = place_typed ? architectures(runtime) : std::vector<std::string>{line.arch};
    const std::string model = place_typed ? model_ : line.device_model;
    for (const std::string& arch : names) {
      Item item{runtime.parse(line.problem), arch, model, config_.empty() ? line.config : config_};
      check(runtime, item);
      item.arch = parse_place(runtime, arch, model).target.text();
      items.push_back(std::move(item));
    }
  }

  // Lines that differ only in what was overridden ask for the same.
  static void drop_repeats(std::vector<Item>& items) {
    std::set<std::string> seen;
    const auto repeats = [&](const Item& item) {
      return !seen.insert(cat(item.problem.text(), "\n", item.arch, "\n", item.device_model, "\n", item.config)).second;
    };
    items.erase(std::remove_if(items.begin(), items.end(), repeats), items.end());
  }

  std::vector<Item> manifest_items(Runtime& runtime) const {
    if (!words_.empty()) throw wrong("give a problem or --manifest, not both");
    const auto text = read_file(manifest_);
    if (!text) throw wrong(cat("--manifest ", manifest_, " cannot be read; a file of JSON lines is accepted"));
    Manifest manifest = parse_manifest(*text);
    architectures(runtime);  // a wrong --arch is not the lines' fault
    std::vector<Item> items;
    for (const ManifestItem& line : manifest.items) {
      try {
        add_line(runtime, line, items);
      } catch (const Error& error) {
        manifest.bad.push_back({line.line, error.sentence});
      }
    }
    if (!manifest.bad.empty()) refuse_lines(manifest.bad);
    drop_repeats(items);
    return items;
  }

  [[noreturn]] void refuse_lines(std::vector<BadLine>& bad) const {
    std::sort(bad.begin(), bad.end(), [](const BadLine& a, const BadLine& b) { return a.line < b.line; });
    std::string sentence =
        cat(manifest_, " has ", bad.size(), bad.size() == 1 ? " bad line" : " bad lines", "; nothing was compiled");
    for (const BadLine& line : bad) sentence += cat("\n  line ", line.line, ": ", line.reason);
    throw wrong(std::move(sentence));
  }

  // What is compiled ahead of time and not kept would help nobody.
  static void require_store(RuntimeState& state, const Global& global) {
    std::string why = state.store.unusable();
    if (*state.options.cache_mode != CacheMode::read_write) why = "the cache is read-only or off (QUERN_CACHE)";
    if (why.empty()) return;
    const Code code = global.cache_dir.empty() ? Code::io : Code::bad_input;
    throw Error(
        code, Stage::store,
        cat(why, ". prewarm needs a directory it may write (--cache-dir or QUERN_CACHE_DIR) or a pack (--pack)"));
  }

  // What memory holds is what was asked for.
  void write_pack(cache::Store& store) const {
    const cache::Transfer done = cache::add_to_pack(store.resident(), follow_links(pack_));
    note(cat(pack_, " holds ", done.entries, " images, ", human_bytes(static_cast<double>(done.bytes))));
  }

  // Says so where not.
  static bool all_kept(const cache::Counters& counters) {
    if (counters.not_stored + counters.evictions == 0) return true;
    note(cat(
        counters.not_stored, " images could not be kept, and ", counters.evictions,
        " went to make room; QUERN_CACHE_MAX_BYTES and QUERN_CACHE_MAX_ENTRIES are the limits, --log info says more"));
    return false;
  }

  static Outcome compile_one(Runtime& runtime, const Item& item) {
    Outcome outcome;
    const auto start = std::chrono::steady_clock::now();
    try {
      outcome.made =
          runtime.prewarm(item.problem.family(), item.problem.data(), item.arch, item.device_model, item.config);
    } catch (const Error& error) {
      outcome.error = error;
    } catch (const std::exception& error) {
      outcome.error = Error(Code::io, Stage::tool, error.what());
    }
    outcome.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return outcome;
  }

  std::vector<Outcome> compile(Runtime& runtime, const std::vector<Item>& items) const {
    std::vector<Outcome> outcomes(items.size());
    Progress progress(items.size());
    progress.show(0, "compiling");
    run_jobs(
        items.size(), jobs_, [&](std::size_t i) { outcomes[i] = compile_one(runtime, items[i]); },
        [&](std::size_t finished, std::size_t last) { progress.show(finished, items[last].problem.text()); });
    return outcomes;
  }

  void report(const std::vector<Item>& items, const std::vector<Outcome>& outcomes) const {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Outcome& outcome = outcomes[i];
      const char* image = outcome.made ? name(worst_origin(outcome.made->images)) : "failed";
      Row row;
      row.add("problem", items[i].problem.text()).add("arch", items[i].arch).add("image", image);
      row.add("images", outcome.made ? Value(outcome.made->images.size()) : Value());
      row.add("ms", Value(outcome.ms, 1));
      if (json_ && outcome.error) row.add("error", outcome.error->sentence);
      rows.push_back(std::move(row));
    }
    print_rows(rows, json_);
    for (const Outcome& outcome : outcomes) {
      if (outcome.error) print_error(*outcome.error);
    }
  }

  static int exit_of(const std::vector<Outcome>& outcomes) {
    int code = kDone;
    for (const Outcome& outcome : outcomes) {
      if (!outcome.error) continue;
      if (outcome.error->code == Code::no_compiler) return kNoCompiler;
      code = kSomeFailed;
    }
    return code;
  }

  std::vector<std::string> words_;
  std::string manifest_;
  std::string arch_;
  std::string model_;
  std::string config_;
  std::string pack_;
  int jobs_ = 0;
  bool json_ = false;
};

const Registration<Prewarm> registration("prewarm", "Compiles problems ahead of time; needs no GPU");

}  // namespace
}  // namespace quern::tool
