// Driver calls during stream capture.
#ifndef QUERN_DRIVER_CAPTURE_MODE_H_
#define QUERN_DRIVER_CAPTURE_MODE_H_

#include "driver/driver.h"

namespace quern {

// While it exists, no capture forbids the calling thread a driver call, and no such call invalidates a capture of any
// thread: loading and unloading kernels does not affect captured work. Seen on an H200 with driver 580: without it,
// unloading in a capturing thread ends the capture (900, then 901 from cuStreamEndCapture). If a driver cannot change
// the mode, the thread keeps its own mode, and calls that it forbids fail.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const Driver& driver)
      : driver_(driver), changed_(driver_->ThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
  ~RelaxedCaptureMode() {
    if (changed_) driver_->ThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // after the exchange, the thread's own mode
  const bool changed_;
};

}  // namespace quern

#endif  // QUERN_DRIVER_CAPTURE_MODE_H_
