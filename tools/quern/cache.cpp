// quern cache: the images on disk.
#include <algorithm>
#include <ctime>
#include <iterator>

#include "api/runtime_state.h"
#include "arguments.h"
#include "base/environment.h"
#include "base/text.h"
#include "cache/key.h"
#include "cache/transfer.h"
#include "cache_actions.h"
#include "named_file.h"
#include "output.h"

namespace quern::tool {
namespace {

std::string time_text(std::int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

Row layer_row(const cache::LayerReport& layer, const std::vector<cache::Item>& items) {
  std::uint64_t bytes = 0;
  std::size_t entries = 0;
  std::size_t damaged = 0;
  for (const cache::Item& item : items) {
    if (item.layer != layer.path) continue;
    ++entries;
    bytes += item.bytes;
    damaged += item.damage.empty() ? 0 : 1;
  }
  Row row;
  row.add("layer", layer.path).add("kind", layer.kind).add("writable", layer.writable);
  row.add("entries", entries).add("bytes", number(bytes)).add("damaged", damaged);
  return row.add("unusable", layer.unusable.empty() ? Value() : Value(layer.unusable));
}

int stats(Runtime& runtime, const CacheArguments& arguments) {
  cache::Store& store = runtime.state().store;
  std::uint64_t bytes = 0;
  std::size_t entries = 0;
  std::size_t damaged = 0;
  const auto items = store.list();
  for (const cache::Item& item : items) {
    if (item.layer != store.directory()) continue;
    ++entries;
    bytes += item.bytes;
    damaged += item.damage.empty() ? 0 : 1;
  }
  const std::string unusable = store.unusable();
  Value::Rows layers;
  for (const cache::LayerReport& layer : store.layers()) layers.push_back(layer_row(layer, items));
  Row row;
  row.add("dir", store.directory()).add("entries", entries).add("bytes", number(bytes)).add("damaged", damaged);
  row.add("max_bytes", number(store.limits().bytes)).add("max_entries", number(store.limits().entries));
  row.add("usable", unusable.empty() && !store.directory().empty());
  if (!unusable.empty()) row.add("why_not", unusable);
  if (arguments.json) {
    print_json(row.add("layers", layers));
    return kDone;
  }
  print_rows({row}, false);
  if (layers.size() > 1) {
    print_line("\nLayers, in the order in which they are asked:");
    print_table(layers);
  }
  return kDone;
}

int list(Runtime& runtime, const CacheArguments& arguments) {
  cache::Store& store = runtime.state().store;
  const bool several = store.layers().size() > 1;
  std::vector<Row> rows;
  for (const cache::Item& item : store.list()) {
    Row row;
    row.add("key", arguments.json ? item.key : item.key.substr(0, 16));
    if (several || arguments.json) row.add("layer", item.layer);
    row.add("family", key_field(item.what, "family"))
        .add("target", key_field(item.what, "target"))
        .add("bytes", number(item.bytes))
        .add("prewarmed", item.prewarmed)
        .add("compiler", item.compiler)
        .add("created", item.damage.empty() ? Value(time_text(item.created_unix_ns)) : Value())
        .add("used", item.used_unix_ns != 0 ? Value(time_text(item.used_unix_ns)) : Value())
        .add("damage", item.damage.empty() ? Value() : Value(item.damage));
    rows.push_back(std::move(row));
  }
  print_rows(rows, arguments.json);
  if (rows.empty()) note(cat(store.directory(), " has no entries"));
  return kDone;
}

// The one key that starts like this.
std::string find_key(cache::Store& store, const std::string& wanted) {
  std::vector<std::string> all;
  std::vector<std::string> matches;
  for (const cache::Item& item : store.list()) {
    all.push_back(item.key);
    if (item.key.compare(0, wanted.size(), wanted) == 0) matches.push_back(item.key);
  }
  std::sort(matches.begin(), matches.end());
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());  // several layers may have it
  if (matches.size() == 1) return matches.front();
  if (all.empty()) throw wrong(cat("there is no key ", wanted, ": ", store.directory(), " has no entries"));
  std::vector<std::string>& shown = matches.empty() ? all : matches;
  shown.resize(std::min<std::size_t>(shown.size(), 8));
  throw wrong(cat(matches.empty() ? "no key starts with " : "several keys start with ", wanted,
                  "; accepted would be, for one:\n  ", join(shown, "\n  ")));
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
    print_json(row.add("what", to_rows(entry.what)).add("who", to_rows(entry.who)));
    return;
  }
  for (const auto& [name, value] : row.fields) print_item(name, text_of(value));
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
  require_writable(runtime);
  cache::Store& store = runtime.state().store;
  const std::size_t removed = store.clear();
  const auto left = store.list();
  const bool whole =
      std::none_of(left.begin(), left.end(), [&](const cache::Item& item) { return item.layer == store.directory(); });
  if (arguments.json) print_json(Row().add("dir", store.directory()).add("removed", removed));
  if (!arguments.json) print_line(cat("removed ", removed, " entries from ", store.directory()));
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
  const cache::Transfer done = cache::export_pack(store, follow_links(path));
  print_rows({Row()
                  .add("pack", path)
                  .add("entries", done.entries)
                  .add("bytes", number(done.bytes))
                  .add("damaged", done.damaged)},
             arguments.json);
  return done.damaged == 0 ? kDone : kSomeFailed;
}

int import_entries(Runtime& runtime, const CacheArguments& arguments) {
  require_writable(runtime);
  const std::string& path = arguments.words.front();
  const cache::Transfer done = cache::import_pack(runtime.state().store, path);
  print_rows({Row()
                  .add("pack", path)
                  .add("imported", done.entries)
                  .add("bytes", number(done.bytes))
                  .add("known", done.known)
                  .add("damaged", done.damaged)},
             arguments.json);
  const cache::Counters counters = runtime.state().store.counters();
  const std::uint64_t lost = counters.not_stored + counters.evictions;
  if (lost != 0)
    note(cat(
        counters.not_stored, " images could not be kept, and ", counters.evictions,
        " went to make room; QUERN_CACHE_MAX_BYTES and QUERN_CACHE_MAX_ENTRIES are the limits, --log info says more"));
  return done.damaged + lost == 0 ? kDone : kSomeFailed;
}

struct ActionRow {
  const char* name;
  const char* word;  // what it takes; null: nothing
  bool many;         // more than one
  std::string_view options;
  int (*run)(Runtime& runtime, const CacheArguments& arguments);
};
constexpr ActionRow kActions[] = {
    {"stats", nullptr, false, "", stats},
    {"list", nullptr, false, "", list},
    {"show", "a key; `quern cache list` shows them", false, "--emit", show},
    {"verify", nullptr, false, "", cache_verify},
    {"explain", "a problem, FAMILY FIELD=VALUE...", true, "--arch --device-model --config", cache_explain},
    {"prune", nullptr, false, "--max-bytes --max-entries --outdated", cache_prune},
    {"clear", nullptr, false, "", clear},
    {"export", "the file to write", false, "", export_entries},
    {"import", "the pack to read", false, "", import_entries},
};

std::string action_names() {
  std::vector<std::string> names;
  for (const ActionRow& row : kActions) names.emplace_back(row.name);
  return join(names, ", ");
}

class Cache : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("ACTION [WORD...]", words_,
                    "stats, list, show KEY (a beginning will do), verify, explain FAMILY FIELD=VALUE..., prune, clear, "
                    "export FILE or import FILE");
    arguments.option("--emit", given_.emit, "With show: print the cubin, ptx, source or log as it is");
    arguments.option("--max-bytes", given_.max_bytes, "With prune: keep so much, 500M or 2G");
    arguments.option("--max-entries", given_.max_entries, "With prune: keep so many");
    arguments.flag("--outdated", given_.outdated, "With prune: what this quern never asks for too");
    arguments.option("--arch", given_.arch, "With explain: the architecture; default sm_90a");
    arguments.option("--device-model", given_.device_model, "With explain: the device model, by name");
    arguments.option("--config", given_.config, "With explain: changes to the default config");
    arguments.flag("--json", given_.json, "Print JSON lines");
  }

  int run(const Global& global) override {
    const ActionRow& action = chosen();
    check_words(action);
    check_options(action);
    given_.words.assign(words_.begin() + 1, words_.end());
    if (action.many) check_problem_words(global);
    Runtime runtime(runtime_options(global));
    const std::string_view name = action.name;
    // What is about the directory alone has nothing to say without one.
    const std::string why = runtime.state().store.unusable();
    const bool needs = name == "list" || name == "show" || name == "verify" || name == "clear" || name == "prune";
    if (needs && !why.empty()) throw Error(Code::io, Stage::store, why);
    return action.run(runtime, given_);
  }

 private:
  const ActionRow& chosen() const {
    const std::string typed = words_.empty() ? "" : words_.front();
    for (const ActionRow& row : kActions) {
      if (typed == row.name) return row;
    }
    throw wrong(cat("quern cache takes ", action_names(), typed.empty() ? "" : cat(", not \"", typed, "\"")));
  }

  void check_words(const ActionRow& action) const {
    const std::size_t most = action.word == nullptr ? 1 : 2;
    if (words_.size() < most) throw wrong(cat("quern cache ", action.name, " takes ", action.word));
    if (words_.size() > most && !action.many)
      throw wrong(cat("quern cache ", action.name, " does not take \"", words_[most], "\""));
  }

  void check_options(const ActionRow& action) const {
    const std::pair<const char*, bool> given[] = {{"--emit", !given_.emit.empty()},
                                                  {"--max-bytes", !given_.max_bytes.empty()},
                                                  {"--max-entries", !given_.max_entries.empty()},
                                                  {"--outdated", given_.outdated},
                                                  {"--arch", !given_.arch.empty()},
                                                  {"--device-model", !given_.device_model.empty()},
                                                  {"--config", !given_.config.empty()}};
    for (const auto& [option, there] : given) {
      if (there && action.options.find(option) == std::string_view::npos)
        throw wrong(cat("quern cache ", action.name, " does not take ", option));
    }
    if (!given_.max_bytes.empty()) parse_amount(given_.max_bytes, "--max-bytes");
    if (!given_.max_entries.empty()) parse_amount(given_.max_entries, "--max-entries");
    if (!given_.emit.empty() && given_.emit != "cubin" && given_.emit != "ptx" && given_.emit != "source" &&
        given_.emit != "log")
      throw wrong(cat("--emit ", given_.emit, " means nothing; it takes cubin, ptx, source or log"));
  }

  // What was typed is looked at before any file is.
  void check_problem_words(const Global& global) const {
    Options options = runtime_options(global);
    options.cache_mode = CacheMode::off;
    check_explained(Runtime(options), given_);
  }

  std::vector<std::string> words_;
  CacheArguments given_;
};

const Registration<Cache> registration("cache",
                                       "The images on disk: what there is, why a problem hits or misses, packs");

}  // namespace

void require_writable(Runtime& runtime) {
  if (*runtime.state().options.cache_mode != CacheMode::read_write)
    throw Error(Code::io, Stage::store, "the cache is read-only or off (QUERN_CACHE), so nothing can be changed");
  const std::string why = runtime.state().store.unusable();
  if (!why.empty()) throw Error(Code::io, Stage::store, why);
}

}  // namespace quern::tool
