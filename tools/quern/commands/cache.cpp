// quern cache: the images on disk.
#include <algorithm>
#include <ctime>
#include <iterator>

#include "api/runtime_state.h"
#include "base/environment.h"
#include "base/text.h"
#include "cache/key.h"
#include "cache/transfer.h"
#include "commands/cache_actions.h"
#include "io/arguments.h"
#include "io/named_file.h"
#include "io/output.h"

namespace quern::tool {

std::string time_text(std::int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

namespace {

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void add_holding(Row& row, const Holding& holding) {
  row.add("entries", holding.entries).add("bytes", number(holding.bytes));
  row.add("damaged", holding.damaged).add("untrusted", holding.untrusted);
  row.add("newer", holding.newer);
}

Row layer_row(const cache::LayerReport& layer, const Holding& holding) {
  Row row;
  row.add("layer", layer.path).add("kind", layer.kind).add("writable", layer.writable);
  add_holding(row, holding);
  return row.add("unusable", layer.unusable.empty() ? Value() : Value(layer.unusable));
}

int stats(Runtime& runtime, const CacheArguments& arguments) {
  cache::Store& store = runtime.state().store;
  const auto items = store.list(cache::Check::header);
  const auto untrusted = all_untrusted(store, items);
  const std::string unusable = store.unusable();
  Value::Rows layers;
  for (const cache::LayerReport& layer : store.layers()) {
    layers.push_back(layer_row(layer, holding_of(layer.path, items, untrusted)));
    const std::string sentence = untrusted_sentence(store, layer.path, untrusted);
    if (!sentence.empty()) note(sentence);
  }
  Row row;
  row.add("dir", store.directory());
  add_holding(row, holding_of(store.directory(), items, untrusted));
  row.add("max_bytes", number(store.limits().bytes)).add("max_entries", number(store.limits().entries));
  row.add("usable", unusable.empty() && !store.directory().empty());
  row.add("why_not", unusable.empty() ? Value() : Value(unusable));
  if (arguments.json) {
    print_json("quern.cache.stats/1", row.add("layers", layers));
    return kDone;
  }
  print_table({row});
  if (layers.size() > 1) {
    print_line("\nLayers, highest priority first:");
    print_table(layers);
  }
  return kDone;
}

Row list_row(const cache::Item& item, bool layer, bool json) {
  const auto time = [](std::int64_t unix_ns) { return unix_ns != 0 ? Value(time_text(unix_ns)) : Value(); };
  Row row;
  row.add("key", json ? item.key : item.key.substr(0, 16));
  if (layer) row.add("layer", item.layer);
  row.add("family", key_field(item.what, "family")).add("target", key_field(item.what, "target"));
  row.add("bytes", number(item.bytes)).add("prewarmed", item.prewarmed);
  row.add("compiler", item.compiler.empty() ? key_field(item.who, "compiler") : item.compiler);
  row.add("created", item.damage.empty() ? time(item.created_unix_ns) : Value());
  row.add("used", time(item.used_unix_ns));
  row.add("damage", item.damage.empty() ? Value() : Value(item.damage));
  return row.add("failure", item.failure.empty() ? Value() : Value(item.failure));
}

int list(Runtime& runtime, const CacheArguments& arguments) {
  cache::Store& store = runtime.state().store;
  const bool several = store.layers().size() > 1;
  std::vector<cache::Item> items = store.list(cache::Check::header);
  for (cache::Item& failure : store.failures()) items.push_back(std::move(failure));
  RowPrinter printer("quern.cache.list/1", arguments.json);
  for (const cache::Item& item : items) printer.add(list_row(item, several || arguments.json, arguments.json));
  printer.finish();
  if (items.empty()) note(cat(store.directory(), " has no entries"));
  return kDone;
}

// The one key that starts with this.
std::string find_key(cache::Store& store, const std::string& wanted) {
  std::vector<std::string> matches = store.keys(wanted);
  if (matches.size() == 1) return matches.front();
  std::vector<std::string> all = matches.empty() ? store.keys("") : matches;
  if (all.empty()) throw wrong(cat("there is no key ", wanted, ": ", store.directory(), " has no entries"));
  all.resize(std::min<std::size_t>(all.size(), 8));
  throw wrong(cat(matches.empty() ? "no key starts with " : "several keys start with ", wanted,
                  "; examples of keys:\n  ", join(all, "\n  ")));
}

// Labels repeat ("header", "option"), so a JSON object could not hold them.
Value::Rows to_rows(const std::string& key_text) {
  Value::Rows rows;
  for (const auto& [name, value] : cache::parse_key_text(key_text))
    rows.push_back(Row().add("field", name).add("value", value));
  return rows;
}

void print_entry(const std::string& key, const cache::Entry& entry, bool json) {
  Row row;
  row.add("key", key).add("kernel", entry.kernel).add("compiler", entry.compiler).add("prewarmed", entry.prewarmed);
  row.add("created", time_text(entry.created_unix_ns)).add("compile_ms", Value(entry.compile_ms));
  for (const auto& [name, value] : entry.numbers) row.add(name, value);
  row.add("cubin_bytes", entry.cubin.size()).add("ptx_bytes", entry.ptx.size());
  if (json) {
    print_json("quern.cache.show/1", row.add("what", to_rows(entry.what)).add("who", to_rows(entry.who)));
    return;
  }
  for (const auto& [name, value] : row.fields) print_item(printable(name), text_of(value));
  print_line("\nWhat is built:");
  print_table(to_rows(entry.what));
  print_line("\nWho built it:");
  print_table(to_rows(entry.who));
}

const std::string& part_of(const cache::Entry& entry, const std::string& part) {
  if (part == "cubin") return entry.cubin;
  if (part == "ptx") return entry.ptx;
  return part == "source" ? entry.source : entry.log;
}

int show(Runtime& runtime, const CacheArguments& arguments) {
  cache::Store& store = runtime.state().store;
  const std::string key = find_key(store, arguments.words.front());
  std::string why_not;
  const auto entry = store.load(key, &why_not);
  if (entry == nullptr) throw Error(Code::io, Stage::store, cat("the entry ", key, " cannot be used: ", why_not));
  if (arguments.emit.empty()) {
    print_entry(key, *entry, arguments.json);
  } else {
    print(part_of(*entry, arguments.emit));
  }
  return kDone;
}

int clear(Runtime& runtime, const CacheArguments& arguments) {
  require_store(runtime, *arguments.global, "nothing can be changed");
  cache::Store& store = runtime.state().store;
  const std::size_t removed = store.clear();
  const auto left = store.list(cache::Check::header);
  const bool whole =
      std::none_of(left.begin(), left.end(), [&](const cache::Item& item) { return item.layer == store.directory(); });
  const std::string untrusted = untrusted_sentence(store, store.directory(), all_untrusted(store, left));
  if (arguments.json) print_json("quern.cache.clear/1", Row().add("dir", store.directory()).add("removed", removed));
  if (!arguments.json) print_line(cat("removed ", removed, " entries from ", store.directory()));
  if (!untrusted.empty()) throw Error(Code::io, Stage::store, cat("not all could be removed: ", untrusted));
  if (!whole) throw Error(Code::io, Stage::store, "some entries could not be removed");
  return kDone;
}

int export_entries(Runtime& runtime, const CacheArguments& arguments) {
  const std::string& path = arguments.words.front();
  cache::Store& store = runtime.state().store;
  const std::vector<cache::LayerReport> layers = store.layers();
  const bool any = std::any_of(layers.begin(), layers.end(), [](const cache::LayerReport& layer) {
    return layer.writable || layer.unusable.empty();
  });
  if (!any) {
    const std::string why = store.unusable();
    throw Error(Code::io, Stage::store, cat("there is nothing to export: ", why.empty() ? "the cache is off" : why));
  }
  const cache::Transfer done = cache::export_pack(
      store, follow_links(path), arguments.compress ? cache::PackForm::compressed : cache::PackForm::plain);
  print_rows("quern.cache.export/1",
             {Row()
                  .add("pack", path)
                  .add("entries", done.entries)
                  .add("bytes", number(done.bytes))
                  .add("damaged", done.damaged)},
             arguments.json);
  return done.damaged == 0 ? kDone : kSomeFailed;
}

int import_entries(Runtime& runtime, const CacheArguments& arguments) {
  require_store(runtime, *arguments.global, "nothing can be changed");
  const std::string& path = arguments.words.front();
  const cache::Transfer done = cache::import_pack(runtime.state().store, path, arguments.host_code);
  print_rows("quern.cache.import/1",
             {Row()
                  .add("pack", path)
                  .add("imported", done.entries)
                  .add("bytes", number(done.bytes))
                  .add("known", done.known)
                  .add("damaged", done.damaged)
                  .add("refused", done.refused)},
             arguments.json);
  if (done.refused != 0)
    note(cat(done.refused, done.refused == 1 ? " image is" : " images are",
             " CPU code (target host), which processes here would load: skipped. If you trust the origin of ", path,
             ", run `quern cache import --host-code ", path, "`"));
  const cache::Counters counters = runtime.state().store.counters();
  const std::uint64_t lost = counters.not_stored + counters.evictions;
  if (lost != 0)
    note(cat(counters.not_stored, " images could not be kept, and ", counters.evictions,
             " were evicted to make room; QUERN_CACHE_MAX_BYTES and QUERN_CACHE_MAX_ENTRIES are the limits, --log info "
             "says more"));
  return done.damaged + done.refused + lost == 0 ? kDone : kSomeFailed;
}

void declare_show(Arguments& action, CacheArguments& given) {
  action.option("--emit PART", given.emit, "Print the raw cubin, ptx, source or log");
}

void declare_explain(Arguments& action, CacheArguments& given) {
  action.option("--arch ARCH", given.arch, "Architecture; default sm_90a");
  action.option("--device-model MODEL", given.device_model, "Device model, by name");
  action.option("--config CONFIG", given.config, "Changes to the default config");
}

void declare_prune(Arguments& action, CacheArguments& given) {
  action.option("--max-bytes BYTES", given.max_bytes,
                "Keep at most this much, 500M or 2G; default QUERN_CACHE_MAX_BYTES");
  action.option("--max-entries N", given.max_entries, "Keep at most this many; default QUERN_CACHE_MAX_ENTRIES");
  action.flag("--outdated", given.outdated, "Also images that this quern never uses");
}

void declare_import(Arguments& action, CacheArguments& given) {
  action.flag("--host-code", given.host_code, "Also images of the target host: CPU code that runs on this machine");
}

void declare_export(Arguments& action, CacheArguments& given) {
  action.flag("--compress", given.compress, "With zstd: smaller, and a cache hit unpacks what it needs");
}

struct ActionRow {
  const char* name;
  const char* sentence;
  const char* form;  // of its words; null if it takes none
  const char* words;
  bool needs_directory;
  void (*declare)(Arguments& action, CacheArguments& given);  // null if it has no options
  int (*run)(Runtime& runtime, const CacheArguments& given);
  Example example;
};
const ActionRow kActions[] = {
    {"stats",
     "Entries and bytes, layer by layer",
     nullptr,
     nullptr,
     false,
     nullptr,
     stats,
     {"quern cache stats", "Entries, bytes and limits"}},
    {"list",
     "Lists the images",
     nullptr,
     nullptr,
     true,
     nullptr,
     list,
     {"quern cache list", "Keys, families, targets and ages"}},
    {"show",
     "Shows one image",
     "KEY",
     "the key of an image, or its prefix; `quern cache list` shows them",
     true,
     declare_show,
     show,
     {"quern cache show 4f1e --emit ptx", "The PTX of the image with this key prefix"}},
    {"verify",
     "Reads every image; exit code 3 if one is damaged",
     nullptr,
     nullptr,
     true,
     nullptr,
     cache_verify,
     {"quern cache verify", "Damaged and outdated images"}},
    {"explain",
     "Explains a problem's cache hits and misses, field by field",
     "FAMILY [FIELD=VALUE...]",
     "a problem, as `quern describe FAMILY` shows it",
     false,
     declare_explain,
     cache_explain,
     {"quern cache explain gather width=7168 --arch sm_100a", "Hit or miss, and the nearest image"}},
    {"prune",
     "Removes damaged images, and the least recently used above the limits",
     nullptr,
     nullptr,
     true,
     declare_prune,
     cache_prune,
     {"quern cache prune --max-bytes 500M --outdated", "Remove outdated images, and shrink the cache to 500 MB"}},
    {"clear",
     "Removes all images of the directory",
     nullptr,
     nullptr,
     true,
     nullptr,
     clear,
     {"quern cache clear", "Every image is compiled again when it is needed"}},
    {"export",
     "Writes all images to a pack",
     "FILE",
     "the file to write",
     false,
     declare_export,
     export_entries,
     {"quern cache export app.pack", "One file, which QUERN_CACHE_LAYERS=app.pack uses"}},
    {"import",
     "Copies the images of a pack into the directory",
     "FILE",
     "the pack to read",
     false,
     declare_import,
     import_entries,
     {"quern cache import app.pack", "Its images are then in the directory"}},
};

class Cache : public Command {
 public:
  void declare(Arguments& arguments) override {
    for (const ActionRow& row : kActions) {
      Arguments& action = arguments.action(row.name, row.sentence);
      if (row.form != nullptr) action.words(row.form, given_.words, row.words);
      if (row.declare != nullptr) row.declare(action, given_);
      action.flag("--json", given_.json, "Print JSON lines");
      action.example(row.example.line.c_str(), row.example.meaning.c_str());
    }
  }

  int run(const Global& global) override {
    const ActionRow& action = *std::find_if(std::begin(kActions), std::end(kActions),
                                            [&](const ActionRow& row) { return global.action == row.name; });
    check_amounts();
    given_.global = &global;
    if (action.run == cache_explain) check_problem_words(global);
    Runtime runtime(runtime_options(global));
    // Actions on the directory cannot work without one.
    const std::string why = runtime.state().store.unusable();
    if (action.needs_directory && !why.empty()) throw store_error(global, why);
    return action.run(runtime, given_);
  }

 private:
  void check_amounts() const {
    if (!given_.max_bytes.empty()) parse_amount(given_.max_bytes, "--max-bytes");
    if (!given_.max_entries.empty()) parse_amount(given_.max_entries, "--max-entries");
  }

  // Arguments are checked before any file is opened.
  void check_problem_words(const Global& global) const {
    Options options = runtime_options(global);
    options.cache.mode = CacheMode::off;
    Runtime runtime(options);
    check_explained(runtime, given_);
  }

  CacheArguments given_;
};

const Registration<Cache> register_cache("cache", "The image cache on disk: contents, cache hits and misses, packs");

}  // namespace

}  // namespace quern::tool
