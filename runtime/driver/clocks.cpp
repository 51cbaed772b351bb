#include "driver/clocks.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <vector>

#include "base/text.h"

namespace quern {
namespace {

// From NVML's reference: argument values, the clock types that are read, and the bits of the throttle reasons.
using NvmlDevice = struct nvmlDevice_st*;
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;

struct Reason {
  unsigned long long bit;
  const char* words;
};
constexpr Reason kReasons[] = {
    {0x04, "power cap"},   {0x08, "hardware slowdown"}, {0x20, "thermal"}, {0x40, "thermal, by hardware"},
    {0x80, "power brake"},
};

class Nvml {
 public:
  Nvml() : handle_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) return;
    find("nvmlInit_v2", init_);
    find("nvmlShutdown", shutdown_);
    find("nvmlDeviceGetHandleByPciBusId_v2", by_pci_);
    find("nvmlDeviceGetClockInfo", clock_);
    find("nvmlDeviceGetEnforcedPowerLimit", power_limit_);
    find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons_);
    ready_ = all_found_ && init_() == kSuccess;
  }
  ~Nvml() {
    if (ready_) shutdown_();
    if (handle_ != nullptr) dlclose(handle_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  ClockRates read(const std::string& pci) const {
    ClockRates clocks;
    NvmlDevice device = nullptr;
    unsigned number = 0;
    unsigned long long reasons = 0;
    if (!ready_ || by_pci_(pci.c_str(), &device) != kSuccess) return clocks;
    if (clock_(device, kSmClock, &number) == kSuccess) clocks.sm_mhz = static_cast<int>(number);
    if (clock_(device, kMemoryClock, &number) == kSuccess) clocks.memory_mhz = static_cast<int>(number);
    if (power_limit_(device, &number) == kSuccess) clocks.power_limit_w = number / 1000.0;
    if (reasons_(device, &reasons) == kSuccess) clocks.throttled = throttle_words(reasons);
    return clocks;
  }

 private:
  template <class F>
  void find(const char* symbol, F& function) {
    function = reinterpret_cast<F>(dlsym(handle_, symbol));
    all_found_ = all_found_ && function != nullptr;
  }

  void* handle_;
  bool all_found_ = true;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*by_pci_)(const char*, NvmlDevice*) = nullptr;
  int (*clock_)(NvmlDevice, int, unsigned*) = nullptr;
  int (*power_limit_)(NvmlDevice, unsigned*) = nullptr;
  int (*reasons_)(NvmlDevice, unsigned long long*) = nullptr;
};

// "00000000:1B:00.0"; empty if the driver does not report it.
std::string pci_of(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  std::array<int, 3> numbers{};
  constexpr CUdevice_attribute kParts[] = {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                                           CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
  if (driver->DeviceGet(&device, ordinal) != CUDA_SUCCESS) return {};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (driver->DeviceGetAttribute(&numbers[i], kParts[i], device) != CUDA_SUCCESS) return {};
  }
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%08X:%02X:%02X.0", static_cast<unsigned>(numbers[0]),
                static_cast<unsigned>(numbers[1]) & 0xffU, static_cast<unsigned>(numbers[2]) & 0xffU);
  return text.data();
}

}  // namespace

std::string throttle_words(unsigned long long reasons) {
  std::vector<std::string> words;
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bit) != 0) words.emplace_back(reason.words);
  }
  return join(words, ", ");
}

ClockRates read_clocks(const Driver& driver, int ordinal) {
  const std::string pci = driver.runs_host_images() ? std::string() : pci_of(driver, ordinal);
  return pci.empty() ? ClockRates{} : Nvml().read(pci);
}

}  // namespace quern
