#include "records/lookup.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <tuple>

#include "base/text.h"
#include "plan/config.h"
#include "plan/problem.h"
#include "plan/variants.h"
#include "quern/runtime.h"

namespace quern {
namespace {

constexpr double kUnitsPerOctave = 0x1p32;  // distinguishes extents below 2^32
constexpr std::size_t kMostExtents = kMaxFields;

// An empty extent counts as 1.
std::int64_t octaves_of(std::int64_t extent) {
  return std::llround(std::log2(static_cast<double>(std::max<std::int64_t>(extent, 1))) * kUnitsPerOctave);
}

int parameter_named(const Step& step, std::string_view name) {
  for (int i = 0; i < step.parameters.count; ++i) {
    if (name == step.parameters[i].name) return i;
  }
  return -1;
}

bool takes(const Parameter& parameter, std::int64_t value) {
  for (const std::int32_t* legal = parameter.values; *legal != kNoMore; ++legal) {
    if (*legal == value) return true;
  }
  return false;
}

// Strips the family: "gather width=8" -> "width=8".
std::string_view fields_of(std::string_view problem) {
  return problem.substr(std::min(problem.find(' '), problem.size()));
}

// A list of the subjects seen; the problem by its values, since several texts may mean one.
std::string subject_of(const Family& family, const Step& step, const void* problem, const Record& record) {
  PackedProblem packed;
  pack(family, problem, packed);
  return cat(record.device, "\n", record.target, "\n", record.regime, "\n", step.name, "\n",
             std::string_view(reinterpret_cast<const char*>(packed.bytes.data()), packed.size));
}

}  // namespace

// Target and the fields that are not extents, as bytes.
struct FamilyRecords::Shape {
  std::array<char, 17 + kMaxProblemBytes> bytes;
  std::size_t size = 0;

  void add(const void* from, std::size_t count) {
    std::memcpy(bytes.data() + size, from, count);
    size += count;
  }
  std::string_view text() const { return {bytes.data(), size}; }
};

// The extents of a query.
struct FamilyRecords::Asked {
  std::array<std::int64_t, kMostExtents> values;
  std::array<std::int64_t, kMostExtents> octaves;
};

struct FamilyRecords::Candidate {
  const Item* item = nullptr;
  std::int64_t distance = 0;
  bool exact = false;  // what the query closes is the record's
  bool own = false;    // and it closes all
};

std::string how_text(const FoundRecord& found) {
  const std::string how = found.exact ? "exact" : cat(fixed(found.octaves, 1), " octaves away");
  if (found.sibling) return cat("of a sibling, ", how);
  return found.exact ? how : cat("nearest, ", how);
}

// ---- building

FamilyRecords::FamilyRecords(const Family& family, const std::vector<const Record*>& records, const Log& log)
    : family_(family) {
  for (const Field& field : family.fields) (field.kind == FieldKind::extent ? extents_ : others_).push_back(&field);
  std::set<std::string> seen;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    const std::string why = add(**record, seen);
    if (!why.empty()) log.debug(cat("records: skipped the record for ", (*record)->problem, ": ", why));
  }
  for (Bucket& bucket : buckets_) {
    std::sort(bucket.groups.begin(), bucket.groups.end(),
              [](const Group& a, const Group& b) { return a.device < b.device; });
  }
}

std::string FamilyRecords::add(const Record& record, std::set<std::string>& seen) {
  Item item{&record, nullptr, {}, 0, record.regime != "cold", 0, false};
  if (std::string why = parse_config(record.config, item); !why.empty()) return why;
  AnyProblem problem(family_);
  try {
    parse_fields(family_, fields_of(record.problem), problem.data());
    check_problem(family_, problem.data());
  } catch (const Error& error) {
    return error.sentence;
  }
  for (const Field* field : extents_) {
    if (get_integer(*field, problem.data()) == kOpen) return cat(field->name, " is open");
  }
  item.is_unusual = is_unusual(item, problem.data());
  if (!seen.insert(subject_of(family_, *item.step, problem.data(), record)).second) return {};
  if (record.target.size() > 16) return cat("unknown target ", record.target);
  Group& group = group_for(shape_of(problem.data(), record.target), record.device);
  for (const Field* field : extents_) {
    group.values.push_back(get_integer(*field, problem.data()));
    group.octaves.push_back(octaves_of(group.values.back()));
    item.size += group.octaves.back();
  }
  group.items.push_back(item);
  ++size_;
  return {};
}

// A target that this version does not know has no default to compare with.
bool FamilyRecords::is_unusual(const Item& item, const void* problem) const {
  try {
    const Config base = default_on(family_, *item.step, problem, item.record->target, item.record->device);
    return !align_alike(family_, *item.step, problem, merged(item, problem, base), base);
  } catch (const Error&) {
    return false;
  }
}

// As config_text writes it, or in the form of --config.
std::string FamilyRecords::parse_config(const std::string& text, Item& item) const {
  item.step = step_of_config(family_, text);
  if (item.step == nullptr) return cat(text, " is of no step of ", family_.name);
  std::string spaced = text;
  std::replace(spaced.begin(), spaced.end(), ',', ' ');
  for (const std::string_view part : split(spaced, ' ')) {
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const int parameter =
        is_of_step(*item.step, name) ? parameter_named(*item.step, without_step(*item.step, name)) : -1;
    const auto value = parse_integer(part.substr(std::min(equals + 1, part.size())));
    if (parameter < 0 || !value || !takes(item.step->parameters[parameter], *value))
      return cat(part, " is not in the tuning space of ", family_.name);
    item.config[parameter] = static_cast<std::int32_t>(*value);
    item.given |= std::uint32_t{1} << parameter;
  }
  return {};
}

FamilyRecords::Group& FamilyRecords::group_for(const Shape& shape, const std::string& device) {
  const auto is_same = [&](const Bucket& b) { return b.shape == shape.text(); };
  auto bucket = std::find_if(buckets_.begin(), buckets_.end(), is_same);
  if (bucket == buckets_.end()) bucket = buckets_.insert(buckets_.end(), {std::string(shape.text()), {}});
  std::vector<Group>& groups = bucket->groups;
  auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.device == device; });
  if (group == groups.end()) group = groups.insert(groups.end(), {device, {}, {}, {}});
  return *group;
}

FamilyRecords::Shape FamilyRecords::shape_of(const void* problem, std::string_view target) const {
  Shape shape;
  shape.add(target.data(), target.size());
  shape.add("\n", 1);
  for (const Field* field : others_) {
    const std::string_view value = field_bytes(*field, problem);
    shape.add(value.data(), value.size());
  }
  return shape;
}

// ---- looking up

const FamilyRecords::Bucket* FamilyRecords::find_bucket(const Shape& shape) const {
  for (const Bucket& bucket : buckets_) {
    if (bucket.shape == shape.text()) return &bucket;
  }
  return nullptr;
}

FamilyRecords::Asked FamilyRecords::asked(const RecordQuery& query) const {
  Asked asked;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    asked.values[i] = get_integer(*extents_[i], query.problem);
    asked.octaves[i] = octaves_of(asked.values[i]);
  }
  return asked;
}

FamilyRecords::Candidate FamilyRecords::candidate(const Group& group, std::size_t item, const Asked& asked) const {
  Candidate candidate{&group.items[item], 0, true, true};
  const std::size_t first = item * extents_.size();
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    if (asked.values[i] == kOpen) {
      candidate.own = false;
      continue;
    }
    candidate.distance += std::abs(group.octaves[first + i] - asked.octaves[i]);
    candidate.exact = candidate.exact && group.values[first + i] == asked.values[i];
  }
  candidate.own = candidate.own && candidate.exact;
  return candidate;
}

bool FamilyRecords::better(const Candidate& a, const Candidate& b) {
  if (a.distance != b.distance) return a.distance < b.distance;
  if (a.exact != b.exact) return a.exact;
  return preferred(*a.item, *b.item);
}

// The last comparison makes the order total, so that the order of lines in the files does not matter.
bool FamilyRecords::preferred(const Item& a, const Item& b) {
  if (a.warm != b.warm) return b.warm;
  if (a.size != b.size) return a.size > b.size;
  const Record& x = *a.record;
  const Record& y = *b.record;
  if (x.created_unix_ns != y.created_unix_ns) return x.created_unix_ns > y.created_unix_ns;
  return std::tie(x.config, x.device, x.problem) < std::tie(y.config, y.device, y.problem);
}

const Step& FamilyRecords::step_of(const RecordQuery& query) const {
  return query.step == nullptr ? family_.steps[0] : *query.step;
}

// What a record says of a problem's config; the rest is `base`.
Config FamilyRecords::merged(const Item& item, const void* problem, const Config& base) {
  Config config = base;
  for (int i = 0; i < item.step->parameters.count; ++i) {
    if ((item.given >> i & 1U) != 0) config[i] = item.config[i];
  }
  return normalized(*item.step, problem, config);
}
Config FamilyRecords::config_of(const Candidate& candidate, const RecordQuery& query) const {
  return merged(*candidate.item, query.problem, query.base);
}

bool FamilyRecords::is_legal(const Candidate& candidate, const RecordQuery& query) const {
  const Step& step = step_of(query);
  if (candidate.item->step != &step) return false;
  const Config config = config_of(candidate, query);
  // What is borrowed from another problem must be a kernel of the kind that the default is here; what it demands of
  // addresses tells. A row that no vector divides has nothing to say about one that a vector divides, nor has one that
  // a vector divides, but for which elements one by one were faster, about rows for which they are the default.
  if (!candidate.own && (candidate.item->is_unusual || !align_alike(family_, step, query.problem, config, query.base)))
    return false;
  return violated(step, config, query.problem, query.target).empty();
}

// The best candidate of the query's own device, or of its siblings, that is worse than `after`.
FamilyRecords::Candidate FamilyRecords::best_after(const Candidate& after, const Bucket& bucket,
                                                   const RecordQuery& query, const Asked& asked, bool sibling) const {
  Candidate best;
  for (const Group& group : bucket.groups) {
    if ((group.device != query.device) != sibling) continue;
    for (std::size_t i = 0; i < group.items.size(); ++i) {
      const Candidate next = candidate(group, i, asked);
      if ((best.item == nullptr || better(next, best)) && (after.item == nullptr || better(after, next))) best = next;
    }
  }
  return best;
}

FoundRecord FamilyRecords::to_found(const Candidate& candidate, const RecordQuery& query, bool sibling) const {
  return {candidate.item->record, config_of(candidate, query), sibling, candidate.exact,
          static_cast<double>(candidate.distance) / kUnitsPerOctave};
}

std::optional<FoundRecord> FamilyRecords::find(const RecordQuery& query) const {
  const Bucket* bucket = find_bucket(shape_of(query.problem, query.target.text()));
  if (bucket == nullptr) return std::nullopt;
  const Asked extents = asked(query);
  // A config is checked only once it has won: most of the first winners are legal.
  for (const bool sibling : {false, true}) {
    Candidate best = best_after({}, *bucket, query, extents, sibling);
    while (best.item != nullptr && !is_legal(best, query)) best = best_after(best, *bucket, query, extents, sibling);
    if (best.item != nullptr) return to_found(best, query, sibling);
  }
  return std::nullopt;
}

std::vector<FoundRecord> FamilyRecords::related(const RecordQuery& query, std::size_t most) const {
  std::vector<FoundRecord> found;
  const Bucket* bucket = find_bucket(shape_of(query.problem, query.target.text()));
  if (bucket == nullptr) return found;
  const Asked extents = asked(query);
  for (const bool sibling : {false, true}) {
    std::vector<Candidate> candidates;
    for (const Group& group : bucket->groups) {
      for (std::size_t i = 0; (group.device != query.device) == sibling && i < group.items.size(); ++i) {
        const Candidate next = candidate(group, i, extents);
        if (is_legal(next, query)) candidates.push_back(next);
      }
    }
    std::sort(candidates.begin(), candidates.end(), better);
    for (const Candidate& next : candidates) {
      const FoundRecord record = to_found(next, query, sibling);
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const FoundRecord& other) { return other.config == record.config; });
      if (!known && found.size() < most) found.push_back(record);
    }
  }
  return found;
}

std::vector<std::string> FamilyRecords::devices(const Target& target) const {
  std::set<std::string> names;
  const std::string start = cat(target.text(), "\n");
  for (const Bucket& bucket : buckets_) {
    if (!bucket.shape.starts_with(start)) continue;
    for (const Group& group : bucket.groups) names.insert(group.device);
  }
  return {names.begin(), names.end()};
}

}  // namespace quern
