// Which config a step of a problem gets: what the caller says, else a record's, else the model's default.
//
// A function of problem, target, device and records, and of nothing else: a live device that has no row of its own in
// the table of models, and no records either, gets what the generic row gets.
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

// What a config is chosen for. `model` gives the default, `device` (a driver's name, or a row's) the records.
struct ConfigPlace {
  Target target;
  DeviceModel model;
  std::string device;
};
ConfigPlace place_of(const Target& target, const DeviceModel& model);

struct Choice {
  const Step* step = nullptr;
  std::vector<Variant> variants;      // most wanted first
  std::optional<FoundRecord> record;  // where it decided the first one's config
  std::string from;  // of the first one's config: "record of NVIDIA H200 for … (exact), …", "default for generic sm_90"
  std::string hint;  // in what the record differs from here: "compiled by nvrtc 12.9"; empty: in nothing
};

// For each step that the problem needs, in the order in which they run. `config`: changes to the defaults; they win
// over any record. `driver`: as driver_text gives it, empty where none is open. Throws Error (bad_input) for a config
// that is not legal.
std::vector<Choice> select_configs(RuntimeState& state, const Family& family, const void* problem,
                                   const ConfigPlace& place, std::string_view config, const std::string& driver = {});

// What `prewarm` goes through for a target: the generic row, each named row, and each device that has records of the
// family. Only the row of this name where `model` is not empty. Throws Error (bad_input) for a name that is unknown or
// of another architecture.
std::vector<ConfigPlace> places_for(RuntimeState& state, const Family& family, const Target& target,
                                    std::string_view model);

}  // namespace quern

#endif  // QUERN_API_CONFIGS_H_
