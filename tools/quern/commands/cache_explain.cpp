// quern cache explain FAMILY k=v …: explains a problem's cache hits and misses, field by field.
#include <map>
#include <optional>

#include "api/configs.h"
#include "api/images.h"
#include "api/runtime_state.h"
#include "base/text.h"
#include "cache/key.h"
#include "commands/cache_actions.h"
#include "io/output.h"
#include "io/subject.h"
#include "plan/variants.h"

namespace quern::tool {
namespace {

// Label to value. A repeated label gets its subject too: "header common/vector.cuh".
using Fields = std::map<std::string, std::string>;

void add_fields(const std::string& text, Fields& fields) {
  for (const auto& [label, value] : cache::parse_key_text(text)) {
    const std::size_t space = value.rfind(' ');
    if (label == "source" || label == "header") {
      fields[cat(label, " ", value.substr(0, space))] = space == std::string::npos ? "" : value.substr(space + 1);
    } else if (label == "option" || label == "prelude" || label == "spec header" || label == "part") {
      fields[cat(label, " ", value)] = "yes";
    } else {
      fields[label] = value;
    }
  }
}

Fields fields_of(const std::string& what, const std::string& who) {
  Fields fields;
  add_fields(what, fields);
  add_fields(who, fields);
  return fields;
}

// The fields in which two keys differ.
Value::Rows differences(const Fields& asked, const Fields& there) {
  Value::Rows rows;
  const auto value_in = [](const Fields& fields, const std::string& label) {
    const auto found = fields.find(label);
    return found == fields.end() ? Value("-") : Value(found->second);
  };
  Fields all = asked;
  all.insert(there.begin(), there.end());
  for (const auto& [label, ignored] : all) {
    const auto mine = asked.find(label);
    const auto theirs = there.find(label);
    if (mine != asked.end() && theirs != there.end() && mine->second == theirs->second) continue;
    rows.push_back(
        Row().add("field", label).add("asked_for", value_in(asked, label)).add("there", value_in(there, label)));
  }
  return rows;
}

struct Nearest {
  cache::Item item;
  Value::Rows differences;
};

class Explain {
 public:
  Explain(Runtime& runtime, const CacheArguments& arguments)
      : runtime_(runtime), arguments_(arguments), items_(runtime.state().store.list(cache::Check::header)) {}

  int run() {
    const Subject subject = parse_subject(runtime_, arguments_.words);
    const Place place = parse_place(runtime_, arguments_.arch, arguments_.device_model);
    std::vector<Row> rows;
    const void* const problem = subject.problem.data();
    for (const Choice& choice : select_configs(runtime_.state(), subject.family(), problem,
                                               place_of(place.target, place.model), arguments_.config)) {
      for (const Variant& variant : choice.variants)
        rows.push_back(explain(variant.name, key_of_image(runtime_.state(), {&subject.family(), choice.step, problem,
                                                                             place.target, variant})));
    }
    if (arguments_.json) {
      print_rows("quern.cache.explain/1", rows, true);
    } else {
      for_people(rows, place.target);
    }
    return kDone;
  }

 private:
  Row explain(const char* variant, const cache::Key& key) {
    cache::Store& store = runtime_.state().store;
    const std::vector<cache::LayerReport> before = store.layers();
    const cache::Counters counters_before = store.counters();
    const cache::EntryPointer entry = store.find(key);
    Row row;
    row.add("variant", variant).add("key", key.path()).add("asking", key_field(key.who, "compiler"));
    const std::optional<cache::Item> failure = entry ? std::nullopt : failure_of(key);
    row.add("verdict", entry ? "hit" : failure ? "failed" : "miss");
    row.add("layer", entry ? Value(layer_that_served(before)) : Value());
    row.add("compiler", entry ? Value(entry->compiler) : Value());
    row.add("why", entry ? why_hit(*entry, key) : failure ? why_failed(*failure) : why_miss(counters_before, key));
    return row.add("nearest", entry ? Value() : nearest_row(key));
  }

  std::optional<cache::Item> failure_of(const cache::Key& key) const {
    for (const cache::Item& item : runtime_.state().store.failures()) {
      if (item.what == key.what && item.who == key.who) return item;
    }
    return std::nullopt;
  }

  static std::string why_failed(const cache::Item& failure) {
    return cat("its compile failed at ", time_text(failure.created_unix_ns),
               " and is not tried again for ten minutes: ", failure.failure,
               "; `quern prewarm` of this problem tries it now");
  }

  Value nearest_row(const cache::Key& key) const {
    const auto nearest = find_nearest(key);
    if (!nearest) return {};
    return Row()
        .add("key", nearest->item.key)
        .add("layer", nearest->item.layer)
        .add("compiler", nearest->item.compiler)
        .add("differences", nearest->differences);
  }

  std::string layer_that_served(const std::vector<cache::LayerReport>& before) {
    const std::vector<cache::LayerReport> after = runtime_.state().store.layers();
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (after[i].hits != before[i].hits) return after[i].path;
    }
    return "memory";
  }

  static std::string why_hit(const cache::Entry& entry, const cache::Key& key) {
    if (entry.who == key.who) return "made by this compiler";
    return cat("made by another compiler (", key_field(entry.who, "compiler"), "), ",
               entry.prewarmed ? "ahead of time for all" : "but usable here (by its layer, or QUERN_CACHE_MATCH=any)");
  }

  std::string why_miss(const cache::Counters& before, const cache::Key& key) {
    const cache::Counters now = runtime_.state().store.counters();
    if (runtime_.state().store.layers().empty()) return "the cache is off (QUERN_CACHE)";
    if (now.damaged != before.damaged) return "the image is damaged; `quern cache verify` says how";
    if (now.newer != before.newer) return "the image was written by a later quern, whose entries this one cannot read";
    if (now.untrusted != before.untrusted) return "the image is not trusted; --log info says why";
    if (now.unreadable != before.unreadable) return "the image cannot be read; --log info says why";
    if (now.foreign != before.foreign) return "its file has the image of another key";
    if (now.other_compiler != before.other_compiler)
      return "another compiler made it on demand; `quern prewarm` there marks it as made for all, or "
             "QUERN_CACHE_MATCH=any accepts it";
    return key.who.empty() ? "it was never compiled, and there is no compiler here" : "it was never compiled";
  }

  std::optional<Nearest> find_nearest(const cache::Key& key) const {
    const Fields asked = fields_of(key.what, key.who);
    std::optional<Nearest> nearest;
    for (const cache::Item& item : items_) {
      if (!item.damage.empty() || key_field(item.what, "family") != asked.at("family")) continue;
      Value::Rows rows = differences(asked, fields_of(item.what, item.who));
      if (!nearest || rows.size() < nearest->differences.size()) nearest = Nearest{item, std::move(rows)};
    }
    return nearest;
  }

  void for_people(const std::vector<Row>& rows, const Target& target) {
    const std::string& compiler = runtime_.state().compiler.identity(target);
    print_item("compiler", compiler.empty() ? "none found; only images compiled ahead of time can be used" : compiler);
    for (const cache::LayerReport& layer : runtime_.state().store.layers())
      print_item("layer", cat(layer.path, layer.unusable.empty() ? "" : cat(" (", layer.unusable, ")")));
    for (const Row& row : rows) print_one(row);
  }

  static void print_one(const Row& row) {
    print_line("");
    for (const auto& [name, value] : row.fields) {
      if (std::holds_alternative<Value::Nothing>(value.value)) continue;
      const auto* const nearest = std::get_if<Value::Object>(&value.value);
      if (nearest == nullptr) print_item(name, text_of(value));
      if (nearest != nullptr) print_nearest(nearest->row.front());
    }
  }

  static void print_nearest(const Row& nearest) {
    for (const auto& [name, value] : nearest.fields) {
      const auto* const rows = std::get_if<Value::Rows>(&value.value);
      if (rows == nullptr) print_item(cat("nearest ", name), text_of(value));
      if (rows != nullptr) print_table(*rows);
    }
  }

  Runtime& runtime_;
  const CacheArguments& arguments_;
  const std::vector<cache::Item> items_;
};

}  // namespace

void check_explained(Runtime& runtime, const CacheArguments& arguments) {
  const Subject subject = parse_subject(runtime, arguments.words);
  const Place place = parse_place(runtime, arguments.arch, arguments.device_model);
  check_config(subject.problem, place.target, place.model, arguments.config);
}

int cache_explain(Runtime& runtime, const CacheArguments& arguments) { return Explain(runtime, arguments).run(); }

}  // namespace quern::tool
