#include "hostdriver/api/operations.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

#include "base/text.h"
#include "hostdriver/api/faults.h"
#include "hostdriver/exec/report.h"

namespace quern::host {
namespace {

// Device memory that has been checked to lie inside one allocation.
struct Range {
  unsigned char* bytes;
  unsigned char* written;
};

Range device_range(CUdeviceptr address, std::size_t bytes, CUresult otherwise) {
  if (bytes == 0) return {nullptr, nullptr};
  Allocation* const allocation = state().find_memory(address);
  if (allocation == nullptr) refuse(otherwise, cat("the device address ", address, " is in no allocation"));
  if (!allocation->contains(address, bytes))
    refuse(otherwise, cat(bytes, " bytes at byte ", static_cast<std::int64_t>(address - allocation->begin), " of ",
                          name_of(*allocation)));
  auto* const begin = reinterpret_cast<unsigned char*>(address);  // NOLINT(performance-no-int-to-ptr)
  return {begin, allocation->written.get() + (address - allocation->begin)};
}

// At the call. When the operation runs, an invalid address is a device fault instead.
void check_now(CUdeviceptr address, std::size_t bytes) { device_range(address, bytes, CUDA_ERROR_INVALID_VALUE); }
Range range(CUdeviceptr address, std::size_t bytes) { return device_range(address, bytes, CUDA_ERROR_ILLEGAL_ADDRESS); }

void write(CUdeviceptr to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const Range target = range(to, bytes);
  std::memcpy(target.bytes, from, bytes);
  std::memset(target.written, 1, bytes);
}

// A copy from or to the host takes no device time.
Operation operation(const char* kind, std::function<void()> run) {
  return {kind, {}, [run = std::move(run)](const Pass&) { return run(), Outcome{}; }};
}

// Once per image: its raw accesses are checked, but no report can name their source line.
void say_raw(const twin::Image& image, const std::string& words) {
  static std::mutex mutex;
  static auto& said = *new std::set<const twin::Image*>;
  const std::string text = cat(
      "quern host driver: ", image.kernel, " reaches ", words,
      ": it is checked, but no report can name its line; use load and store of common/vector.cuh, and QUERN_SHARED");
  report(text);
  const std::lock_guard lock(mutex);
  if (said.insert(&image).second) std::fprintf(stderr, "%s\n", text.c_str());
}

Span span(CUdeviceptr begin, std::size_t bytes) { return {begin, begin + bytes}; }

std::int64_t or_memory(std::int64_t rate, const Rates& rates) { return rate > 0 ? rate : rates.memory; }

// The scripted time of this traffic; 0 without a scripted clock.
Outcome timed(const Traffic& traffic, Memory& memory, const Settings& settings, std::int64_t rate) {
  if (!settings.scripted()) return {};
  const Rates& rates = settings.rates;
  return {.ns = memory.clock().ns(traffic, or_memory(rate, rates), or_memory(rates.l2, rates))};
}

// An operation that causes `traffic` in the memory that contains `to`.
Operation move(const char* kind, CUdeviceptr to, Traffic traffic, std::function<void()> run) {
  return {kind, {}, [=, run = std::move(run), traffic = std::move(traffic)](const Pass& pass) {
            Memory* memory = nullptr;
            if (!pass.only_timed()) run();
            if (state().find_memory(to, &memory) == nullptr) return Outcome{};
            return timed(traffic, *memory, pass.settings, pass.settings.rates.copy);
          }};
}

Outcome run_whole(const Grid& grid, const Settings& settings, Memory& memory, Footprint* footprint) {
  DriverState& all = state();
  Outcome outcome = run_grid(grid, settings, memory, {all.logs_accesses ? &all.access_log : nullptr, footprint});
  if (settings.say_raw && !outcome.raw.empty()) say_raw(*grid.image, outcome.raw);
  if (outcome.result != CUDA_SUCCESS) return outcome;
  if (const std::string damage = memory.damage(); !damage.empty())
    return {CUDA_ERROR_ILLEGAL_ADDRESS, cat(grid.image->kernel, ": after it, ", damage)};
  return outcome;
}

Outcome run_scripted(const Grid& grid, const Pass& pass, Memory& memory, KnownTraffic& known) {
  const RelativeLaunch launch(grid, memory);
  std::optional<Traffic> traffic = known.find(launch);
  if (!traffic || !pass.only_timed()) {
    Footprint footprint;
    Outcome outcome = run_whole(grid, pass.settings, memory, &footprint);
    if (outcome.result != CUDA_SUCCESS) return outcome;
    traffic = footprint.traffic();
    known.add(launch, *traffic);
  }
  return timed(*traffic, memory, pass.settings, pass.settings.rates.memory);
}

Outcome run_kernel(const Grid& grid, const Pass& pass, Memory& memory, KnownTraffic& known) {
  if (faults().enter_kernel())
    return {CUDA_ERROR_LAUNCH_FAILED, cat(grid.image->kernel, ": killed by an injected fault")};
  if (pass.settings.scripted()) return run_scripted(grid, pass, memory, known);
  return run_whole(grid, pass.settings, memory, nullptr);
}

}  // namespace

Operation copy_to_device(CUdeviceptr to, const void* from, std::size_t bytes) {
  check_now(to, bytes);
  return operation("copy", [=] { write(to, from, bytes); });
}

Operation copy_staged(CUdeviceptr to, const void* from, std::size_t bytes) {
  check_now(to, bytes);
  const auto* const begin = static_cast<const unsigned char*>(from);
  const auto staged = std::make_shared<const std::vector<unsigned char>>(begin, begin + bytes);
  return operation("copy", [=] { write(to, staged->data(), bytes); });
}

Operation copy_to_host(void* to, CUdeviceptr from, std::size_t bytes) {
  check_now(from, bytes);
  return operation("copy", [=] {
    if (bytes > 0) std::memcpy(to, range(from, bytes).bytes, bytes);
  });
}

Operation copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  check_now(to, bytes);
  check_now(from, bytes);
  return move("copy", to, {{span(from, bytes)}, {span(to, bytes)}}, [=] {
    if (bytes == 0) return;
    const Range target = range(to, bytes);
    const Range source = range(from, bytes);
    std::memmove(target.bytes, source.bytes, bytes);
    std::memmove(target.written, source.written, bytes);
  });
}

Operation set_bytes(CUdeviceptr to, unsigned char value, std::size_t bytes) {
  check_now(to, bytes);
  return move("set", to, {{}, {span(to, bytes)}}, [=] {
    if (bytes == 0) return;
    const Range target = range(to, bytes);
    std::memset(target.bytes, value, bytes);
    std::memset(target.written, 1, bytes);
  });
}

Operation kernel(const std::shared_ptr<Library>& library, Grid grid, Memory& memory) {
  // The image stays loaded until its last kernel has ended, even if its library is unloaded before.
  return {"kernel", library,
          [image = library->image, grid = std::make_shared<const Grid>(std::move(grid)), &memory](const Pass& pass) {
            return run_kernel(*grid, pass, memory, image->known_traffic());
          }};
}

}  // namespace quern::host
