#include "plan/config.h"

#include <algorithm>

#include "base/text.h"
#include "plan/variants.h"

namespace quern {
namespace {

std::vector<std::string> value_names(const Parameter& parameter) {
  std::vector<std::string> names;
  for (const std::int32_t* value = parameter.values; *value != kNoMore; ++value) names.push_back(cat(*value));
  return names;
}

int parameter_index(const Step& step, std::string_view name) {
  std::vector<std::string> known;
  for (int i = 0; i < step.parameters.count; ++i) {
    if (name == step.parameters[i].name) return i;
    known.emplace_back(step.parameters[i].name);
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("there is no parameter \"", name, "\"; the parameters are: ", join(known, ", "), ".",
                  did_you_mean(name, known)));
}

// The parameter that a change names.
int set_parameter(const Step& step, std::string_view change, Config& config) {
  const std::size_t equals = std::min(change.find('='), change.size());
  const int index = parameter_index(step, trim(without_step(step, change.substr(0, equals))));
  const std::string value(trim(change.substr(std::min(equals + 1, change.size()))));
  const Parameter& parameter = step.parameters[index];
  for (const std::int32_t* legal = parameter.values; *legal != kNoMore; ++legal) {
    if (cat(*legal) == value) {
      config[index] = *legal;
      return index;
    }
  }
  throw Error(
      Code::bad_input, Stage::problem,
      cat(parameter.name, "=", value, " is not in the tuning space; it takes ", join(value_names(parameter), ", ")));
}

// Refuses a value that would be ignored.
void require_applied(const Step& step, const void* problem, const Config& wanted, const Config& config, int index) {
  if (wanted[index] == config[index]) return;
  throw Error(Code::bad_input, Stage::problem,
              cat(step.parameters[index].name, "=", wanted[index], " does not apply to the config ",
                  config_text(step, problem, config), " of this problem: ", step.parameters[index].sentence));
}

}  // namespace

std::string config_text(const Step& step, const void* problem, const Config& config) {
  std::string text;
  for (int i = 0; i < step.parameters.count; ++i) {
    if (applies(step.parameters[i], problem, config))
      text += cat(text.empty() ? "" : " ", step.name, *step.name == '\0' ? "" : ".", step.parameters[i].name, "=",
                  config[i]);
  }
  return text;
}

std::vector<std::string_view> changes_in(std::string_view config) {
  std::vector<std::string_view> changes;
  for (const std::string_view part : split(config, ',')) {
    const bool printed = std::count(part.begin(), part.end(), '=') > 1;
    for (const std::string_view change : split(part, printed ? ' ' : ',')) {
      if (!printed || !change.empty()) changes.push_back(trim(change));
    }
  }
  return changes;
}

Config parse_config(const Step& step, std::string_view changes, const Config& base, const void* problem,
                    const Target& target) {
  Config config = base;
  if (!changes.empty() && changes.back() == ',')
    throw Error(Code::bad_input, Stage::problem, cat("the config \"", changes, "\" ends with a comma"));
  std::vector<int> changed;
  for (const std::string_view change : changes_in(changes)) {
    if (is_of_step(step, change)) changed.push_back(set_parameter(step, change, config));
  }
  const Config wanted = config;
  config = normalized(step, problem, config);
  for (const int index : changed) require_applied(step, problem, wanted, config, index);
  if (const std::string sentence = violated(step, config, problem, target); !sentence.empty())
    throw Error(Code::bad_input, Stage::problem,
                cat("the config ", config_text(step, problem, config), " is not legal for this problem: ", sentence));
  return config;
}

std::string violated(const Step& step, const Config& config, const void* problem, const Target& target) {
  for (const Constraint& constraint : step.constraints) {
    if (!constraint.holds(problem, target, config)) return constraint.sentence;
  }
  return {};
}

std::vector<Config> legal_configs(const Step& step, const void* problem, const Target& target) {
  std::vector<Config> partial(1);
  for (int i = 0; i < step.parameters.count; ++i) {
    const Parameter& parameter = step.parameters[i];
    std::vector<Config> longer;
    const auto add = [&](Config config, std::int32_t value) {
      config[i] = value;
      longer.push_back(config);
    };
    for (const Config& config : partial) {
      if (!applies(parameter, problem, config)) {
        add(config, parameter.otherwise);
        continue;
      }
      for (const std::int32_t* value = parameter.values; *value != kNoMore; ++value) add(config, *value);
    }
    partial = std::move(longer);
  }
  std::vector<Config> legal;
  for (const Config& config : partial) {
    if (violated(step, config, problem, target).empty()) legal.push_back(config);
  }
  return legal;
}

}  // namespace quern
