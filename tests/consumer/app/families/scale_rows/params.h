// Kernel parameters, shared by host and kernel.
#ifndef APP_SCALE_ROWS_PARAMS_H_
#define APP_SCALE_ROWS_PARAMS_H_

namespace app::scale_rows {

struct Params {
  const float* x;
  const float* scale;
  float* out;
  long long width;
};

}  // namespace app::scale_rows

#endif  // APP_SCALE_ROWS_PARAMS_H_
