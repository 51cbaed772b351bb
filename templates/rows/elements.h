// Configs of kernels whose threads have elements of a row as rows/elements.cuh says. Host code.
#ifndef QUERN_ROWS_ELEMENTS_H_
#define QUERN_ROWS_ELEMENTS_H_

#include <cstdint>

#include "common/geometry.h"

namespace quern::rows {

// Slots of a row, of so many elements each: accesses, or elements one by one, whole warps of them.
inline std::int64_t slots_of_row(std::int64_t width, std::int64_t elements, bool adjacent) {
  return adjacent ? width / elements : 32 * common::divide_up(width, 32 * elements);
}

// The percentage of lanes that idle where each row has whole warps of so many elements a thread.
inline std::int64_t idle_percent(std::int64_t width, std::int64_t elements) {
  const std::int64_t places = 32 * elements * common::divide_up(width, 32 * elements);
  return places == 0 ? 0 : 100 * (places - width) / places;
}

// Whether so many accesses are fewer than keep the memory of all multiprocessors busy.
inline bool is_small(std::int64_t accesses, const DeviceModel& model) {
  return accesses < std::int64_t{512} * model.multiprocessors;
}

// Elements of a thread, one by one: up to `most`, but no more than a row has for a warp, and fewer where a problem of
// so many elements in all is small; `least` or more. A width of kMaxExtent: of a thread whose elements may be of
// several rows.
inline std::int64_t elements_of_thread(std::int64_t width, std::int64_t all, std::int64_t least, std::int64_t most,
                                       const DeviceModel& model) {
  std::int64_t elements = std::max(least, most);
  while (elements > least && (32 * elements / 2 >= width || is_small(all / elements, model))) elements /= 2;
  return elements;
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_ELEMENTS_H_
