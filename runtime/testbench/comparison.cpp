#include "testbench/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "base/text.h"
#include "common/host_types.h"
#include "plan/layout_walk.h"

namespace quern {
namespace {

// Maps a floating number to an integer that counts units in the last place and preserves the order.
template <class T>
std::int64_t ordered(T value) {
  using Bits = std::conditional_t<
      sizeof(T) == 8, std::int64_t,
      std::conditional_t<sizeof(T) == 4, std::int32_t, std::conditional_t<sizeof(T) == 2, std::int16_t, std::int8_t>>>;
  Bits bits;
  std::memcpy(&bits, &value, sizeof(T));
  const auto magnitude = static_cast<std::int64_t>(bits) & std::numeric_limits<Bits>::max();
  return bits < 0 ? -magnitude : magnitude;
}

// The error of one element in ulps; 0 if both are NaN or within the absolute bound.
template <class T>
double ulps_off(const T& got, const T& expected, const Tolerance& tolerance) {
  if (std::memcmp(&got, &expected, sizeof(T)) == 0) return 0;
  const auto a = static_cast<double>(common::to_compute(got));
  const auto b = static_cast<double>(common::to_compute(expected));
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : HUGE_VAL;
  if (tolerance.absolute > 0 && std::abs(a - b) <= tolerance.absolute) return 0;
  if (a == b) return tolerance.ulps > 0 ? 0 : 1;  // zeros of different sign
  return std::abs(static_cast<double>(ordered(got)) - static_cast<double>(ordered(expected)));
}

void note(Comparison& result, double error, const std::string& difference) {
  if (result.equal) result.difference = difference;
  result.equal = false;
  result.max_error = std::max(result.max_error, error);
}

std::string name_of(const std::string& operand, const Layout& layout, std::int64_t number) {
  return cat(operand, "[", index_text(index_of(layout, number), layout.rank), "]");
}

void compare_bytes(const std::string& operand, const Layout& layout, const std::byte* got, const std::byte* expected,
                   Comparison& result) {
  const std::int64_t size = bytes(layout.dtype);
  for_each_run(layout, [&](std::int64_t offset, std::int64_t count, std::int64_t first) {
    const std::byte* a = got + offset * size;
    const std::byte* b = expected + offset * size;
    if (std::memcmp(a, b, static_cast<std::size_t>(count * size)) == 0) return;
    const std::int64_t at = (std::mismatch(a, a + count * size, b).first - a) / size;
    note(result, 1.0,
         cat(name_of(operand, layout, first + at), ": bytes ", to_hex(a + at * size, size), " instead of ",
             to_hex(b + at * size, size)));
  });
}

std::string gap_name(const std::string& operand, const Layout& layout, const Index& before) {
  return cat("the gap after row ", index_text(before, std::max(1, layout.rank - 1)), " of ", operand);
}

// Checks that nothing was written between elements.
void compare_gaps(const std::string& operand, const Layout& layout, const std::byte* got, const std::byte* expected,
                  Comparison& result) {
  const std::int64_t size = bytes(layout.dtype);
  std::int64_t end = 0;  // of the preceding run
  for_each_run(in_memory_order(layout), [&](std::int64_t offset, std::int64_t count, std::int64_t) {
    const std::int64_t gap = std::max<std::int64_t>(offset - end, 0);
    if (std::memcmp(got + end * size, expected + end * size, static_cast<std::size_t>(gap * size)) != 0)
      note(result, HUGE_VAL, cat(gap_name(operand, layout, element_at(layout, end - 1).index), " was written"));
    end = offset + count;
  });
}

// What elements of an operand may differ besides. It takes a second reference, so it is asked for where the tolerance
// does not suffice.
class Allowance {
 public:
  Allowance(const HostOperands& expected, int operand) : expected_(expected), operand_(operand) {}
  double at(std::int64_t offset) {
    if (!made_) made_ = expected_.allowance(operand_);
    return made_->empty() ? 0 : (*made_)[static_cast<std::size_t>(offset)];
  }

 private:
  const HostOperands& expected_;
  const int operand_;
  std::optional<std::vector<double>> made_;
};

template <class T>
void compare_floats(const std::string& operand, const Layout& layout, const Tolerance& tolerance, const std::byte* got,
                    const std::byte* expected, Allowance& allowance, Comparison& result) {
  const T* a = reinterpret_cast<const T*>(got);
  const T* b = reinterpret_cast<const T*>(expected);
  for_each_run(layout, [&](std::int64_t offset, std::int64_t count, std::int64_t first) {
    if (std::memcmp(a + offset, b + offset, static_cast<std::size_t>(count) * sizeof(T)) == 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
      const double off = ulps_off(a[offset + i], b[offset + i], tolerance);
      result.max_error = std::max(result.max_error, off);
      if (off <= tolerance.ulps || !result.equal) continue;
      const auto left = static_cast<double>(common::to_compute(a[offset + i]));
      const auto right = static_cast<double>(common::to_compute(b[offset + i]));
      if (const double allowed = allowance.at(offset + i); allowed > 0 && std::abs(left - right) <= allowed) continue;
      note(result, off, cat(name_of(operand, layout, first + i), ": ", left, " instead of ", right));
    }
  });
}

}  // namespace

std::string element_name(const std::string& operand, const Layout& layout, std::int64_t offset) {
  const ElementAt at = element_at(layout, offset / bytes(layout.dtype));
  if (at.in_gap) return gap_name(operand, layout, at.index);
  return cat(operand, "[", index_text(at.index, layout.rank), "]");
}

Comparison compare(const HostOperands& got, const HostOperands& expected) {
  Comparison result;
  for (int i = 0; i < got.size(); ++i) {
    if (!got.present(i) || got.operand(i).role == Role::input || got.bytes(i) == 0) continue;
    const std::string operand = got.name(i);
    const Layout& layout = got.layout(i);
    compare_gaps(operand, layout, got.data(i), expected.data(i), result);
    const OperandEntry& entry = got.entries()[static_cast<std::size_t>(i)];
    const Tolerance tolerance = got.family().tolerance(got.problem(), entry.operand, entry.entry);
    if (!info(layout.dtype).is_float || tolerance.bitwise) {
      compare_bytes(operand, layout, got.data(i), expected.data(i), result);
    } else {
      Allowance allowance(expected, i);
      common::with_float(layout.dtype, [&](auto x) {
        compare_floats<decltype(x)>(operand, layout, tolerance, got.data(i), expected.data(i), allowance, result);
      });
    }
  }
  return result;
}

}  // namespace quern
