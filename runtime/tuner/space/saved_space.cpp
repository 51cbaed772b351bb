#include "tuner/space/saved_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "tuner/space/refuse.h"

namespace quern {
namespace {

using Json = nlohmann::json;

constexpr double kFailed = std::numeric_limits<double>::infinity();

// A parser's message without its own prefix.
std::string reason(const Json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.find("] ");
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

Json parse(std::string_view name, std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    refuse(cat(name, " is damaged: ", reason(error)));
  }
}

const Json& member(std::string_view place, const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) refuse(cat(place, " has no \"", key, "\""));
  return object[key];
}

// 16, 16.0 and "16" are one value, as are true and "true".
std::string value_text(std::string_view place, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean() || value.is_number_integer()) return value.dump();
  if (!value.is_number_float())
    refuse(cat(place, " has the value ", value.dump(), ", which is not a number, a string or a bool"));
  const double number = value.get<double>();
  const bool whole = std::abs(number) < 1e15 && number == std::floor(number);
  return whole ? std::to_string(static_cast<std::int64_t>(number)) : value.dump();
}

double checked_us(std::string_view place, double us) {
  if (!std::isfinite(us) || us <= 0) refuse(cat(place, " has a time that is not positive"));
  return us;
}

// Collects configs as they are in a file; numbers them once all are read.
class Reading {
 public:
  Reading(std::string_view name, std::vector<Axis> axes) : name_(name), axes_(std::move(axes)) {}

  const std::vector<Axis>& axes() const { return axes_; }
  std::size_t size() const { return times_.size(); }

  void add(std::string_view place, std::vector<int> indices, double us) {
    if (!times_.emplace(std::move(indices), us).second) refuse(cat(place, " is a duplicate"));
  }

  SavedSpace finish() {
    std::vector<std::vector<int>> points;
    std::vector<double> us;
    for (const auto& [indices, time] : times_) {  // in canonical order
      points.push_back(indices);
      us.push_back(time);
    }
    if (std::all_of(us.begin(), us.end(), [](double time) { return time == kFailed; }))
      refuse(cat(name_, us.empty() ? ": it has no config" : ": every config failed", "; there is nothing to search"));
    SavedSpace saved{Space(std::move(axes_), std::move(points)), std::move(us), {}, 0, 0};
    saved.failed = static_cast<int>(std::count(saved.us.begin(), saved.us.end(), kFailed));
    saved.best = static_cast<int>(std::min_element(saved.us.begin(), saved.us.end()) - saved.us.begin());
    return saved;
  }

 private:
  std::string name_;
  std::vector<Axis> axes_;
  std::map<std::vector<int>, double> times_;
};

int place_of(std::string_view place, const Axis& axis, const std::string& value) {
  const auto found = std::find(axis.values.begin(), axis.values.end(), value);
  if (found == axis.values.end())
    refuse(cat(place, " has ", axis.name, "=", value, ", which is not a value of that axis"));
  return static_cast<int>(found - axis.values.begin());
}

// ---- Kernel Tuner's caches ----------------------------------------------------------------------------------------

// The brackets that `text` leaves open, '{' or '[' each, and whether it ends inside a string.
struct Open {
  std::string brackets;
  bool quoted = false;
};
Open open_at_end(std::string_view text) {
  Open open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (open.quoted) {
      if (c == '\\') ++i;
      if (c == '"') open.quoted = false;
    } else if (c == '"') {
      open.quoted = true;
    } else if (c == '{' || c == '[') {
      open.brackets += c;
    } else if ((c == '}' || c == ']') && !open.brackets.empty()) {
      open.brackets.pop_back();
    }
  }
  return open;
}

int line_of_end(std::string_view text) { return 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

// The completed file: the closing braces of the cache and of the whole may be missing after a config.
std::string closed(std::string_view name, std::string_view text) {
  std::string whole(trim(text));
  const Open open = open_at_end(whole);
  if (open.brackets.empty() && !open.quoted) return whole;
  if (open.quoted || open.brackets.size() > 2 || open.brackets.find('[') != std::string::npos)
    refuse(cat(name, " is truncated: it ends inside a config, in line ", line_of_end(whole),
               "; copy it again, or remove the text after the last complete config"));
  if (whole.back() == ',') whole.pop_back();
  return whole + std::string(open.brackets.size(), '}');
}

std::vector<Axis> cache_axes(std::string_view name, const Json& file) {
  const Json& values = member(name, file, "tune_params");
  std::vector<Axis> axes;
  for (const Json& key : member(name, file, "tune_params_keys")) {
    if (!key.is_string()) refuse(cat(name, " has ", key.dump(), " among its tune_params_keys, which is not a name"));
    Axis axis{key.get<std::string>(), {}};
    const std::string place = cat("the axis ", axis.name, " of ", name);
    for (const Json& value : member(cat("tune_params of ", name), values, axis.name.c_str()))
      axis.values.push_back(value_text(place, value));
    axes.push_back(std::move(axis));
  }
  return axes;
}

// Milliseconds; a string is the name of a failure.
double cache_us(std::string_view place, const Json& time) {
  if (time.is_string()) return kFailed;
  if (!time.is_number()) refuse(cat(place, " has a time that is neither a number nor the name of a failure"));
  return checked_us(place, time.get<double>() * 1000);
}

SavedSpace read_cache(std::string_view name, std::string_view text) {
  const Json file = parse(name, closed(name, text));
  Reading reading(name, cache_axes(name, file));
  for (const auto& [key, config] : member(name, file, "cache").items()) {
    const std::string place = cat("the config ", key, " of ", name);
    std::vector<int> indices;
    for (const Axis& axis : reading.axes())
      indices.push_back(place_of(place, axis, value_text(place, member(place, config, axis.name.c_str()))));
    reading.add(place, std::move(indices), cache_us(place, member(place, config, "time")));
  }
  return reading.finish();
}

// ---- quern's sweep files ------------------------------------------------------------------------------------------

std::vector<Axis> sweep_axes(std::string_view place, const Json& head) {
  std::vector<Axis> axes;
  for (const Json& row : member(place, head, "axes"))
    axes.push_back({member(place, row, "name").get<std::string>(),
                    member(place, row, "values").get<std::vector<std::string>>(), row.value("otherwise", "")});
  return axes;
}

std::vector<int> sweep_indices(std::string_view place, const std::vector<Axis>& axes, const std::string& config) {
  std::vector<int> indices(axes.size(), -1);
  for (const std::string_view word : split(config, ' ')) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto axis =
        std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == word.substr(0, equals); });
    if (axis == axes.end()) refuse(cat(place, " has \"", word, "\", which is not an axis"));
    indices[static_cast<std::size_t>(axis - axes.begin())] =
        place_of(place, *axis, std::string(word.substr(std::min(equals + 1, word.size()))));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (indices[i] < 0 && !axes[i].otherwise.empty()) indices[i] = place_of(place, axes[i], axes[i].otherwise);
  }
  if (std::count(indices.begin(), indices.end(), -1) != 0) refuse(cat(place, " has too few axes: ", config));
  return indices;
}

void add_sweep_line(Reading& reading, std::string_view place, std::string_view text) {
  const Json line = parse(place, text);
  if (!line.is_object() || !line.contains("config")) return;  // finalists, the result, lines of later versions
  try {
    const double us = line.contains("failure") ? kFailed : checked_us(place, member(place, line, "us").get<double>());
    reading.add(place, sweep_indices(place, reading.axes(), line["config"].get<std::string>()), us);
  } catch (const Json::exception& error) {  // a member of the wrong type
    refuse(cat(place, " is damaged: ", reason(error)));
  }
}

void check_schema(std::string_view name, const Json& head) {
  const Json& schema = head["quern_sweep"];
  if (!schema.is_number_integer() || schema.get<int>() != 1)
    refuse(cat(name, " is a sweep of schema ", schema.dump(), "; this quern reads schema 1"));
}

SavedSpace read_sweep(std::string_view name, const Json& head, std::string_view rest) {
  check_schema(name, head);
  Reading reading(name, sweep_axes(cat("the head of ", name), head));
  int number = 1;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;  // an unfinished line
    const std::string place = cat("line ", ++number, " of ", name);
    if (!trim(rest.substr(0, end)).empty()) add_sweep_line(reading, place, rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  const auto points = member(cat("the head of ", name), head, "points").get<std::size_t>();
  if (reading.size() != points)
    refuse(cat(name, " has ", reading.size(), " of ", points,
               " points; a replay needs all of them: sweep with --strategy exhaustive"));
  const std::vector<Axis> axes = reading.axes();
  SavedSpace saved = reading.finish();
  if (head.contains("default")) {
    const auto text = head["default"].get<std::string>();
    saved.first = {saved.space.find(sweep_indices(cat("the default of ", name), axes, text))};
    if (saved.first.front() < 0) refuse(cat("the default of ", name, " is not one of its points: ", text));
  }
  return saved;
}

// The head of a sweep: its first line.
std::optional<Json> sweep_head(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.find("\"quern_sweep\"") == std::string_view::npos) return std::nullopt;
  Json head = Json::parse(line, nullptr, false);
  if (!head.is_object() || !head.contains("quern_sweep")) return std::nullopt;
  return head;
}

}  // namespace

SavedSpace read_saved_space(std::string_view name, std::string_view text) {
  if (trim(text).empty()) refuse(cat(name, " is empty; a saved tuning space was expected"));
  try {
    if (const std::optional<Json> head = sweep_head(text)) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1);
      return read_sweep(name, *head, text.substr(end + 1));
    }
    return read_cache(name, text);
  } catch (const Json::exception& error) {  // a member of the wrong type
    refuse(cat(name, " is damaged: ", reason(error)));
  } catch (Error& error) {
    if (error.sentence.find(name) == std::string::npos) error.sentence = cat(name, ": ", error.sentence);
    throw;
  }
}

}  // namespace quern
