#include "plan/config.h"

#include "base/text.h"

namespace quern {
namespace {

std::vector<std::string> value_names(const Parameter& parameter) {
  std::vector<std::string> names;
  for (const std::int32_t* value = parameter.values; *value != kNoMore; ++value) names.push_back(cat(*value));
  return names;
}

int parameter_index(const Family& family, std::string_view name) {
  std::vector<std::string> known;
  for (int i = 0; i < family.parameters.count; ++i) {
    if (name == family.parameters[i].name) return i;
    known.emplace_back(family.parameters[i].name);
  }
  throw Error(Code::bad_input, Stage::problem,
              cat(family.name, " has no parameter \"", name, "\"; its parameters are: ", join(known, ", "), ".",
                  did_you_mean(name, known)));
}

void set_parameter(const Family& family, std::string_view change, Config& config) {
  const std::size_t equals = std::min(change.find('='), change.size());
  const int index = parameter_index(family, trim(change.substr(0, equals)));
  const std::string value(trim(change.substr(std::min(equals + 1, change.size()))));
  const Parameter& parameter = family.parameters[index];
  for (const std::int32_t* legal = parameter.values; *legal != kNoMore; ++legal) {
    if (cat(*legal) == value) {
      config[index] = *legal;
      return;
    }
  }
  throw Error(Code::bad_input, Stage::problem,
              cat(parameter.name, "=", value, " is not in the tuning space of ", family.name, "; it takes ",
                  join(value_names(parameter), ", ")));
}

}  // namespace

std::string config_text(const Family& family, const Config& config) {
  std::string text;
  for (int i = 0; i < family.parameters.count; ++i)
    text += cat(i == 0 ? "" : " ", family.parameters[i].name, "=", config[i]);
  return text;
}

Config parse_config(const Family& family, std::string_view changes, const Config& base, const void* problem,
                    const Target& target) {
  Config config = base;
  if (!changes.empty() && changes.back() == ',')
    throw Error(Code::bad_input, Stage::problem, cat("the config \"", changes, "\" ends with a comma"));
  for (std::string_view change : split(changes, ',')) set_parameter(family, change, config);
  if (const std::string sentence = violated(family, config, problem, target); !sentence.empty())
    throw Error(Code::bad_input, Stage::problem,
                cat("the config ", config_text(family, config), " is not legal for this problem: ", sentence));
  return config;
}

std::string violated(const Family& family, const Config& config, const void* problem, const Target& target) {
  for (const Constraint& constraint : family.constraints) {
    if (!constraint.holds(problem, target, config)) return constraint.sentence;
  }
  return {};
}

std::vector<Config> legal_configs(const Family& family, const void* problem, const Target& target) {
  std::vector<Config> partial(1);
  for (int i = 0; i < family.parameters.count; ++i) {
    std::vector<Config> longer;
    for (const Config& config : partial) {
      for (const std::int32_t* value = family.parameters[i].values; *value != kNoMore; ++value) {
        longer.push_back(config);
        longer.back()[i] = *value;
      }
    }
    partial = std::move(longer);
  }
  std::vector<Config> legal;
  for (const Config& config : partial) {
    if (violated(family, config, problem, target).empty()) legal.push_back(config);
  }
  return legal;
}

}  // namespace quern
