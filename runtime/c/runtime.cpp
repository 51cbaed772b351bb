#include "c/runtime.h"

#include "api/runtime_state.h"
#include "c/error.h"
#include "driver/find_host_driver.h"

using quern::Stage;
using quern::c::guarded;

quern_runtime::quern_runtime(quern::Options options, bool on_host) : on_host_(on_host), runtime(std::move(options)) {}

std::shared_ptr<quern::c::HostDevice> quern_runtime::enter_host() {
  if (!on_host_) return nullptr;
  const std::lock_guard lock(mutex_);
  if (host_ == nullptr) {
    host_ = std::make_shared<quern::c::HostDevice>(quern::open_host_driver(runtime.state().environment));
    runtime.state().use(host_->driver());
  }
  host_->enter();
  return host_;
}

extern "C" {

const char* quern_version(void) { return QUERN_VERSION; }

quern_code quern_runtime_create(const quern_options* options, quern_runtime** runtime, quern_error** error) {
  return guarded(Stage::problem, error, [&] {
    quern::c::require(runtime, "runtime");
    bool on_host = false;
    quern::Options read = quern::c::read_options(options, &on_host);
    *runtime = std::make_unique<quern_runtime>(std::move(read), on_host).release();
  });
}

void quern_runtime_destroy(quern_runtime* runtime) { const std::unique_ptr<quern_runtime> owned(runtime); }

int quern_runtime_on_host(const quern_runtime* runtime) { return runtime != nullptr && runtime->is_on_host() ? 1 : 0; }

int quern_is_capturing(quern_runtime* runtime, quern_stream stream) {
  const quern::Driver* const driver = runtime == nullptr ? nullptr : runtime->runtime.state().driver_if_open();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver == nullptr || (*driver)->StreamIsCapturing(stream, &status) != CUDA_SUCCESS) return 0;
  return status == CU_STREAM_CAPTURE_STATUS_NONE ? 0 : 1;
}

quern_code quern_runtime_flush(quern_runtime* runtime, quern_error** error) {
  return guarded(Stage::store, error, [&] {
    quern::c::require(runtime, "runtime");
    runtime->runtime.flush();
  });
}

quern_code quern_runtime_trim(quern_runtime* runtime, quern_error** error) {
  return guarded(Stage::store, error, [&] {
    quern::c::require(runtime, "runtime");
    runtime->runtime.trim();
  });
}

}  // extern "C"
