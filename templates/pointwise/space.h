// The space of configs on the host: what a slot is in each form, which configs a problem has, and which it prefers.
#ifndef QUERN_POINTWISE_SPACE_H_
#define QUERN_POINTWISE_SPACE_H_

#include "pointwise/operands.h"

namespace quern::pointwise {

inline constexpr std::int64_t kMaxWidth = std::int64_t{1} << 31;   // below 2^30 slots of any form
inline constexpr std::int64_t kMostSlots = std::int64_t{1} << 30;  // of a row, not reached

// Whether no full operand has gaps between its rows.
bool packed(const Pointwise& p);
// Whether the result depends on an element's row or on its place in the row.
bool has_periodic(const Pointwise& p);

// The rows of the flat form after which slots meet the same columns: the width's largest power of two, which is its
// last bit, divides as much of a slot. For a width above 0.
std::int64_t cycle_rows(const Pointwise& p, std::int64_t elements);
bool has_cycles(const Pointwise& p, const Config& c);
// Whether the last slot of the flat form may be a part of one. Images know no number of rows.
bool has_tail(const Pointwise& p, const Config& c);

// Constraints.
bool form_fits(const Pointwise& p, const Target&, const Config& c);
// The flat form numbers the elements of a cycle of rows in 32 bits.
bool row_has_few_slots(const Pointwise& p, const Target&, const Config& c);
bool registers_suffice(const Pointwise& p, const Target&, const Config& c);

// Of pass=forward: a form's default, and the config of a problem's first variant.
Config config_for(const Pointwise& p, const Target& target, Forms form);
Config preferred(const Pointwise& p, const Target& target, const DeviceModel& model);

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_SPACE_H_
