#include "tuner/space/family_space.h"

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "plan/config.h"
#include "plan/problem.h"
#include "plan/variants.h"

namespace quern {
namespace {

std::vector<std::int32_t> values_of(const Parameter& parameter) {
  std::vector<std::int32_t> values;
  for (const std::int32_t* value = parameter.values; *value != kNoMore; ++value) values.push_back(*value);
  return values;
}

std::vector<Config> checked(const AnyProblem& problem, const Step& step, std::vector<Config> configs) {
  if (!configs.empty()) return configs;
  std::vector<std::string> sentences;
  for (const Constraint& constraint : step.constraints) sentences.emplace_back(constraint.sentence);
  throw problem_error(problem.family(), problem.data(),
                      cat("no config is legal for this problem; the constraints are: ", join(sentences, "; ")));
}

std::vector<Axis> axes_of(const Step& step) {
  std::vector<Axis> axes;
  for (const Parameter& parameter : step.parameters) {
    Axis axis{cat(step.name, *step.name == '\0' ? "" : ".", parameter.name), {}};
    if (parameter.applies != nullptr) axis.otherwise = std::to_string(parameter.otherwise);
    for (const std::int32_t value : values_of(parameter)) axis.values.push_back(std::to_string(value));
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<std::vector<int>> places_of(const Step& step, const std::vector<Config>& configs) {
  std::vector<std::vector<int>> points;
  for (const Config& config : configs) {
    std::vector<int>& point = points.emplace_back();
    for (int i = 0; i < step.parameters.count; ++i) {
      const std::vector<std::int32_t> values = values_of(step.parameters[i]);
      point.push_back(static_cast<int>(std::find(values.begin(), values.end(), config[i]) - values.begin()));
    }
  }
  return points;
}

// Whether a text has a value for each parameter that applies.
bool names_all(const Step& step, const void* problem, const Config& config, const std::string& changes) {
  const std::string padded = cat(",", changes);
  for (int i = 0; i < step.parameters.count; ++i) {
    const std::string name = cat(",", step.name, *step.name == '\0' ? "" : ".", step.parameters[i].name, "=");
    if (applies(step.parameters[i], problem, config) && padded.find(name) == std::string::npos) return false;
  }
  return true;
}

}  // namespace

FamilySpace::FamilySpace(const AnyProblem& problem, const Target& target)
    : FamilySpace(problem, target, problem.family().steps[0]) {}

FamilySpace::FamilySpace(const AnyProblem& problem, const Target& target, const Step& step)
    : problem_(problem),
      target_(target),
      step_(step),
      configs_(checked(problem, step, legal_configs(step, problem.data(), target))),
      space_(axes_of(step), places_of(step, configs_)) {
  std::map<std::array<std::int32_t, kMaxParameters>, int> numbers;
  const Table<Parameter>& parameters = step.parameters;
  for (Config config : configs_) {
    for (int i = 0; i < parameters.count; ++i) config[i] = parameters[i].compiled ? config[i] : 0;
    images_.push_back(numbers.emplace(config.values, static_cast<int>(numbers.size())).first->second);
  }
  image_count_ = static_cast<int>(numbers.size());
}

int FamilySpace::find(const Config& config) const {
  const auto found = std::find(configs_.begin(), configs_.end(), config);
  return found == configs_.end() ? -1 : static_cast<int>(found - configs_.begin());
}

std::string FamilySpace::text(int point) const { return config_text(step_, problem_.data(), config(point)); }

std::string FamilySpace::option(int point) const {
  std::string option = text(point);
  std::replace(option.begin(), option.end(), ' ', ',');
  return option;
}

// A text may also say the value of a parameter that does not apply, as records of older versions do.
int FamilySpace::find(const std::string& text) const {
  for (int point = 0; point < size(); ++point) {
    if (this->text(point) == text) return point;
  }
  std::string changes = text;
  std::replace(changes.begin(), changes.end(), ' ', ',');
  const Config none = normalized(step_, problem_.data(), {});
  try {
    const int found = find(parse_config(step_, changes, none, problem_.data(), target_));
    return found >= 0 && names_all(step_, problem_.data(), configs_[static_cast<std::size_t>(found)], changes) ? found
                                                                                                               : -1;
  } catch (const Error&) {
    return -1;
  }
}

std::string FamilySpace::digest() const {
  std::string all;
  for (const Axis& axis : space_.axes())
    all += cat(axis.name, "=", join(axis.values, ","), " else ", axis.otherwise, "\n");
  for (int point = 0; point < size(); ++point) all += text(point) + "\n";
  return hash128(all).hex();
}

}  // namespace quern
