// Driver calls while streams are captured.
#ifndef QUERN_DRIVER_CAPTURE_MODE_H_
#define QUERN_DRIVER_CAPTURE_MODE_H_

#include "driver/driver.h"

namespace quern {

// While it lives, no capture forbids the calling thread a driver call, and no such call invalidates a capture,
// whichever thread began it: loading and unloading kernels has nothing to do with what is captured. Seen on an H200
// with driver 580: without it, unloading in a thread that captures ends the capture (900, then 901 from
// cuStreamEndCapture). A driver that cannot change the mode leaves the thread its own: the calls go on, and say
// themselves what they cannot do.
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
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the thread's own while this lives
  const bool changed_;
};

}  // namespace quern

#endif  // QUERN_DRIVER_CAPTURE_MODE_H_
