// The host driver's functions beyond the driver API: see driver/host_controls.h.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "driver/host_controls.h"
#include "hostdriver/api/faults.h"
#include "hostdriver/api/guarded.h"
#include "hostdriver/api/schedule.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

struct Kind {
  const char* name;
  std::size_t (*count)(const DriverState&);
};

constexpr Kind kKinds[] = {
    {"contexts", [](const DriverState& m) -> std::size_t { return m.living_contexts; }},
    {"libraries", [](const DriverState& m) { return m.libraries.size(); }},
    {"streams", [](const DriverState& m) { return m.streams.size(); }},
    {"events", [](const DriverState& m) { return m.events.size(); }},
    {"graphs", [](const DriverState& m) { return m.graphs.size(); }},
    {"executables", [](const DriverState& m) { return m.executables.size(); }},
    {"allocations", [](const DriverState& m) { return m.allocations(); }},
};

void lose(Call& call, int ordinal) {
  device_at(call.state, ordinal).lost = true;
  call.state.contexts.for_each([&](Context& context) {
    if (context.device == ordinal) corrupt(context, kDeviceLost);
  });
}

void inject(Call& call, const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::lose:
      return lose(call, fault.device);
    case Fault::Kind::clear:
      faults().clear();
      for (const auto& device : call.state.devices) device->lost = false;
      return;
    default:
      faults().add(fault);
  }
}

}  // namespace

QUERN_HOST_ENTRY CUresult quernHostConfigure(const char* text) {
  return guarded("quernHostConfigure", Needs::nothing, [&](Call& call) {
    DriverState& state = call.state;
    state.read_environment();
    Settings changed = *state.settings;
    if (const std::string words = apply(&needed(text, "settings"), changed); !words.empty())
      refuse(CUDA_ERROR_INVALID_VALUE, words);
    const bool other_devices = changed.devices != state.settings->devices;
    require(!other_devices || state.living_contexts == 0, CUDA_ERROR_ILLEGAL_STATE,
            "devices cannot be changed while a context is alive");
    state.settings = std::make_shared<const Settings>(std::move(changed));
    if (other_devices && state.initialized) state.make_devices();
    report("");
  });
}

QUERN_HOST_ENTRY CUresult quernHostInject(const char* text) {
  return guarded("quernHostInject", Needs::nothing,
                 [&](Call& call) { inject(call, parse_fault(&needed(text, "fault"))); });
}

QUERN_HOST_ENTRY int quernHostTellsTime() {
  int scripted = 0;
  guarded("quernHostTellsTime", Needs::nothing, [&](Call& call) {
    call.state.read_environment();
    scripted = call.state.settings->scripted() ? 1 : 0;
  });
  return scripted;
}

QUERN_HOST_ENTRY unsigned long long quernHostCalls(const char* call) {
  return call == nullptr ? 0 : faults().calls(call);
}

QUERN_HOST_ENTRY unsigned long long quernHostAlive(const char* kind) {
  unsigned long long count = 0;
  guarded("quernHostAlive", Needs::nothing, [&](Call& call) {
    bool known = kind == nullptr;  // null: all kinds together
    for (const Kind& one : kKinds) {
      if (kind != nullptr && std::strcmp(kind, one.name) != 0) continue;
      count += one.count(call.state);
      known = true;
    }
    if (!known) refuse(CUDA_ERROR_INVALID_VALUE, quern::cat("unknown kind ", kind));
  });
  return count;
}

QUERN_HOST_ENTRY std::size_t quernHostReport(char* text, std::size_t bytes) {
  const std::string words = last_report();
  if (text == nullptr || bytes == 0) return words.size();
  const std::size_t count = std::min(words.size(), bytes - 1);
  std::memcpy(text, words.data(), count);
  text[count] = '\0';
  return words.size();
}

QUERN_HOST_ENTRY CUresult quernHostNameMemory(CUdeviceptr address, const char* name) {
  return guarded("quernHostNameMemory", Needs::init, [&](Call& call) {
    need(name, "name");
    Allocation* const allocation = call.state.find_memory(address);
    require(allocation != nullptr && allocation->begin == address, CUDA_ERROR_INVALID_VALUE,
            "the address is not the start of an allocation");
    allocation->name = name;
  });
}

QUERN_HOST_ENTRY CUresult quernHostLogAccesses(int on) {
  return guarded("quernHostLogAccesses", Needs::nothing, [&](Call& call) {
    if (on != 0) call.state.access_log.clear();
    call.state.logs_accesses = on != 0;
  });
}

QUERN_HOST_ENTRY CUresult quernHostVisitAccesses(void (*visit)(void* data, const quernHostAccess* access), void* data) {
  return guarded("quernHostVisitAccesses", Needs::nothing, [&](Call& call) {
    require(visit != nullptr, CUDA_ERROR_INVALID_VALUE, "visit is null");
    call.state.access_log.visit([&](const quernHostAccess& access) { visit(data, &access); });
  });
}

QUERN_HOST_ENTRY CUresult quernHostVisitAccessTotals(void (*visit)(void* data, const quernHostAccess* access),
                                                     void* data) {
  return guarded("quernHostVisitAccessTotals", Needs::nothing, [&](Call& call) {
    require(visit != nullptr, CUDA_ERROR_INVALID_VALUE, "visit is null");
    call.state.access_log.visit_totals([&](const quernHostAccess& access) { visit(data, &access); });
  });
}
