#include "api/configs.h"

#include <algorithm>

#include "base/text.h"
#include "driver/device.h"
#include "plan/problem.h"
#include "plan/variants.h"

namespace quern {
namespace {

void add_difference(const char* what, const std::string& there, const std::string& here,
                    std::vector<std::string>& differences) {
  if (!there.empty() && !here.empty() && there != here) differences.push_back(cat(what, there));
}

std::string hint_text(RuntimeState& state, const Step& step, const Record& record, const Target& target,
                      const std::string& driver) {
  std::vector<std::string> differences;
  add_difference("measured with driver ", record.driver, driver, differences);
  add_difference("compiled by ", record.compiler, state.compiler.identity(target), differences);
  if (!record.space_digest.empty() && record.space_digest != space_digest(step))
    differences.emplace_back("chosen from another tuning space");
  return join(differences, ", ");
}

// The least gain, where it was measured, at which a record also decides elsewhere: for another size, for all sizes at
// once (an open extent), on another device. A smaller gain holds for one size only: a record that gained 1.0 % on 65536
// rows cost 7 % on 512 (docs/tuned.md).
constexpr double kBorrowedGainPercent = 3;

double gain_percent(const Record& record) { return 100 * (1 - record.us / record.default_us); }

bool worth_taking(const FoundRecord& found, const Family& family, const void* problem) {
  if (found.exact && !found.sibling && open_extents(family, problem).empty()) return true;
  return found.record->default_us <= 0 || gain_percent(*found.record) >= kBorrowedGainPercent;
}

std::string gain_text(const Record& record) {
  if (record.default_us <= 0) return {};
  const double percent = gain_percent(record);
  if (percent < 0.05) return ", no faster than the default";
  return cat(", ", fixed(percent, 1), " % faster than the default");
}

std::string record_text(const FoundRecord& found) {
  const Record& record = *found.record;
  return cat("record of ", record.device, " for ", record.problem, " (", how_text(found), "), measured ",
             date_text(record.created_unix_ns), gain_text(record));
}

std::string passed_over_text(const FoundRecord& found) {
  const Record& record = *found.record;
  return cat("; the record of ", record.device, " for ", record.problem, " (", how_text(found), ") gains ",
             fixed(gain_percent(record), 1), " %, too little to decide here");
}

void take_record(RuntimeState& state, const Family& family, const void* problem, const ConfigPlace& place,
                 const std::string& driver, Choice& choice) {
  Variant& first = choice.variants.front();
  choice.record = state.records.find(family, {problem, place.target, place.device, first.config, choice.step});
  if (!choice.record) {
    if (state.records.count(family) != 0) choice.from += "; no record fits";
    return;
  }
  if (!worth_taking(*choice.record, family, problem)) {
    choice.from += passed_over_text(*choice.record);
    choice.record.reset();
    return;
  }
  first.config = choice.record->config;
  choice.hint = hint_text(state, *choice.step, *choice.record->record, place.target, driver);
  choice.from = cat(record_text(*choice.record), choice.hint.empty() ? "" : cat("; a hint: ", choice.hint));
}

Choice select_config(RuntimeState& state, const Family& family, const Step& step, const void* problem,
                     const ConfigPlace& place, std::string_view config, const std::string& driver) {
  Choice choice;
  choice.step = &step;
  choice.variants = variants_of(family, step, problem, place.target, place.model, config);
  if (!config.empty()) {
    choice.from = cat("the default changed by ", config);
  } else {
    choice.from = cat("default for ", place.model.name);
    take_record(state, family, problem, place, driver, choice);
  }
  choice.variants = up_to_always_taken(family, step, problem, std::move(choice.variants), *state.options.alignment);
  return choice;
}

}  // namespace

ConfigPlace place_of(const Target& target, const DeviceModel& model) { return {target, model, model.name}; }

std::vector<Choice> select_configs(RuntimeState& state, const Family& family, const void* problem,
                                   const ConfigPlace& place, std::string_view config, const std::string& driver) {
  std::vector<Choice> choices;
  for (const Step* step : steps_of(family, problem))
    choices.push_back(select_config(state, family, *step, problem, place, config, driver));
  return choices;
}

std::vector<ConfigPlace> places_for(RuntimeState& state, const Family& family, const Target& target,
                                    std::string_view model) {
  if (!model.empty()) {
    const DeviceModel& row = model_by_name(model);
    if (row.arch != target.arch)
      throw Error(Code::bad_input, Stage::problem,
                  cat("device model \"", model, "\" is of sm_", row.arch, ", not of ", target.text()));
    return {place_of(target, row)};
  }
  std::vector<ConfigPlace> places = {place_of(target, generic_model(target.arch))};
  for (const DeviceModel& row : device_models()) {
    if (row.arch == target.arch && row.name != places.front().device) places.push_back(place_of(target, row));
  }
  for (const std::string& device : state.records.devices(family, target)) {
    const bool there =
        std::any_of(places.begin(), places.end(), [&](const ConfigPlace& place) { return place.device == device; });
    if (!there) places.push_back({target, generic_model(target.arch), device});
  }
  return places;
}

}  // namespace quern
