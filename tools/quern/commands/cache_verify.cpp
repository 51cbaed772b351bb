// quern cache verify and prune: finds bad and outdated images, and removes them.
#include <algorithm>
#include <iterator>
#include <map>

#include "api/runtime_state.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/text.h"
#include "cache/key.h"
#include "cache/trust.h"
#include "commands/cache_actions.h"
#include "io/output.h"
#include "plan/unit.h"

namespace quern::tool {
namespace {

// "gather/gather.cu 0123…": whether this build has the same digest of the file.
bool is_current(const Family& family, std::string_view value) {
  const std::size_t space = value.rfind(' ');
  if (space == std::string_view::npos) return false;
  const SourceFile* const file = find_source(family, value.substr(0, space));
  return file != nullptr && hash128(file->text).hex() == value.substr(space + 1);
}

const Family* family_named(const Runtime& runtime, std::string_view name) {
  for (const Family* family : runtime.families()) {
    if (name == family->name) return family;
  }
  return nullptr;
}

struct Verdict {
  std::string state;  // "ok", "outdated", "damaged", "untrusted", "refused", "newer"
  std::string why;
};

Verdict evaluator(const Runtime& runtime, const cache::Item& item) {
  if (item.refused) return {"refused", item.damage};
  if (item.newer) return {"newer", item.damage};
  if (!item.damage.empty()) return {item.untrusted ? "untrusted" : "damaged", item.damage};
  std::string outdated = why_outdated(runtime, item.what);
  if (!outdated.empty()) return {"outdated", std::move(outdated)};
  return {"ok", ""};
}

bool removable(const cache::Store& store, const cache::Item& item) { return item.layer == store.directory(); }

}  // namespace

std::string key_field(std::string_view text, std::string_view label) {
  for (const auto& [name, value] : cache::parse_key_text(text)) {
    if (name == label) return value;
  }
  return {};
}

// An image is not outdated if a later quern may use it, or an application whose family this command does not have.
std::string why_outdated(const Runtime& runtime, std::string_view what) {
  const std::string schema = key_field(what, "schema");
  if (parse_integer(schema).value_or(0) < cache::kKeySchema)
    return cat("key schema ", schema, ", this quern uses ", cache::kKeySchema);
  const Family* const family = family_named(runtime, key_field(what, "family"));
  if (schema != std::to_string(cache::kKeySchema) || family == nullptr) return {};
  for (const auto& [label, value] : cache::parse_key_text(what)) {
    if ((label == "source" || label == "header") && !is_current(*family, value))
      return cat("made from another ", value.substr(0, value.rfind(' ')));
  }
  return {};
}

std::vector<cache::Item> all_untrusted(cache::Store& store, const std::vector<cache::Item>& items) {
  std::vector<cache::Item> all = store.untrusted();
  std::copy_if(items.begin(), items.end(), std::back_inserter(all),
               [](const cache::Item& item) { return item.untrusted; });
  return all;
}

Holding holding_of(const std::string& layer, const std::vector<cache::Item>& items,
                   const std::vector<cache::Item>& untrusted) {
  Holding holding;
  for (const cache::Item& item : items) {
    if (item.layer != layer) continue;
    ++holding.entries;
    holding.bytes += item.bytes;
    holding.damaged += is_damaged(item) ? 1 : 0;
    holding.newer += item.newer ? 1 : 0;
  }
  for (const cache::Item& item : untrusted) holding.untrusted += item.layer == layer ? 1 : 0;
  return holding;
}

std::string untrusted_sentence(const cache::Store& store, const std::string& layer,
                               const std::vector<cache::Item>& untrusted) {
  const auto first =
      std::find_if(untrusted.begin(), untrusted.end(), [&](const cache::Item& item) { return item.layer == layer; });
  if (first == untrusted.end()) return {};
  const std::size_t count = holding_of(layer, {}, untrusted).untrusted;
  return cat(count, count == 1 ? " file or folder" : " files and folders", " in ", layer, count == 1 ? " is" : " are",
             " not trusted and not used; the first is ", layer, "/", first->key, ": ", first->damage, "; ",
             cache::untrusted_remedy(layer, layer == store.directory()));
}

// Exit code 3 if anything is damaged or not trusted.
int cache_verify(Runtime& runtime, const CacheArguments& arguments) {
  RowPrinter printer("quern.cache.verify/1", arguments.json);
  cache::Store& store = runtime.state().store;
  std::vector<cache::Item> items = store.list();
  const std::vector<cache::Item> untrusted = all_untrusted(store, items);
  for (cache::Item& item : store.untrusted()) items.push_back(std::move(item));
  std::size_t damaged = 0;
  for (const cache::Item& item : items) {
    const Verdict verdict = evaluator(runtime, item);
    damaged += verdict.state == "damaged" ? 1 : 0;
    printer.add(Row()
                    .add("key", arguments.json ? item.key : item.key.substr(0, 16))
                    .add("layer", item.layer)
                    .add("family", key_field(item.what, "family"))
                    .add("state", verdict.state)
                    .add("why", verdict.why.empty() ? Value() : Value(verdict.why)));
  }
  printer.finish();
  note(cat(printer.rows().size(), " entries, ", damaged, " damaged",
           damaged == 0 ? "" : "; they are misses, and `quern cache prune` removes those of the directory"));
  for (const cache::LayerReport& layer : store.layers()) {
    const std::string sentence = untrusted_sentence(store, layer.path, untrusted);
    if (!sentence.empty()) note(sentence);
  }
  return damaged + untrusted.size() == 0 ? kDone : kSomeFailed;
}

int cache_prune(Runtime& runtime, const CacheArguments& arguments) {
  require_store(runtime, *arguments.global, "nothing can be changed");
  cache::Store& store = runtime.state().store;
  cache::Limits limits = store.limits();
  if (!arguments.max_bytes.empty()) limits.bytes = parse_amount(arguments.max_bytes, "--max-bytes");
  if (!arguments.max_entries.empty()) limits.entries = parse_amount(arguments.max_entries, "--max-entries");
  std::map<std::string, std::size_t> removed;
  std::vector<cache::Item> items = store.list();
  for (cache::Item& item : store.untrusted()) items.push_back(std::move(item));
  for (const cache::Item& item : items) {
    const std::string state = evaluator(runtime, item).state;
    const bool goes = state == "outdated" ? arguments.outdated : state != "ok";
    if (goes && removable(store, item) && store.remove(item.key)) ++removed[state];
  }
  const std::size_t failures = store.forget_failures();
  store.tidy(limits);
  const cache::Counters counters = store.counters();
  Row row;
  row.add("dir", store.directory()).add("damaged", removed["damaged"]).add("untrusted", removed["untrusted"]);
  row.add("outdated", removed["outdated"]).add("failures", failures);
  row.add("left_behind", static_cast<std::int64_t>(counters.swept));
  row.add("evicted", static_cast<std::int64_t>(counters.evictions));
  print_rows("quern.cache.prune/1", {row}, arguments.json);
  const std::string left = untrusted_sentence(store, store.directory(), all_untrusted(store, store.list()));
  if (!left.empty()) note(left);
  return left.empty() ? kDone : kSomeFailed;
}

}  // namespace quern::tool
