// Chooses the config of a step of a problem: the caller's, else a record's, else the model's default.
//
// A function of only problem, target, device and records: a live device that has neither its own row in the table of
// models nor records gets the configs of the generic row.
#ifndef QUERN_API_CONFIGS_H_
#define QUERN_API_CONFIGS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/runtime_state.h"
#include "quern/family.h"
#include "records/lookup.h"

namespace quern {

// The device that a config is chosen for. `model` selects the default, `device` (the name from the driver or of a row)
// the records.
struct ConfigPlace {
  Target target;
  DeviceModel model;
  std::string device;
};
ConfigPlace place_of(const Target& target, const DeviceModel& model);

struct Choice {
  const Step* step = nullptr;
  std::vector<Variant> variants;      // in order of preference
  std::optional<FoundRecord> record;  // set if it decided the first one's config
  std::string from;  // of the first one's config: "record of NVIDIA H200 for … (exact), …", "default for generic sm_90"
  std::string hint;  // how the record's conditions differ from these: "compiled by nvrtc 12.9"; empty: they do not
};

// For each step that the problem needs, in execution order. `config`: changes to the defaults; they take precedence
// over any record. `driver`: from driver_text, empty if no driver is open. Throws Error (bad_input) for a config that
// is not legal.
std::vector<Choice> select_configs(RuntimeState& state, const Family& family, const void* problem,
                                   const ConfigPlace& place, std::string_view config, const std::string& driver = {});

// The devices that `prewarm` covers for a target: the generic row, each named row, and each device that has records of
// the family. If `model` is not empty, only the row of this name. Throws Error (bad_input) for a name that is unknown
// or of another architecture.
std::vector<ConfigPlace> places_for(RuntimeState& state, const Family& family, const Target& target,
                                    std::string_view model);

}  // namespace quern

#endif  // QUERN_API_CONFIGS_H_
