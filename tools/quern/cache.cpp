// quern cache stats|list|show|clear: the images on disk.
#include <ctime>

#include "api/runtime_state.h"
#include "arguments.h"
#include "base/text.h"
#include "cache/key.h"
#include "output.h"

namespace quern::tool {
namespace {

constexpr const char* kActions = "stats, list, show KEY or clear";

std::string time_text(std::int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string key_field(const std::string& text, std::string_view label) {
  for (const auto& [name, value] : cache::parse_key_text(text)) {
    if (name == label) return value;
  }
  return {};
}

class Cache : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("ACTION [KEY]", words_, "stats, list, show KEY (a beginning will do) or clear");
    arguments.option("--emit", emit_, "With show: print the cubin, ptx, source or log as it is");
    arguments.flag("--json", json_, "Print JSON lines");
  }

  int run(const Global& global) override {
    check_words();
    Runtime runtime(runtime_options(global));
    cache::Store& store = runtime.state().store;
    if (words_.front() == "stats") return stats(runtime.state());
    if (std::string why = store.unusable(); !why.empty()) throw Error(Code::io, Stage::store, std::move(why));
    if (words_.front() == "list") return list(store);
    return words_.front() == "show" ? show(store) : clear(runtime.state());
  }

 private:
  void check_words() const {
    const std::string action = words_.empty() ? "" : words_.front();
    const bool known = action == "stats" || action == "list" || action == "show" || action == "clear";
    if (!known) throw wrong(cat("quern cache takes ", kActions, action.empty() ? "" : cat(", not \"", action, "\"")));
    const std::size_t expected = action == "show" ? 2 : 1;
    if (words_.size() < expected) throw wrong("quern cache show takes a key; `quern cache list` shows them");
    if (words_.size() > expected) throw wrong(cat("quern cache ", action, " does not take \"", words_[expected], "\""));
    if (!emit_.empty() && action != "show") throw wrong("--emit belongs to quern cache show");
    if (!emit_.empty() && emit_ != "cubin" && emit_ != "ptx" && emit_ != "source" && emit_ != "log")
      throw wrong(cat("--emit ", emit_, " means nothing; it takes cubin, ptx, source or log"));
  }

  int stats(RuntimeState& state) const {
    std::int64_t bytes = 0;
    std::int64_t damaged = 0;
    const auto items = state.store.list();
    for (const cache::Item& item : items) {
      bytes += static_cast<std::int64_t>(item.bytes);
      damaged += item.damage.empty() ? 0 : 1;
    }
    const std::string unusable = state.store.unusable();
    Row row;
    row.add("dir", state.store.directory()).add("entries", items.size()).add("bytes", bytes).add("damaged", damaged);
    row.add("usable", unusable.empty() && !state.store.directory().empty());
    if (!unusable.empty()) row.add("why_not", unusable);
    print_rows({row}, json_);
    return kDone;
  }

  int list(cache::Store& store) const {
    std::vector<Row> rows;
    for (const cache::Item& item : store.list())
      rows.push_back(Row()
                         .add("key", json_ ? item.key : item.key.substr(0, 16))
                         .add("family", key_field(item.what, "family"))
                         .add("target", key_field(item.what, "target"))
                         .add("bytes", static_cast<std::int64_t>(item.bytes))
                         .add("prewarmed", item.prewarmed)
                         .add("compiler", item.compiler)
                         .add("created", item.damage.empty() ? Value(time_text(item.created_unix_ns)) : Value())
                         .add("damage", item.damage.empty() ? Value() : Value(item.damage)));
    print_rows(rows, json_);
    if (rows.empty()) note(cat(store.directory(), " has no entries"));
    return kDone;
  }

  // The one key that starts like this.
  std::string find_key(cache::Store& store) const {
    const std::string& wanted = words_[1];
    std::vector<std::string> all;
    std::vector<std::string> matches;
    for (const cache::Item& item : store.list()) {
      all.push_back(item.key);
      if (item.key.compare(0, wanted.size(), wanted) == 0) matches.push_back(item.key);
    }
    if (matches.size() == 1) return matches.front();
    if (all.empty()) throw wrong(cat("there is no key ", wanted, ": ", store.directory(), " has no entries"));
    std::vector<std::string>& shown = matches.empty() ? all : matches;
    shown.resize(std::min<std::size_t>(shown.size(), 8));
    throw wrong(cat(matches.empty() ? "no key starts with " : "several keys start with ", wanted,
                    "; accepted would be, for one:\n  ", join(shown, "\n  ")));
  }

  int show(cache::Store& store) const {
    const std::string key = find_key(store);
    std::string why_not;
    const auto entry = store.load(key, &why_not);
    if (entry == nullptr) throw Error(Code::io, Stage::store, cat("the entry ", key, " cannot be used: ", why_not));
    if (!emit_.empty()) {
      emit(*entry);
    } else {
      print_entry(key, *entry);
    }
    return kDone;
  }

  void emit(const cache::Entry& entry) const {
    const std::string& bytes = emit_ == "cubin"    ? entry.cubin
                               : emit_ == "ptx"    ? entry.ptx
                               : emit_ == "source" ? entry.source
                                                   : entry.log;
    print(bytes);
  }

  void print_entry(const std::string& key, const cache::Entry& entry) const {
    Row row;
    row.add("key", key).add("kernel", entry.kernel).add("compiler", entry.compiler).add("prewarmed", entry.prewarmed);
    row.add("created", time_text(entry.created_unix_ns)).add("compile_ms", Value(entry.compile_ms));
    for (const auto& [name, number] : entry.numbers) row.add(name, number);
    row.add("cubin_bytes", entry.cubin.size()).add("ptx_bytes", entry.ptx.size());
    Row what;
    for (const auto& [name, value] : cache::parse_key_text(entry.what)) what.add(name, value);
    Row who;
    for (const auto& [name, value] : cache::parse_key_text(entry.who)) who.add(name, value);
    if (json_) {
      print_json(row.add("what", to_rows(what)).add("who", to_rows(who)));
      return;
    }
    for (const auto& [name, value] : row.fields) print_item(cat(name), text_of(value));
    print_line("\nWhat is built:");
    print_table(to_rows(what));
    print_line("\nWho built it:");
    print_table(to_rows(who));
  }

  // Labels repeat ("header", "option"), so a JSON object could not hold them.
  static Value::Rows to_rows(const Row& fields) {
    Value::Rows rows;
    for (const auto& [name, value] : fields.fields) rows.push_back(Row().add("field", name).add("value", value));
    return rows;
  }

  int clear(RuntimeState& state) const {
    if (*state.options.cache_mode != CacheMode::read_write)
      throw Error(Code::io, Stage::store, "the cache is read-only or off (QUERN_CACHE), so nothing can be removed");
    const std::size_t removed = state.store.clear();
    const bool whole = state.store.list().empty();
    if (json_) print_json(Row().add("dir", state.store.directory()).add("removed", removed));
    if (!json_) print_line(cat("removed ", removed, " entries from ", state.store.directory()));
    if (!whole) throw Error(Code::io, Stage::store, "some entries could not be removed");
    return kDone;
  }

  std::vector<std::string> words_;
  std::string emit_;
  bool json_ = false;
};

const Registration<Cache> registration("cache", "The images on disk: stats, list, show KEY or clear");

}  // namespace
}  // namespace quern::tool
