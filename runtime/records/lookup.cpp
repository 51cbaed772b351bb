#include "records/lookup.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>

#include "base/hash.h"
#include "base/text.h"
#include "plan/problem.h"
#include "quern/runtime.h"

namespace quern {
namespace {

constexpr double kPartsOfAnOctave = 0x1p32;  // extents below four thousand million are told apart
constexpr std::size_t kMostExtents = kMaxProblemBytes / sizeof(std::int64_t);

// An empty extent counts as 1.
std::int64_t octaves_of(std::int64_t extent) {
  return std::llround(std::log2(static_cast<double>(std::max<std::int64_t>(extent, 1))) * kPartsOfAnOctave);
}

int parameter_named(const Family& family, std::string_view name) {
  for (int i = 0; i < family.parameters.count; ++i) {
    if (name == family.parameters[i].name) return i;
  }
  return -1;
}

bool takes(const Parameter& parameter, std::int64_t value) {
  for (const std::int32_t* legal = parameter.values; *legal != kNoMore; ++legal) {
    if (*legal == value) return true;
  }
  return false;
}

// "gather width=8" -> "width=8".
std::string_view fields_of(std::string_view problem) {
  return problem.substr(std::min(problem.find(' '), problem.size()));
}

// A list of the subjects seen; the problem by its values, since several texts may mean one.
std::string subject_of(const Family& family, const void* problem, const Record& record) {
  PackedProblem packed;
  pack(family, problem, packed);
  return cat(record.device, "\n", record.target, "\n", record.regime, "\n",
             std::string_view(reinterpret_cast<const char*>(packed.bytes.data()), packed.size));
}

}  // namespace

// Target and the fields that are no extents, as bytes.
struct FamilyRecords::Shape {
  std::array<char, 16 + kMaxProblemBytes> bytes;
  std::size_t size = 0;

  void add(const void* from, std::size_t count) {
    std::memcpy(bytes.data() + size, from, count);
    size += count;
  }
  std::string_view text() const { return {bytes.data(), size}; }
  std::uint64_t hash() const { return hash64(bytes.data(), size); }
};

// The extents of a query.
struct FamilyRecords::Asked {
  std::array<std::int64_t, kMostExtents> values;
  std::array<std::int64_t, kMostExtents + 2> octaves;  // behind the last, their sum and 0: a key for each order
  std::size_t closed = 0;                              // how many of them are
};

struct FamilyRecords::Candidate {
  const Item* item = nullptr;
  Config config;
  std::int64_t distance = 0;
  bool exact = false;
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
    if (!why.empty()) log.debug(cat("records: that for ", (*record)->problem, " is passed over: ", why));
  }
  for (auto& [hash, buckets] : buckets_) {
    for (Bucket& bucket : buckets) {
      std::sort(bucket.groups.begin(), bucket.groups.end(),
                [](const Group& a, const Group& b) { return a.device < b.device; });
      for (Group& group : bucket.groups) sort(group);
    }
  }
}

std::string FamilyRecords::add(const Record& record, std::set<std::string>& seen) {
  Item item{&record, {}, 0, record.regime != "cold", 0};
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
  if (!seen.insert(subject_of(family_, problem.data(), record)).second) return {};
  if (record.target.size() > 16) return cat("there is no target ", record.target);
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

// As config_text writes it, or as --config takes it.
std::string FamilyRecords::parse_config(const std::string& text, Item& item) const {
  std::string spaced = text;
  std::replace(spaced.begin(), spaced.end(), ',', ' ');
  for (const std::string_view part : split(spaced, ' ')) {
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    const int parameter = parameter_named(family_, part.substr(0, equals));
    const auto value = parse_integer(part.substr(std::min(equals + 1, part.size())));
    if (parameter < 0 || !value || !takes(family_.parameters[parameter], *value))
      return cat(part, " is not in the tuning space of ", family_.name);
    item.config[parameter] = static_cast<std::int32_t>(*value);
    item.given |= std::uint32_t{1} << parameter;
  }
  return {};
}

FamilyRecords::Group& FamilyRecords::group_for(const Shape& shape, const std::string& device) {
  std::vector<Bucket>& buckets = buckets_[shape.hash()];
  auto bucket = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& b) { return b.shape == shape.text(); });
  if (bucket == buckets.end()) bucket = buckets.insert(buckets.end(), {std::string(shape.text()), {}});
  std::vector<Group>& groups = bucket->groups;
  auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.device == device; });
  if (group == groups.end()) group = groups.insert(groups.end(), {device, {}, {}, {}, {}});
  return *group;
}

void FamilyRecords::sort(Group& group) const {
  std::vector<std::int64_t> keys(group.items.size());
  for (std::size_t extent = 0; extent < extents_.size(); ++extent) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = group.octaves[i * extents_.size() + extent];
    group.orders.push_back(order_of(keys, group.items));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = group.items[i].size;
  group.orders.push_back(order_of(keys, group.items));
  std::fill(keys.begin(), keys.end(), 0);
  group.orders.push_back(order_of(keys, group.items));
}

FamilyRecords::Order FamilyRecords::order_of(const std::vector<std::int64_t>& keys, const std::vector<Item>& items) {
  Order order;
  order.items.resize(keys.size());
  std::iota(order.items.begin(), order.items.end(), 0U);
  std::sort(order.items.begin(), order.items.end(),
            [&](auto a, auto b) { return keys[a] != keys[b] ? keys[a] < keys[b] : preferred(items[a], items[b]); });
  for (std::uint32_t i = 0; i < order.items.size(); ++i) {
    const std::int64_t key = keys[order.items[i]];
    if (!order.keys.empty() && order.keys.back() == key) continue;
    order.keys.push_back(key);
    order.starts.push_back(i);
  }
  order.starts.push_back(static_cast<std::uint32_t>(order.items.size()));
  return order;
}

FamilyRecords::Shape FamilyRecords::shape_of(const void* problem, std::string_view target) const {
  Shape shape;
  shape.add(target.data(), target.size());
  shape.add("\n", 1);
  for (const Field* field : others_) {
    const std::int64_t value = get_integer(*field, problem);
    shape.add(&value, field->kind == FieldKind::integer ? sizeof(value) : 1);
  }
  return shape;
}

// ---- looking up

const FamilyRecords::Bucket* FamilyRecords::find_bucket(const Shape& shape) const {
  const auto buckets = buckets_.find(shape.hash());
  if (buckets == buckets_.end()) return nullptr;
  for (const Bucket& bucket : buckets->second) {
    if (bucket.shape == shape.text()) return &bucket;
  }
  return nullptr;
}

FamilyRecords::Asked FamilyRecords::asked(const RecordQuery& query) const {
  Asked asked;
  std::int64_t& sum = asked.octaves[extents_.size()] = 0;
  asked.octaves[extents_.size() + 1] = 0;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    asked.values[i] = get_integer(*extents_[i], query.problem);
    asked.octaves[i] = octaves_of(asked.values[i]);
    asked.closed += asked.values[i] != kOpen ? 1 : 0;
    sum += asked.octaves[i];
  }
  return asked;
}

FamilyRecords::Candidate FamilyRecords::candidate(const Group& group, std::size_t item, const Asked& asked) const {
  Candidate candidate{&group.items[item], {}, 0, true};
  const std::size_t first = item * extents_.size();
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    if (asked.values[i] == kOpen) continue;
    candidate.distance += std::abs(group.octaves[first + i] - asked.octaves[i]);
    candidate.exact = candidate.exact && group.values[first + i] == asked.values[i];
  }
  return candidate;
}

bool FamilyRecords::better(const Candidate& a, const Candidate& b) {
  if (a.distance != b.distance) return a.distance < b.distance;
  if (a.exact != b.exact) return a.exact;
  return preferred(*a.item, *b.item);
}

// The last ones make the order whole, so that the order of the files' lines is none.
bool FamilyRecords::preferred(const Item& a, const Item& b) {
  if (a.warm != b.warm) return b.warm;
  if (a.size != b.size) return a.size > b.size;
  const Record& x = *a.record;
  const Record& y = *b.record;
  if (x.created_unix_ns != y.created_unix_ns) return x.created_unix_ns > y.created_unix_ns;
  return std::tie(x.config, x.device, x.problem) < std::tie(y.config, y.device, y.problem);
}

bool FamilyRecords::make_legal(const RecordQuery& query, Candidate& candidate) const {
  candidate.config = query.base;
  for (int i = 0; i < family_.parameters.count; ++i) {
    if ((candidate.item->given >> i & 1U) != 0) candidate.config[i] = candidate.item->config[i];
  }
  // What is borrowed from another problem must be a kernel of the kind that the default is here; what it demands of
  // addresses tells. A row that no vector divides has nothing to say about one that a vector divides.
  const auto alignment = [&](const Config& config) { return family_.alignment(query.problem, config); };
  if (!candidate.exact && alignment(candidate.config) != alignment(query.base)) return false;
  return std::all_of(family_.constraints.begin(), family_.constraints.end(), [&](const Constraint& constraint) {
    return constraint.holds(query.problem, query.target, candidate.config);
  });
}

// The one with most runs, of those that are about what the query closes.
std::size_t FamilyRecords::best_order(const Group& group, const Asked& asked) const {
  std::size_t best = extents_.size() + 1;
  for (std::size_t i = 0; i <= extents_.size(); ++i) {
    const bool closed = i < extents_.size() ? asked.values[i] != kOpen : asked.closed == extents_.size();
    if (closed && group.orders[i].keys.size() >= group.orders[best].keys.size()) best = i;
  }
  return best;
}

// Whether a config is legal is asked only of what would win. False if what comes behind it in its run cannot win
// either, where its key is all of the distance.
bool FamilyRecords::take(const RecordQuery& query, Candidate next, Candidate& best) const {
  if (best.item != nullptr && !better(next, best)) return false;
  if (!make_legal(query, next)) return true;
  best = next;
  return false;
}

// Outward from where the query would stand, until one step in this order alone is too far.
void FamilyRecords::take_best(const Group& group, const RecordQuery& query, const Asked& asked, Candidate& best) const {
  const std::size_t chosen = best_order(group, asked);
  const Order& order = group.orders[chosen];
  const std::int64_t at = asked.octaves[chosen];
  auto above =
      static_cast<std::size_t>(std::lower_bound(order.keys.begin(), order.keys.end(), at) - order.keys.begin());
  std::size_t below = above;
  while (below > 0 || above < order.keys.size()) {
    const bool down = above == order.keys.size() || (below > 0 && at - order.keys[below - 1] < order.keys[above] - at);
    const std::size_t run = down ? --below : above++;
    if (best.item != nullptr && std::abs(order.keys[run] - at) > best.distance) return;
    for (std::uint32_t i = order.starts[run]; i < order.starts[run + 1]; ++i) {
      if (!take(query, candidate(group, order.items[i], asked), best) && asked.closed <= 1) break;
    }
  }
}

FoundRecord FamilyRecords::to_found(const Candidate& candidate, bool sibling) {
  return {candidate.item->record, candidate.config, sibling, candidate.exact,
          static_cast<double>(candidate.distance) / kPartsOfAnOctave};
}

std::optional<FoundRecord> FamilyRecords::find(const RecordQuery& query) const {
  const Bucket* bucket = find_bucket(shape_of(query.problem, query.target.text()));
  if (bucket == nullptr) return std::nullopt;
  const Asked extents = asked(query);
  Candidate own;
  Candidate sibling;
  for (const Group& group : bucket->groups) {
    if (group.device == query.device) take_best(group, query, extents, own);
  }
  if (own.item != nullptr) return to_found(own, false);
  for (const Group& group : bucket->groups) {
    if (group.device != query.device) take_best(group, query, extents, sibling);
  }
  if (sibling.item != nullptr) return to_found(sibling, true);
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
        Candidate next = candidate(group, i, extents);
        if (make_legal(query, next)) candidates.push_back(next);
      }
    }
    std::sort(candidates.begin(), candidates.end(), better);
    for (const Candidate& next : candidates) {
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const FoundRecord& other) { return other.config == next.config; });
      if (!known && found.size() < most) found.push_back(to_found(next, sibling));
    }
  }
  return found;
}

std::vector<std::string> FamilyRecords::devices(const Target& target) const {
  std::set<std::string> names;
  const std::string start = cat(target.text(), "\n");
  for (const auto& [hash, buckets] : buckets_) {
    for (const Bucket& bucket : buckets) {
      if (!bucket.shape.starts_with(start)) continue;
      for (const Group& group : bucket.groups) names.insert(group.device);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace quern
