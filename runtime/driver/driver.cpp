#include "driver/driver.h"

#include <dlfcn.h>

#include <vector>

#include "base/process_state.h"
#include "base/text.h"

namespace quern {
namespace {

struct Opened {
  void* handle = nullptr;
  std::string path;
};

// libcuda is never closed: the driver keeps its own threads.
Opened open_library(const std::string& path) {
  const std::vector<std::string> places =
      path.empty() ? std::vector<std::string>{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                              "/usr/lib/wsl/lib/libcuda.so.1"}
                   : std::vector<std::string>{path};
  std::vector<std::string> failures;
  for (const std::string& place : places) {
    if (void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, place};
    failures.emplace_back(cat("  ", place, ": ", dlerror()));  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
  }
  throw Error(Code::no_driver, Stage::load,
              cat("no NVIDIA driver: libcuda.so.1 could not be opened. Install the driver, or give its path in "
                  "QUERN_LIBCUDA. Tried:\n",
                  join(failures, "\n")));
}

template <class F>
void bind(const Opened& library, const char* symbol, F& member) {
  member = reinterpret_cast<F>(dlsym(library.handle, symbol));
  if (member == nullptr)
    throw Error(Code::no_driver, Stage::load,
                cat(library.path, " has no ", symbol, ": quern needs a driver of CUDA 12.0 (525) or newer"));
}

DriverTable bind_table(const Opened& library) {
  DriverTable table;
#define QUERN_BIND(member, symbol) bind(library, #symbol, table.member);
  QUERN_DRIVER_FUNCTIONS(QUERN_BIND)
#undef QUERN_BIND
  return table;
}

// All or none of them.
HostControls bind_controls(const Opened& library) {
  HostControls controls;
#define QUERN_BIND(member, symbol) \
  controls.member = reinterpret_cast<decltype(controls.member)>(dlsym(library.handle, #symbol));
  QUERN_HOST_FUNCTIONS(QUERN_BIND)
#undef QUERN_BIND
  return controls;
}

}  // namespace

// The host driver's message about a failure, after ": "; "" for any other driver.
static std::string report(const HostControls& host) {
  if (host.Report == nullptr) return {};
  std::string words(host.Report(nullptr, 0), '\0');
  if (words.empty()) return {};
  host.Report(words.data(), words.size() + 1);
  return cat(": ", words);
}

std::shared_ptr<Driver> Driver::open(const std::string& path) {
  const Opened library = open_library(path);
  auto driver = std::make_shared<Driver>(bind_table(library), library.path, bind_controls(library));
  const CUresult result = (*driver)->Init(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    throw Error(Code::no_device, Stage::load, cat("the driver (", library.path, ") sees no CUDA device"));
  driver->check(result, Stage::load, "cuInit");
  return driver;
}

Driver::Driver(const DriverTable& table, std::string origin, const HostControls& host)
    : table_(table), host_(host), origin_(std::move(origin)) {
  watch_process();
  forks_ = fork_count();
}

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* words = nullptr;
  table_.GetErrorName(result, &name);
  table_.GetErrorString(result, &words);
  return cat(name != nullptr ? name : "unknown error", " (", words != nullptr ? words : "?", ")");
}

const HostControls& Driver::host() const {
  if (!runs_host_images())
    throw Error(Code::bad_input, Stage::tool,
                cat(origin_, " is not a host driver, which this needs: pass --device host"));
  return host_;
}

int Driver::version() const {
  int version = 0;
  check(table_.DriverGetVersion(&version), Stage::load, "cuDriverGetVersion");
  return version;
}

bool Driver::survived_fork() const { return forks_ == fork_count(); }

bool Driver::may_release() const { return survived_fork() && !process_is_ending(); }

Error Driver::forked() {
  return Error(Code::driver, Stage::load,
               "this process was forked after the driver was opened, and CUDA does not survive a fork: open it in the "
               "child only (prepare nothing before the fork), or start the child with exec");
}

void Driver::fail(CUresult result, Stage stage, const char* call) const {
  const char* const ending =
      result == CUDA_ERROR_DEINITIALIZED ? ": the process is ending, its driver has shut down" : "";
  Error error(Code::driver, stage, cat(call, " failed: ", describe(result), ending, report(host_)));
  error.driver_code = result;
  throw error;
}

}  // namespace quern
