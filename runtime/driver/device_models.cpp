// Figures of devices, so that choosing configs and prewarming need no device. From NVIDIA's data sheets and
// cuDeviceGetAttribute; the H200's row was read from a device (132 SMs, 60 MB of L2 as the driver reports it).
#include <algorithm>

#include "base/text.h"
#include "driver/device.h"

namespace quern {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

constexpr DeviceModel kModels[] = {
    // The generic row of each architecture: its largest common part.
    {"generic sm_80", 80, 108, 2048, 164 * kKiB, 40 * kMiB},
    {"generic sm_86", 86, 84, 1536, 100 * kKiB, 6 * kMiB},
    {"generic sm_89", 89, 142, 1536, 100 * kKiB, 72 * kMiB},
    {"generic sm_90", 90, 132, 2048, 228 * kKiB, 50 * kMiB},
    {"generic sm_100", 100, 148, 2048, 228 * kKiB, 126 * kMiB},
    {"generic sm_103", 103, 148, 2048, 228 * kKiB, 126 * kMiB},
    {"generic sm_120", 120, 170, 1536, 100 * kKiB, 96 * kMiB},
    // Devices that differ from the generic row, by the driver's name.
    {"NVIDIA H200", 90, 132, 2048, 228 * kKiB, 60 * kMiB},
    {"NVIDIA H100 PCIe", 90, 114, 2048, 228 * kKiB, 50 * kMiB},
};

constexpr Target kTargets[] = {
    {80, ""},   {86, ""},  {89, ""},   {90, ""},       {90, "a"},      {100, ""},       {100, "a"},      {103, ""},
    {103, "a"}, {120, ""}, {120, "a"}, {90, "", true}, {80, "", true}, {100, "", true}, {120, "", true},
};

// Common names of GPUs, and their targets.
constexpr Alias kTargetAliases[] = {
    {"a100", "sm_80"},    {"a30", "sm_80"},     {"a10", "sm_86"},    {"a40", "sm_86"},     {"a6000", "sm_86"},
    {"rtx3090", "sm_86"}, {"l4", "sm_89"},      {"l40", "sm_89"},    {"l40s", "sm_89"},    {"rtx4090", "sm_89"},
    {"h100", "sm_90a"},   {"h200", "sm_90a"},   {"h20", "sm_90a"},   {"gh200", "sm_90a"},  {"b100", "sm_100a"},
    {"b200", "sm_100a"},  {"gb200", "sm_100a"}, {"b300", "sm_103a"}, {"gb300", "sm_103a"}, {"rtx5090", "sm_120a"},
    {"cpu", "host"},
};

// "sm_90a" from "sm90a", "90a", "9.0a"; for a plain number the target of such a device. Returns the text itself if it
// is none of these.
std::string target_name(std::string_view text) {
  std::string name = meant_by(text, kTargetAliases);
  if (name.rfind("sm_", 0) == 0) return name;
  std::string rest = name.rfind("sm", 0) == 0 ? name.substr(2) : name;
  rest.erase(std::remove(rest.begin(), rest.end(), '.'), rest.end());
  if (const auto number = parse_integer(rest); number && *number > 0 && *number < 1000)
    return target_of(static_cast<int>(*number)).text();
  return rest.find_first_not_of("0123456789") == rest.size() - 1 ? cat("sm_", rest) : name;
}

}  // namespace

Table<DeviceModel> device_models() { return kModels; }

const DeviceModel& generic_model(int arch) {
  const DeviceModel* best = &kModels[0];
  for (const DeviceModel& model : kModels) {
    if (std::string_view(model.name).rfind("generic", 0) == 0 && model.arch <= arch) best = &model;
  }
  return *best;
}

const DeviceModel& model_of(const Device& device) {
  for (const DeviceModel& model : kModels) {
    if (model.name == device.name) return model;
  }
  return generic_model(device.arch);
}

DeviceModel live_model(const Device& device) {
  DeviceModel model = model_of(device);
  model.multiprocessors = device.multiprocessors;
  model.threads_per_multiprocessor = device.threads_per_multiprocessor;
  model.shared_bytes_per_multiprocessor = device.shared_bytes_per_multiprocessor;
  model.l2_bytes = device.l2_bytes;
  return model;
}

const DeviceModel& model_by_name(std::string_view name) {
  std::vector<std::string> names;
  for (const DeviceModel& model : kModels) {
    const std::string known = lower(model.name);
    if (lower(name) == known || cat("nvidia ", lower(name)) == known) return model;
    names.emplace_back(model.name);
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("device model \"", name, "\" is unknown; expected one of ", join(names, ", "), ".",
                  did_you_mean(name, names)));
}

Target host_target(int arch) { return {arch, "", true}; }

Target target_of(int arch) { return {arch, arch >= 90 ? "a" : ""}; }

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Target& target : kTargets) names.push_back(target.text());
  return names;
}

Target parse_target(std::string_view text) {
  const std::string name = target_name(text);
  for (const Target& target : kTargets) {
    if (name == target.text()) return target;
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("architecture \"", text, "\" is not supported; expected one of ", join(target_names(), ", "), ".",
                  did_you_mean(name, target_names())));
}

}  // namespace quern
