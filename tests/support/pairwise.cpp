#include "support/pairwise.h"

#include <algorithm>
#include <set>
#include <string>

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

struct Setting {
  std::string text;
  bool size = false;  // an extent or a stride
};

std::vector<Setting> settings_of(const Case& c) {
  std::vector<Setting> settings = {{cat("offset=", c.offset)},
                                   {cat("in_place=", c.in_place ? 1 : 0)},
                                   {cat("indices=", static_cast<int>(c.indices))}};
  for (const std::string_view word : split(c.problem, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
    const bool extent = is_extent(name, value);
    settings.push_back({extent ? cat(name, "=", kind_of(parse_integer(value).value_or(0))) : std::string(word),
                        extent || name.ends_with("stride")});
  }
  for (const std::string_view change : split(c.config, ',')) settings.push_back({std::string(change)});
  for (const std::string_view number : split(c.scalars, ' ')) settings.push_back({std::string(number)});
  // Kernels of one scaling differ by direction and tail together.
  if (const std::string joint = joint_setting(c.problem, {"scaling", "direction", "tail"}); !joint.empty())
    settings.push_back({joint});
  return settings;
}

// Not of two extents or strides: code is chosen by one of them with a type, a mode or a config.
std::set<std::string> pairs_of(const Case& c) {
  const std::vector<Setting> settings = settings_of(c);
  std::set<std::string> pairs;
  for (const Setting& a : settings) {
    for (const Setting& b : settings) {
      if (a.text < b.text && !(a.size && b.size)) pairs.insert(cat(a.text, " & ", b.text));
    }
  }
  return pairs;
}

std::int64_t cut(std::int64_t extent, std::int64_t most) {
  if (extent <= most) return extent;
  return most / 32 * 32 + (extent % 32 == 0 ? 0 : extent % 8 == 0 ? 8 : extent % 2 == 0 ? 2 : 1);
}

}  // namespace

Cover pairwise(const std::vector<Case>& table, std::size_t limit) {
  std::vector<std::set<std::string>> missing;
  std::set<std::string> all;
  for (const Case& c : table) {
    missing.push_back(pairs_of(c));
    all.insert(missing.back().begin(), missing.back().end());
  }
  Cover cover{{}, all.size(), 0};
  std::vector<std::size_t> chosen;
  while (chosen.size() < limit) {
    const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    const auto best = std::max_element(missing.begin(), missing.end(), fewer);
    if (best == missing.end() || best->empty()) break;
    chosen.push_back(static_cast<std::size_t>(best - missing.begin()));
    const std::set<std::string> taken = *best;
    cover.covered += taken.size();
    for (auto& pairs : missing) {
      for (const std::string& pair : taken) pairs.erase(pair);
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
