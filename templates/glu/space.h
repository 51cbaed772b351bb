// The space of configs on the host: what a slot is in each form, which configs a problem has, and which it prefers.
#ifndef QUERN_GLU_SPACE_H_
#define QUERN_GLU_SPACE_H_

#include "glu/quantized.h"

namespace quern::glu {

// In the order of the family's parameters.
enum Parameters {
  kForm,
  kVector,
  kUnroll,
  kThreads,
  kLoadStream,
  kStoreStream,
  kRows,
  kResident,
  kPanel,
  kCluster,
  kAsyncCopies,
  kWholeBlocks
};
enum Forms { kVectorForm, kElementForm, kMatrixForm, kPackedForm };

inline constexpr std::int64_t kOfLane = rows::kTileColumns / 32;  // elements of a row of a thread, where there are sums

inline std::int64_t size_of(const Glu& p) { return bytes(p.dtype); }

// Whether a thread's elements are of any rows, because whole warps of them would idle at the end of each row.
bool is_across_rows(const Glu& p, const Config& c);

// Form 3: a slot is 16 bytes of out, a part whole rows that are whole slots.
common::Slots packed_slots(const Glu& p);

// Elements of out that a thread has at once, as one access or one by one, and how many of these are in flight.
std::int64_t slot_elements(const Glu& p, const Config& c);
std::int64_t slots_in_flight(const Glu& p, const Config& c);
std::int64_t row_slots(const Glu& p, const Config& c);

// Numbers of a row of x that an element's access has: of interleaved ones two, side by side.
inline std::int64_t numbers_together(const Glu& p) { return p.layout == GluLayout::interleaved ? 2 : 1; }
bool vectors_divide(const Glu& p, std::int64_t elements);

// scaling=row: of a row's numbers, as x has them, which are kept from one pass to the other if they are few. An empty
// row has one slot, too.
std::int64_t row_bytes(const Glu& p, const Config& c);
bool keeps_row(const Glu& p, const Config& c);

// Constraints.
bool form_fits(const Glu& p, const Target&, const Config& c);
bool vector_exists(const Glu&, const Target& t, const Config& c);
bool rows_are_packed(const Glu& p, const Target&, const Config& c);
bool row_has_few_slots(const Glu& p, const Target&, const Config& c);
bool registers_suffice(const Glu& p, const Target&, const Config& c);
bool lane_has_slots(const Glu& p, const Target&, const Config& c);
// A block's lanes are of one warp, and a lane has all of its numbers or a part that all lanes have.
bool warp_has_blocks(const Glu& p, const Target&, const Config& c);
bool row_has_one_slot(const Glu& p, const Target&, const Config& c);

int variants(const Glu& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);

}  // namespace quern::glu

#endif  // QUERN_GLU_SPACE_H_
