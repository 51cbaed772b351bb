// scale_rows: out[i, :] = scale[i] * x[i, :] in fp32. A family of an application's own.
#ifndef APP_SCALE_ROWS_H_
#define APP_SCALE_ROWS_H_

#include <cstdint>

#include "quern/family.h"

namespace app {

struct ScaleRowsArgs {
  quern::In x = {};      // [rows, width]
  quern::In scale = {};  // [rows]
  quern::Out out = {};   // [rows, width]
  std::int64_t rows = quern::kOpen;
};

struct ScaleRows {
  using Args = ScaleRowsArgs;

  std::int64_t rows = quern::kOpen;
  std::int64_t width = 1024;

  static const quern::Family& family();
};

}  // namespace app

#endif  // APP_SCALE_ROWS_H_
