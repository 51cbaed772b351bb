#include "glu/space.h"

#include <algorithm>

#include "rows/elements.h"

namespace quern::glu {
namespace {

constexpr std::int64_t kMostSlots = std::int64_t{1} << 30;        // of a row, not reached
constexpr std::int64_t kPackedBytes = 16;                         // that a thread writes in form 3
constexpr std::int64_t kMostOfPart = std::int64_t{1} << 30;       // elements of a part in form 3, which 32 bits number
constexpr std::int64_t kMostPackedWidth = std::int64_t{1} << 26;  // so that a part has rows
constexpr std::int64_t kMostKept = 64 << 10;                      // bytes of a row with a scale in shared memory

}  // namespace

// On an H200 100000 rows of 81 of bf16, 36 % idle, take 24.2 us with warps of their own, 19.4 without; but of fp32 24.0
// and 24.4, backward of bf16 25.2 and 26.2; 200000 rows of 33, 48 % idle, backward with out 34.2 and 24.6.
bool is_across_rows(const Glu& p, const Config& c) {
  const std::int64_t most_idle = is_backward(p) || size_of(p) == 4 ? 40 : 25;
  const bool alone = !has_blocks(p) && p.scaling != GluScaling::row && !has_sums(p);  // of a row's other elements
  return alone && c[kForm] == kElementForm && rows::idle_percent(p.width, c[kUnroll]) > most_idle;
}

std::int64_t slot_elements(const Glu& p, const Config& c) {
  if (is_across_rows(p, c)) return 1;
  if (c[kForm] == kPackedForm) return kPackedBytes / size_of(p);
  if (c[kForm] == kVectorForm) return c[kVector] / size_of(p) / numbers_together(p);
  return has_sums(p) ? kOfLane : c[kUnroll];
}
std::int64_t slots_in_flight(const Glu& p, const Config& c) {
  if (p.scaling == GluScaling::row) return 1;
  if (is_across_rows(p, c)) return c[kUnroll];
  return c[kForm] == kElementForm && !has_sums(p) ? 1 : c[kUnroll];
}

std::int64_t row_slots(const Glu& p, const Config& c) {
  const bool adjacent = c[kForm] == kVectorForm || is_across_rows(p, c);
  return rows::slots_of_row(columns_to_do(p), slot_elements(p, c), adjacent);
}

common::Slots packed_slots(const Glu& p) {
  const std::int64_t elements = kPackedBytes / size_of(p), all = all_rows(p) * p.width;
  const std::int64_t rows = all < kMostOfPart ? all_rows(p) : kMostOfPart / p.width / elements * elements;
  const auto unsigned_of = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  return common::slots_in_parts(static_cast<std::uint64_t>(common::divide_up(all, elements)),
                                static_cast<std::uint64_t>(p.width),
                                unsigned_of(common::divide_up(rows * p.width, elements)), unsigned_of(rows));
}

std::int64_t row_bytes(const Glu& p, const Config& c) {
  return std::max<std::int64_t>(1, row_slots(p, c)) * slot_elements(p, c) * size_of(p) * (is_backward(p) ? 2 : 1);
}
bool keeps_row(const Glu& p, const Config& c) { return p.scaling == GluScaling::row && row_bytes(p, c) <= kMostKept; }

bool vectors_divide(const Glu& p, std::int64_t elements) {
  const std::int64_t of_x = elements * numbers_together(p);
  return p.width % elements == 0 && out_stride(p) % elements == 0 && gradient_stride(p) % elements == 0 &&
         x_stride(p) % of_x == 0 && x_gradient_stride(p) % of_x == 0 &&
         (p.layout != GluLayout::blocks || p.block % elements == 0);
}

// ---- Constraints

bool form_fits(const Glu& p, const Target&, const Config& c) {
  if (c[kForm] != kVectorForm) return true;
  return c[kVector] >= 4 && slot_elements(p, c) > 0 && vectors_divide(p, slot_elements(p, c));
}
bool rows_are_packed(const Glu& p, const Target&, const Config& c) {
  if (c[kForm] != kPackedForm) return true;
  const bool plain = p.bias == DType::none && p.scale == DType::none && p.counts == DType::none && !is_quantized(p);
  const bool halves = p.layout == GluLayout::halves || p.layout == GluLayout::swapped;
  return plain && halves && !is_backward(p) && p.width >= slot_elements(p, c) && p.width <= kMostPackedWidth &&
         x_stride(p) == 2 * p.width && out_stride(p) == p.width;
}
bool vector_exists(const Glu&, const Target& t, const Config& c) { return c[kVector] <= common::widest_access(t); }
bool row_has_few_slots(const Glu& p, const Target&, const Config& c) {
  return has_matrix(p) || c[kForm] == kPackedForm || row_slots(p, c) < kMostSlots;
}
bool registers_suffice(const Glu& p, const Target&, const Config& c) {
  if (has_matrix(p)) return true;
  const std::int64_t elements = has_sums(p) ? kOfLane : slot_elements(p, c);
  return elements * slots_in_flight(p, c) <= (is_backward(p) || c[kForm] == kPackedForm ? 16 : 32);
}
bool lane_has_slots(const Glu& p, const Target&, const Config& c) {
  return !has_sums(p) || slot_elements(p, c) <= kOfLane;
}

bool warp_has_blocks(const Glu& p, const Target&, const Config& c) {
  if (!has_blocks(p) || has_matrix(p)) return true;
  const std::int64_t block = elements_of_block(p), elements = slot_elements(p, c);
  if (c[kForm] == kVectorForm) return block % elements == 0 && block / elements <= 32;
  return block <= 32 || elements % (block / 32) == 0;
}
bool row_has_one_slot(const Glu& p, const Target&, const Config& c) {
  return p.scaling != GluScaling::row || c[kForm] == kElementForm || c[kUnroll] == 1;
}

}  // namespace quern::glu
