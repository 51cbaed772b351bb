// The work of a forward kernel: its slots, and what it needs to find them. Of both parameter structs.
#ifndef QUERN_POINTWISE_GEOMETRY_H_
#define QUERN_POINTWISE_GEOMETRY_H_

#include <algorithm>

#include "common/geometry.h"
#include "pointwise/params.h"
#include "pointwise/space.h"

namespace quern::pointwise {

template <class P>
void set_cycles(const Pointwise& p, std::int64_t elements, const Config& config, P& params) {
  const std::int64_t rows = cycle_rows(p, elements);
  const std::int64_t group = rows * config[kUnroll];
  params.cycle_rows = static_cast<unsigned>(rows);
  params.by_period = common::make_divisor32(static_cast<std::uint64_t>(p.width));
  const auto slots = static_cast<std::uint64_t>(rows * p.width / elements);
  params.slots = common::make_slots(static_cast<std::uint64_t>((p.rows + group - 1) / group), slots);
  if (p.width % elements != 0) params.by_cycle = common::make_divisor(slots);
}

template <class P>
void set_work(const Pointwise& p, const DeviceModel& model, const Config& config, P& params, Launch& launch) {
  const bool flat = config[kForm] == kFlat;
  const std::int64_t elements = slot_elements(p, config);
  const bool periodic = has_periodic(p);
  // Without broadcasts a packed ragged problem is one row, with one head and one tail.
  const bool one_row =
      flat || (config[kForm] == kRagged && packed(p) && !periodic && p.rows * p.width / elements + 2 < kMostSlots);
  const std::int64_t rows = one_row ? std::min<std::int64_t>(p.rows, 1) : p.rows;
  const std::int64_t width = one_row ? p.rows * p.width : p.width;
  const std::int64_t head = config[kForm] == kRagged ? elements - 1 : 0;
  const std::int64_t slots = flat ? width / elements : (width + head + elements - 1) / elements;
  params.width = width;
  params.period = p.width;
  const bool empty = p.rows == 0 || p.width == 0;
  const bool cycles = flat && periodic && !empty;
  if (cycles)
    set_cycles(p, elements, config, params);
  else
    params.slots = flat ? common::make_slots(empty ? 0 : static_cast<std::uint64_t>(slots), 1)
                        : common::make_slots(empty ? 0 : static_cast<std::uint64_t>(rows),
                                             static_cast<std::uint64_t>(std::max<std::int64_t>(1, slots)));
  common::launch_slots(params.slots, cycles ? 1 : config[kUnroll], config[kThreads], model, launch);
  common::limit_grid(config[kBlocksPerSm], model, launch);
  params.tail_block = ~0u;
  if (flat && p.width % elements != 0 && width % elements != 0) {
    launch.empty = false;
    if (config[kPersistent] == 1 && launch.grid[0] != 0)
      params.tail_block = 0;
    else
      params.tail_block = launch.grid[0]++;
  }
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_GEOMETRY_H_
