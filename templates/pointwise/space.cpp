#include "pointwise/space.h"

#include <algorithm>

#include "common/geometry.h"
#include "pointwise/backward.h"
#include "pointwise/program.h"
#include "pointwise/reductions.h"

namespace quern::pointwise {
namespace {

using common::widest_access;

// Calls f with the type and the stride of each operand that covers all of [rows, width].
template <class F>
void for_full_operands(const Pointwise& p, F f) {
  if (has_program(p)) {
    const program::Summary& s = program::summary(p);
    for (int i = 0; i < s.operands(); ++i) {
      if (s.entries[i].spread == Spread::full) f(program::dtype_of(p, s.entries[i]), p.width);
    }
    return;
  }
  if (p.x_spread == Spread::full) f(p.dtype, stride(p, p.x_stride));
  if (has_y(p) && p.y_spread == Spread::full) f(y_dtype(p), stride(p, p.y_stride));
  f(out_dtype(p), stride(p, p.out_stride));
}

bool is_periodic(Spread spread) { return spread == Spread::row || spread == Spread::column; }

bool rows_divide(const Pointwise& p, std::int64_t elements) {
  bool divides = p.width % elements == 0;
  for_full_operands(p, [&](DType, std::int64_t stride) { divides = divides && stride % elements == 0; });
  return divides;
}

// Of outputs, that ragged slots are aligned to.
std::int64_t widest_output(const Pointwise& p) {
  if (!has_program(p)) return bytes(out_dtype(p));
  const program::Summary& s = program::summary(p);
  std::int64_t widest = 1;
  for (int i = s.inputs; i < s.operands(); ++i)
    widest = std::max<std::int64_t>(widest, bytes(program::dtype_of(p, s.entries[i])));
  return widest;
}

}  // namespace

std::int64_t widest_element(const Pointwise& p) {
  std::int64_t widest = 1;
  for_full_operands(p, [&](DType dtype, std::int64_t) { widest = std::max<std::int64_t>(widest, bytes(dtype)); });
  return widest;
}

std::int64_t widest_vector_element(const Pointwise& p, const Config& c) {
  std::int64_t widest = widest_element(p);
  if (c[kForm] != kRows) return widest;
  const auto add = [&](bool present, DType dtype) {
    if (present) widest = std::max<std::int64_t>(widest, bytes(dtype));
  };
  if (has_program(p)) {
    const program::Summary& s = program::summary(p);
    for (int i = 0; i < s.inputs; ++i) add(s.entries[i].spread == Spread::row, program::dtype_of(p, s.entries[i]));
    return widest;
  }
  add(p.x_spread == Spread::row, p.dtype);
  add(has_y(p) && p.y_spread == Spread::row, y_dtype(p));
  add(has_bias(p), bias_dtype(p));
  return widest;
}

// The windows of more than eight inputs, of two vectors each, would not fit the registers.
std::int64_t slot_elements(const Pointwise& p, const Config& c) {
  if (c[kForm] != kRagged) return c[kVector] / widest_element(p);
  const std::int64_t elements = c[kVector] / widest_output(p);
  return has_program(p) && program::summary(p).inputs > 8 ? std::min<std::int64_t>(2, elements) : elements;
}

bool packed(const Pointwise& p) {
  bool all = true;
  for_full_operands(p, [&](DType, std::int64_t stride) { all = all && stride == p.width; });
  return all;
}

bool has_periodic(const Pointwise& p) {
  if (has_program(p)) return program::summary(p).has_periodic();
  return is_periodic(p.x_spread) || (has_y(p) && is_periodic(p.y_spread)) || is_periodic(p.bias_spread) ||
         p.bias_spread == Spread::full;
}

std::int64_t cycle_rows(const Pointwise& p, std::int64_t elements) {
  return elements / std::min(elements, p.width & -p.width);
}
bool has_cycles(const Pointwise& p, const Config& c) { return c[kForm] == kFlat && has_periodic(p); }

bool form_fits(const Pointwise& p, const Target&, const Config& c) {
  if ((is_backward(p) || has_reductions(p)) && c[kForm] == kFlat) return false;
  if (c[kForm] == kRows) return rows_divide(p, slot_elements(p, c));
  return c[kForm] == kRagged || (packed(p) && (has_program(p) || p.bias_spread != Spread::full));
}
bool row_has_few_slots(const Pointwise& p, const Target&, const Config& c) {
  const std::int64_t elements = slot_elements(p, c);
  if (!has_cycles(p, c)) return c[kForm] == kFlat || p.width / elements < kMostSlots;
  if (p.width == 0) return true;
  const std::int64_t cycle = cycle_rows(p, elements) * p.width;
  return cycle < kMaxWidth && cycle / elements < kMostSlots;
}
bool registers_suffice(const Pointwise& p, const Target&, const Config& c) {
  if (is_backward(p)) return backward::has_few_elements(p, c);
  if (has_reductions(p)) return reductions::has_few_elements(p, c);
  return slot_elements(p, c) * c[kUnroll] <= 32;
}

bool has_tail(const Pointwise& p, const Config& c) { return c[kForm] == kFlat && p.width % slot_elements(p, c) != 0; }

namespace {

// Whether two operands that are read cover all of [rows, width].
bool reads_two(const Pointwise& p) { return has_program(p) ? program::summary(p).full_inputs > 1 : has_y(p); }

// Of a program with many operands a slot is narrower, so that those of all operands fit the registers.
std::int32_t vector_for_operands(const Pointwise& p, Config config) {
  constexpr std::int64_t kMostBytes = 256;
  std::int64_t bytes_of_all = 0;
  if (has_program(p)) {
    const program::Summary& s = program::summary(p);
    for (int i = 0; i < s.operands(); ++i) bytes_of_all += bytes(program::dtype_of(p, s.entries[i]));
  }
  while (config[kVector] > 4 && slot_elements(p, config) * bytes_of_all > kMostBytes) config[kVector] /= 2;
  return config[kVector];
}

}  // namespace

// Evict-first loads are slower where there are two operands: 1705 x 1024 takes 4.23 us on an H200, without 4.13.
Config config_for(const Pointwise& p, const Target& target, Forms form) {
  Config config;
  config[kForm] = form;
  config[kVector] = form == kRagged ? 16 : static_cast<std::int32_t>(widest_access(target));
  config[kThreads] = 128;
  config[kUnroll] = 1;  // two or three operands in flight per thread, at full occupancy, are enough
  config[kLoadStream] = reads_two(p) ? 0 : 1;
  config[kStoreStream] = 1;
  if (form != kRagged) config[kVector] = vector_for_operands(p, config);
  return config;
}

namespace {

bool has_columns(const Pointwise& p) {
  if (has_program(p)) return program::summary(p).has_column;
  return p.x_spread == Spread::column || (has_y(p) && p.y_spread == Spread::column) || p.bias_spread == Spread::column;
}

// Whether reading a broadcast row once for four slots is faster also where slots divide a row: gelu of 65536 x 4096
// in bf16 had 94.4 % of a copy's speed on an H200, slots of rows 90.2 %; silu 97.5 and 99.4 %.
bool takes_long(const Pointwise& p) {
  return !has_program(p) && p.activation == Activation::gelu && !has_y(p) && p.bias_spread == Spread::row;
}

bool is_simple(const Pointwise& p) {
  if (has_program(p)) return program::summary(p).inexact == 0;
  return p.activation == Activation::identity || p.activation == Activation::relu;
}

// Four slots for each resident thread, or more.
bool is_large(const Pointwise& p, const DeviceModel& model, std::int64_t elements) {
  constexpr std::int64_t kSlots = 4 * std::int64_t{2048};  // of a multiprocessor
  return p.rows == kOpen || p.rows * p.width / elements >= kSlots * model.multiprocessors;
}

// Whether slots of rows are faster than twice as wide ones of the flat form, which no row is a multiple of: with a
// second operand (12000 x 1036 in f16 on an H200: 19.1 and 19.7 us), and where there are few (1000 x 1036: 2.79 and
// 3.06 us). One operand of many rows wants wide slots: 2500 x 1932 of silu takes 6.6 us, with these 7.3.
bool takes_narrow_slots(const Pointwise& p, const DeviceModel& model, std::int64_t elements) {
  return widest_element(p) == 2 && (reads_two(p) || !is_large(p, model, elements));
}

// Two slots a thread share what comes before the first read, where an activation takes instructions and there are
// threads to spare: silu of 65536 x 2048 in bf16 99.4 % of a copy's speed for 97.1 %, gelu in fp32 98.1 for 92.8.
// With a second operand one slot was faster.
Config with_slots(const Pointwise& p, const DeviceModel& model, Config config) {
  if (!is_simple(p) && !reads_two(p) && is_large(p, model, slot_elements(p, config)) &&
      registers_suffice(p, {}, config))
    config[kUnroll] = 2;
  return config;
}

// A thread that reads a broadcast row once uses it for as many slots as leave each multiprocessor 1024 threads. Wider
// slots, and elements of broadcast columns, take the registers of more than one; with four elements a slot there is
// less to share (on an H200, 100000 x 33 in fp32: 11.0 us, with two 11.4, with four 11.7), and beside an activation
// of a few instructions nothing is gained (30000 x 2004 of relu in bf16: 58.2 us, with two 59.7, with four 60.7). Nor
// with a second operand: 17424 x 251 of silu in f16 7.88 us, with two 8.42, with four 8.74, 60000 x 251 22.5, 23.0
// and 23.4.
std::int32_t cycles_in_flight(const Pointwise& p, std::int64_t elements, const DeviceModel& model) {
  if (has_columns(p) || reads_two(p) || elements != 8 || is_simple(p)) return 1;
  const std::int64_t threads = 1024 * std::int64_t{model.multiprocessors};
  const std::int64_t slots = p.rows == kOpen ? 2 * threads : p.rows * p.width / elements;
  return slots >= 4 * threads ? 4 : slots >= 2 * threads ? 2 : 1;
}

// If slots divide a row, broadcasts stay in vectors; packed operands of other row lengths are processed as one long
// row; the rest is ragged.
Config preferred_for_many(const Pointwise& p, const Target& target, const DeviceModel& model) {
  Config flat = config_for(p, target, kFlat);
  if (has_columns(p))
    flat[kVector] = std::min(16, flat[kVector]);  // of 32 bytes in bf16 two broadcast columns take 112 registers
  if (packed(p) && !has_periodic(p)) return with_slots(p, model, flat);
  const bool fits = form_fits(p, target, flat) && row_has_few_slots(p, target, flat);
  if (fits) flat[kUnroll] = cycles_in_flight(p, slot_elements(p, flat), model);
  if (flat[kUnroll] == 4 && takes_long(p)) return flat;
  Config rows = config_for(p, target, kRows);
  for (std::int32_t vector = rows[kVector], least = std::min(16, vector); vector >= least; vector /= 2) {
    rows[kVector] = vector;
    if (rows_divide(p, slot_elements(p, rows)) && row_has_few_slots(p, target, rows)) return with_slots(p, model, rows);
  }
  rows[kVector] = std::min(8, rows[kVector]);
  if (fits && takes_narrow_slots(p, model, slot_elements(p, rows)) && rows_divide(p, slot_elements(p, rows)) &&
      row_has_few_slots(p, target, rows)) {
    rows[kUnroll] = reads_two(p) && is_large(p, model, slot_elements(p, rows)) ? 2 : 1;
    return rows;
  }
  return fits ? flat : config_for(p, target, kRagged);
}

}  // namespace

// Where slots of 16 bytes would give a multiprocessor fewer than 512 threads, twice as many have half as much to do
// one after the other: on an H200 silu of 16 x 14336 in bf16 takes 1.91 us, for 1.97.
Config preferred(const Pointwise& p, const Target& target, const DeviceModel& model) {
  Config config = preferred_for_many(p, target, model);
  const auto slots = [&] { return p.rows * p.width / slot_elements(p, config); };
  while (p.rows > 0 && config[kForm] != kRagged && config[kVector] > 8 &&
         slots() < std::int64_t{512} * model.multiprocessors)
    config[kVector] /= 2;
  return config;
}

}  // namespace quern::pointwise
