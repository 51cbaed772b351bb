#include "support/pairwise.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace quern::test {
namespace {

// Larger extents only repeat the same work in a kernel.
constexpr std::int64_t kMostRows = 2113;
constexpr std::int64_t kMostElements = 1 << 18;

bool is_width(std::string_view name) { return name == "width" || name == "cols" || name == "hidden"; }
// A list is none: its entries belong together.
bool is_extent(std::string_view name, std::string_view value) {
  if (value.find(',') != std::string_view::npos) return false;
  return is_width(name) || name == "rows" || name == "count" || name == "experts" || name == "tokens";
}

std::string kind_of(std::int64_t extent) {
  if (extent < 4) return cat(extent);
  return extent % 8 == 0 ? "multiple of 8" : extent % 2 == 0 ? "even" : "odd";
}

// The words of these fields as one, if the first of them is given.
std::string joint_setting(const std::string& problem, std::initializer_list<std::string_view> fields) {
  std::string joint;
  for (const std::string_view field : fields) {
    for (const std::string_view word : split(problem, ' ')) {
      if (word.substr(0, word.find('=')) == field) joint += cat(joint.empty() ? "" : "+", word);
    }
    if (joint.empty()) return {};
  }
  return joint;
}

// How many numbers a list has, and which kinds of them. Other words stay as they are.
std::string kinds_of(std::string_view value) {
  const std::vector<std::string_view> entries = split(value, ',');
  std::set<std::string> kinds;
  for (const std::string_view entry : entries) {
    const auto number = parse_integer(entry);
    kinds.insert(number ? kind_of(*number) : std::string(entry));
  }
  std::string text = entries.size() == 1 ? "" : entries.size() < 4 ? cat(entries.size(), " of") : "many of";
  for (const std::string& kind : kinds) text += cat(text.empty() ? "" : " ", kind);
  return text;
}

enum class Group {
  size,        // a number of the problem: an extent, a stride, …, or a list of them
  activation,  // code of its own, which only the arithmetic around it is compiled together with
  arithmetic,
  other,
};

Group group_of(std::string_view name, std::string_view value) {
  constexpr std::string_view kArithmetic[] = {"dtype", "pass", "rounding", "prologue", "op"};
  if (parse_integer(value.substr(0, value.find(',')))) return Group::size;
  if (name == "activation") return Group::activation;
  return std::count(std::begin(kArithmetic), std::end(kArithmetic), name) != 0 ? Group::arithmetic : Group::other;
}

struct Setting {
  std::string text;
  Group group = Group::other;
};

// Code is chosen by one number of a problem with a type, a mode or a config, not by two numbers.
bool is_paired(Group a, Group b) {
  if (a == Group::activation || b == Group::activation) return a == Group::arithmetic || b == Group::arithmetic;
  return a != Group::size || b != Group::size;
}

std::vector<Setting> settings_of(const Case& c) {
  std::vector<Setting> settings = {{cat("offset=", c.offset)},
                                   {cat("in_place=", c.in_place ? 1 : 0)},
                                   {cat("indices=", static_cast<int>(c.indices))}};
  for (const std::string_view word : split(c.problem, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
    const Group group = group_of(name, value);
    settings.push_back({group == Group::size ? cat(name, "=", kinds_of(value)) : std::string(word), group});
  }
  for (const std::string_view change : split(c.config, ',')) settings.push_back({std::string(change)});
  for (const std::string_view number : split(c.scalars, ' ')) settings.push_back({std::string(number)});
  // Kernels of one scaling differ by direction and tail together.
  if (const std::string joint = joint_setting(c.problem, {"scaling", "direction", "tail"}); !joint.empty())
    settings.push_back({joint});
  return settings;
}

// Numbers for what occurs, in the order of first use: sanitizers make comparisons of texts slow.
template <class Key>
class Numbers {
 public:
  std::uint32_t of(const Key& key) {
    return numbers_.emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<Key, std::uint32_t> numbers_;
};

// The pairs of settings of each case of a table.
class Pairs {
 public:
  explicit Pairs(const std::vector<Case>& table) {
    for (const Case& c : table) of_case_.push_back(pairs_of(c));
    cases_.resize(pairs_.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      for (const std::uint32_t pair : of_case_[i]) cases_[pair].push_back(i);
    }
  }
  std::size_t size() const { return pairs_.size(); }
  const std::vector<std::uint32_t>& of(std::size_t i) const { return of_case_[i]; }
  const std::vector<std::size_t>& cases_with(std::uint32_t pair) const { return cases_[pair]; }

 private:
  std::vector<std::uint32_t> pairs_of(const Case& c) {
    std::vector<std::pair<std::uint32_t, Group>> settings;
    for (const Setting& setting : settings_of(c)) settings.emplace_back(settings_.of(setting.text), setting.group);
    std::sort(settings.begin(), settings.end());
    settings.erase(std::unique(settings.begin(), settings.end()), settings.end());
    std::vector<std::uint32_t> pairs;
    for (std::size_t i = 0; i < settings.size(); ++i) {
      for (std::size_t j = i + 1; j < settings.size(); ++j) {
        const auto& [a, a_group] = settings[i];
        const auto& [b, b_group] = settings[j];
        if (is_paired(a_group, b_group)) pairs.push_back(pairs_.of(std::uint64_t{a} << 32 | b));
      }
    }
    return pairs;
  }

  Numbers<std::string> settings_;
  Numbers<std::uint64_t> pairs_;
  std::vector<std::vector<std::uint32_t>> of_case_;
  std::vector<std::vector<std::size_t>> cases_;
};

std::int64_t cut(std::int64_t extent, std::int64_t most) {
  if (extent <= most) return extent;
  return most / 32 * 32 + (extent % 32 == 0 ? 0 : extent % 8 == 0 ? 8 : extent % 2 == 0 ? 2 : 1);
}

}  // namespace

Cover pairwise(const std::vector<Case>& table, std::size_t limit) {
  const Pairs pairs(table);
  std::vector<std::size_t> missing;  // of each case
  for (std::size_t i = 0; i < table.size(); ++i) missing.push_back(pairs.of(i).size());
  std::vector<bool> taken(pairs.size());
  Cover cover{{}, pairs.size(), 0};
  std::vector<std::size_t> chosen;
  while (chosen.size() < limit) {
    const auto best = std::max_element(missing.begin(), missing.end());
    if (best == missing.end() || *best == 0) break;
    chosen.push_back(static_cast<std::size_t>(best - missing.begin()));
    cover.covered += *best;
    for (const std::uint32_t pair : pairs.of(chosen.back())) {
      if (taken[pair]) continue;
      taken[pair] = true;
      for (const std::size_t i : pairs.cases_with(pair)) --missing[i];
    }
  }
  std::sort(chosen.begin(), chosen.end());
  for (const std::size_t i : chosen) cover.cases.push_back(table[i]);
  return cover;
}

Case scaled_down(const Case& c) {
  Case scaled = c;
  scaled.problem.clear();
  std::int64_t rows = 1, given_rows = 0;
  for (const std::string_view word : split(c.problem, ' ')) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, std::min(equals, word.size()));
    std::string text(word);
    if (is_extent(name, word)) {
      const std::int64_t extent = parse_integer(word.substr(equals + 1)).value_or(0);
      const std::int64_t most = is_width(name) ? std::max<std::int64_t>(kMostElements / rows, 64) : kMostRows;
      std::int64_t kept = cut(extent, most);
      // Indices that can be different stay so.
      if (name == "count" && extent <= given_rows) kept = std::min(kept, rows);
      if (name == "rows") given_rows = extent;
      if (!is_width(name)) rows = std::max(rows, kept);
      text = cat(name, "=", kept);
    }
    if (!text.empty()) scaled.problem += cat(scaled.problem.empty() ? "" : " ", text);
  }
  return scaled;
}

}  // namespace quern::test
