// The kernel's tuning space, images and launch.
#ifndef QUERN_ROPE_STEP_H_
#define QUERN_ROPE_STEP_H_

#include "quern/family.h"
#include "rope/problem.h"

namespace quern::rope {

// In the order of kOperands and of kParameters in rope.cpp.
enum Operands {
  kQ,
  kK,
  kV,
  kCos,
  kSin,
  kAngles,
  kPositions,
  kCuSeqlens,
  kQScale,
  kKScale,
  kVScale,
  kSlots,
  kPages,
  kQOut,
  kKOut,
  kVOut,
  kQScales,
  kKScales,
  kVScales,
  kReport
};
enum Parameters { kForm, kVector, kUnroll, kRounds, kThreads, kOffsets, kRun };
enum Forms { kHeadsForm, kStagedForm };

inline bool is_staged(const Config& c) { return c[kForm] == kStagedForm; }
inline std::int64_t heads_of_thread(const Config& c) { return std::int64_t{c[kUnroll]} * c[kRounds]; }
inline std::int64_t element_bytes(const Rope& p) { return bytes(p.dtype); }
// Whether a thread computes cosines and sines of each element, or at a position for each pair.
inline bool computes_much(const Rope& p) { return has_angles(p) || (!has_table(p) && axis_run(p) == 1); }

// Units of a head, as in rope/unit.cuh.
std::int64_t units_of(const Rope& p, const Config& c);
// Of a token's heads, of which a thread has one.
std::int64_t groups_of(const Rope& p, const Config& c);

bool vector_divides(const Rope& p, const Target&, const Config& c);
bool vector_exists(const Rope& p, const Target& t, const Config& c);
bool vector_holds_elements(const Rope& p, const Target&, const Config& c);
bool registers_suffice(const Rope& p, const Target&, const Config& c);
bool offsets_suffice(const Rope& p, const Target&, const Config& c);

int rope_variants(const Rope& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);
std::uint32_t operand_alignment(const Rope& p, int operand, const Config& c);
void specialize_rope(const Rope& p, const Config& c, Spec& spec);
void launch_rope(const Rope& p, const RopeArgs& a, const DeviceModel& model, const Config& c, Launch& launch);

}  // namespace quern::rope

#endif  // QUERN_ROPE_STEP_H_
