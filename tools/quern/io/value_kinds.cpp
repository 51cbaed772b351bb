#include "io/value_kinds.h"

#include <algorithm>
#include <iterator>

#include "driver/device.h"
#include "io/command.h"
#include "tuner/search/search.h"

namespace quern::tool {
namespace {

using Words = std::vector<std::string>;

Words strategy_names() {
  Words names;
  for (const StrategyRow& row : strategies()) names.emplace_back(row.name);
  return names;
}

Words model_names() {
  Words names;
  for (const DeviceModel& model : device_models()) names.emplace_back(model.name);
  return names;
}

Words arch_names() {
  Words names = target_names();
  names.emplace_back("native");
  return names;
}

const ValueKind kKinds[] = {
    {"LEVEL", true, log_levels},
    {"REGIME", true,
     [] {
       return Words{"cold", "warm"};
     }},
    {"STRATEGY", true, strategy_names},
    {"PART", true,
     [] {
       return Words{"cubin", "ptx", "source", "log"};
     }},
    {"DEVICE", false,
     [] {
       return Words{"cuda:0", "host"};
     }},
    {"ARCH", false, arch_names},
    {"MODEL", false, model_names},
};

}  // namespace

const ValueKind* find_value_kind(std::string_view placeholder) {
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const ValueKind& kind) { return placeholder == kind.placeholder; });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace quern::tool
