// Figures of devices, so that configs and prewarmed keys do not need the device. NVIDIA's data sheets and
// cuDeviceGetAttribute; the H200's row was read off one (132 SMs, 60 MB of L2 as the driver reports it).
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
    // Devices that differ from it, by the driver's name.
    {"NVIDIA H200", 90, 132, 2048, 228 * kKiB, 60 * kMiB},
    {"NVIDIA H100 PCIe", 90, 114, 2048, 228 * kKiB, 50 * kMiB},
};

constexpr Target kTargets[] = {
    {80, ""},   {86, ""},  {89, ""},   {90, ""},       {90, "a"},      {100, ""},       {100, "a"},      {103, ""},
    {103, "a"}, {120, ""}, {120, "a"}, {90, "", true}, {80, "", true}, {100, "", true}, {120, "", true},
};

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
    if (name == model.name) return model;
    names.emplace_back(model.name);
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("device model \"", name, "\" is unknown; known are: ", join(names, ", ")));
}

Target host_target(int arch) { return {arch, "", true}; }

Target target_of(int arch) { return {arch, arch >= 90 ? "a" : ""}; }

Target parse_target(std::string_view text) {
  std::vector<std::string> names;
  for (const Target& target : kTargets) {
    if (text == target.text()) return target;
    names.push_back(target.text());
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("architecture \"", text, "\" is not supported; supported are: ", join(names, ", ")));
}

}  // namespace quern
