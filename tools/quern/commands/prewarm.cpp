// quern prewarm FAMILY k=v … | --manifest F: compiles ahead of time. Opens a device only for `--arch native`.
#include <optional>
#include <set>

#include "api/configs.h"
#include "api/images.h"
#include "api/runtime_state.h"
#include "base/text.h"
#include "cache/transfer.h"
#include "commands/prewarm_items.h"
#include "io/arguments.h"
#include "io/gunzip.h"
#include "io/jobs.h"
#include "io/named_file.h"
#include "io/output.h"
#include "io/progress.h"
#include "io/stopwatch.h"
#include "io/subject.h"

namespace quern::tool {
namespace {

struct Outcome {
  std::optional<Prewarmed> made;
  std::optional<Error> error;
  double ms = 0;
};

// Result of --check for an item.
struct Presence {
  std::size_t images = 0;
  std::size_t missing = 0;
};

class Prewarm : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("[FAMILY [FIELD=VALUE...]]", request_.words, "The problem, as `quern describe FAMILY` shows it");
    arguments.option("--manifest FILE", request_.manifest,
                     "Problems of a file instead, - for standard input: JSON lines, as written by QUERN_MANIFEST");
    arguments.option("--arch ARCH,...", request_.arch,
                     "Architectures; default sm_90a, or those of each line of the manifest; also h200, native (the "
                     "first GPU's) and all");
    arguments.option("--device-model MODEL", request_.device_model, "Only images for this device model");
    arguments.option("--config CONFIG", request_.config, "Changes to the default config, threads=128,unroll=2 for two");
    arguments.option("--jobs N", jobs_, kJobs, "Parallel compiles; default one per core");
    arguments.option("--pack FILE", pack_, "Add the images to this pack too; images already in it stay");
    arguments.flag("--compress", compress_, "Compress the pack with zstd; a compressed pack stays compressed");
    arguments.flag("--check", check_, "Compile nothing, report cache hits; exit code 3 if anything would be compiled");
    arguments.flag("--keep-going", request_.keep_going,
                   "Report bad lines of the manifest and compile the others; exit code 3");
    arguments.flag("--json", json_, "Print a JSON line for each item when it is done");
    arguments.note("--arch, --device-model and --config override those of a manifest's line.");
    arguments.example("quern prewarm gather width=7168 --arch sm_90a,sm_100a", "One problem, for two architectures");
    arguments.example("quern prewarm --manifest problems.jsonl --jobs 8",
                      "What an application prepared while QUERN_MANIFEST=problems.jsonl was set");
    arguments.example("quern prewarm --manifest problems.jsonl --pack app.pack",
                      "One file of images, which QUERN_CACHE_LAYERS=app.pack uses");
    arguments.example("quern prewarm --manifest problems.jsonl --arch native --check",
                      "Is every image there that this machine will need?");
  }

  int run(const Global& global) override {
    Runtime runtime(runtime_options(global));
    check_options();
    const PrewarmItems found = prewarm_items(runtime, request_);
    if (found.items.empty() && found.bad.empty()) note(cat(text_file_name(request_.manifest), " has no problem"));
    const int code = check_ ? check(runtime, found.items) : compile(runtime, found.items, global);
    for (const BadLine& line : found.bad)
      report_error(wrong(cat(text_file_name(request_.manifest), ":", line.line, ": ", line.reason)), json_);
    return code == kDone && !found.bad.empty() ? kSomeFailed : code;
  }

 private:
  void check_options() const {
    if (check_ && (jobs_ != 0 || !pack_.empty()))
      throw wrong("--check compiles nothing; it takes neither --jobs nor --pack");
    if (compress_ && pack_.empty()) throw wrong("--compress goes with --pack");
    if (request_.keep_going && request_.manifest.empty()) throw wrong("--keep-going goes with --manifest");
    if (!pack_.empty()) cache::require_own_pack_or_nothing(follow_links(pack_));
  }

  // ---- --check

  // The keys of its images, without duplicates.
  static std::vector<cache::Key> keys_of(RuntimeState& state, const PrewarmItem& item) {
    const Family& family = item.problem.family();
    const Target target = parse_target(item.arch);
    std::vector<cache::Key> keys;
    std::set<std::string> seen;
    for (const ConfigPlace& place : places_for(state, family, target, item.device_model)) {
      for (const Choice& choice : select_configs(state, family, item.problem.data(), place, item.config)) {
        for (const Variant& variant : choice.variants) {
          cache::Key key = key_of_image(state, {&family, choice.step, item.problem.data(), target, variant, true});
          if (seen.insert(key.path()).second) keys.push_back(std::move(key));
        }
      }
    }
    return keys;
  }

  static Presence look_for(RuntimeState& state, const PrewarmItem& item) {
    Presence presence;
    for (const cache::Key& key : keys_of(state, item)) {
      ++presence.images;
      presence.missing += state.store.find(key) == nullptr ? 1 : 0;
    }
    return presence;
  }

  int check(Runtime& runtime, const std::vector<PrewarmItem>& items) const {
    RowPrinter printer("quern.prewarm.check/1", json_);
    std::size_t missing = 0;
    for (const PrewarmItem& item : items) {
      const Presence presence = look_for(runtime.state(), item);
      missing += presence.missing;
      Row row;
      row.add("problem", item.problem.text()).add("arch", item.arch);
      row.add("image", presence.missing == 0 ? "there" : "missing").add("images", presence.images);
      printer.add(row.add("missing", presence.missing));
    }
    printer.finish();
    if (missing != 0) note(cat("quern: ", missing, missing == 1 ? " image" : " images", " would be compiled"));
    return missing == 0 ? kDone : kSomeFailed;
  }

  // ---- compiling

  int compile(Runtime& runtime, const std::vector<PrewarmItem>& items, const Global& global) const {
    // Images compiled ahead of time must be kept.
    if (pack_.empty())
      require_store(runtime, global,
                    "prewarm needs a writable directory (--cache-dir or QUERN_CACHE_DIR) or a pack (--pack)");
    if (request_.manifest.empty()) try_again(runtime.state(), items);
    const std::vector<Outcome> outcomes = compile_all(runtime, items);
    cache::Store& store = runtime.state().store;
    const bool kept = pack_.empty() ? all_kept(runtime.state(), items, outcomes) : write_pack(store);
    report(items, outcomes);
    const int code = exit_of(outcomes);
    return code == kDone && !kept ? kSomeFailed : code;
  }

  // A typed problem is compiled even if its compile failed a short while ago.
  static void try_again(RuntimeState& state, const std::vector<PrewarmItem>& items) {
    for (const PrewarmItem& item : items) {
      for (const cache::Key& key : keys_of(state, item)) state.store.forget_failure(key);
    }
  }

  // The images in memory are those of this call. Returns false, with a note, if an image that the pack held before
  // could not be kept.
  bool write_pack(cache::Store& store) const {
    std::vector<cache::EntryPointer> entries;
    for (const cache::EntryPointer& entry : store.resident()) entries.push_back(store.whole(entry));
    if (std::erase(entries, nullptr) != 0)
      note("images of a damaged pack are skipped; `quern cache verify` names them");
    const cache::Transfer done = cache::add_to_pack(entries, follow_links(pack_),
                                                    compress_ ? cache::PackForm::compressed : cache::PackForm::plain);
    note(cat(pack_, " holds ", done.entries, " images, ", human_bytes(static_cast<double>(done.bytes))));
    if (done.damaged != 0)
      note(cat(done.damaged, " images of the old pack were damaged, and are skipped; prewarm their problems again"));
    return done.damaged == 0;
  }

  // Notes images that could not be kept. Other images may be evicted, as the limits demand.
  static bool all_kept(RuntimeState& state, const std::vector<PrewarmItem>& items,
                       const std::vector<Outcome>& outcomes) {
    std::size_t lost = 0;
    state.store.flush();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!outcomes[i].made) continue;
      for (const cache::Key& key : keys_of(state, items[i])) lost += state.store.is_kept(key) ? 0 : 1;
    }
    const std::uint64_t evicted = state.store.counters().evictions;
    if (evicted != 0)
      note(cat(evicted,
               " least recently used images were evicted to make room; QUERN_CACHE_MAX_BYTES and "
               "QUERN_CACHE_MAX_ENTRIES are the limits"));
    if (lost != 0)
      note(cat(lost, lost == 1 ? " image" : " images",
               " of these problems could not be kept; the warnings, or --log info, say why"));
    return lost == 0;
  }

  static Outcome compile_one(Runtime& runtime, const PrewarmItem& item) {
    Outcome outcome;
    const Stopwatch compiling;
    try {
      outcome.made =
          runtime.prewarm(item.problem.family(), item.problem.data(), item.arch, item.device_model, item.config);
    } catch (const Error& error) {
      outcome.error = error;
    } catch (const std::exception& error) {
      outcome.error = Error(Code::io, Stage::tool, error.what());
    }
    outcome.ms = compiling.ms();
    return outcome;
  }

  // With --json rows are printed as they are done, else all at the end.
  std::vector<Outcome> compile_all(Runtime& runtime, const std::vector<PrewarmItem>& items) const {
    std::vector<Outcome> outcomes(items.size());
    Progress progress(items.size(), 0, stderr_screen(json_));
    progress.show(0, "compiling");
    run_jobs(
        items.size(), jobs_, [&](std::size_t i) { outcomes[i] = compile_one(runtime, items[i]); },
        [&](std::size_t finished, std::size_t last) {
          if (json_) print_json("quern.prewarm/1", row_of(items[last], outcomes[last]));
          progress.show(finished, items[last].problem.text());
        });
    return outcomes;
  }

  static Row row_of(const PrewarmItem& item, const Outcome& outcome) {
    Row row;
    row.add("problem", item.problem.text()).add("arch", item.arch);
    row.add("image", outcome.made ? name(worst_origin(outcome.made->images)) : "failed");
    row.add("images", outcome.made ? Value(outcome.made->images.size()) : Value()).add("ms", Value(outcome.ms, 1));
    return row.add("error", outcome.error ? Value(outcome.error->sentence) : Value());
  }

  // The sentences of errors follow the table, not inside it.
  void report(const std::vector<PrewarmItem>& items, const std::vector<Outcome>& outcomes) const {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < items.size(); ++i) {
      rows.push_back(row_of(items[i], outcomes[i]));
      rows.back().fields.pop_back();
    }
    if (!json_) print_table(rows);
    for (const Outcome& outcome : outcomes) {
      if (outcome.error) report_error(*outcome.error, false);
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

  PrewarmRequest request_;
  std::string pack_;
  bool compress_ = false;
  int jobs_ = 0;
  bool check_ = false;
  bool json_ = false;
};

const Registration<Prewarm> register_prewarm("prewarm", "Compiles problems ahead of time; needs no GPU");

}  // namespace
}  // namespace quern::tool
