// The kernel of the families that move rows: tuning space, default config, constants and launch.
#ifndef QUERN_MOE_MOVEMENT_STEP_H_
#define QUERN_MOE_MOVEMENT_STEP_H_

#include "moe/movement.h"
#include "moe/params.cuh"

namespace quern::moe {

// In the order of MovementStep::kParameters.
enum MovementParameter {
  kVector,
  kUnroll,
  kBatch,
  kLanes,
  kWarps,
  kThreads,
  kLoadOnce,
  kStoreStream,
  kLookupsFirst,
  kResident,
  kRagged
};
inline constexpr std::int32_t kVectors[] = {1, 2, 4, 8, 16, kNoMore};
inline constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
inline constexpr std::int32_t kBatches[] = {1, 2, 4, 8, 16, kNoMore};
inline constexpr std::int32_t kLaneCounts[] = {4, 8, 16, 32, kNoMore};
inline constexpr std::int32_t kWarpCounts[] = {1, 2, 4, 8, kNoMore};
inline constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
inline constexpr std::int32_t kResidentCounts[] = {1, 2, 3, kNoMore};
inline constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};

bool may_be_ragged(const Movement& m);
bool vector_divides(const Movement& m, const Config& c);
bool vector_holds_elements(const Movement& m, const Config& c);
bool registers_suffice(const Movement& m, const Config& c);
bool part_has_blocks(const Movement& m, const Config& c);
bool batch_has_routes(const Movement& m, const Config& c);
bool lanes_have_a_row(const Movement& m, const Config& c);
bool may_look_up_first(const Movement& m);
bool sums_fit(const Movement& m, const Config& c);
bool warps_are_whole(const Movement& m, const Config& c);
bool row_has_few_vectors(const Movement& m, const Config& c);

int movement_variants(const Movement& m, const DeviceModel& model, Variant (&out)[kMaxVariants]);
// Of operands that are bulk: rows by default, or entries of `entry_bytes` for each route.
std::uint32_t rows_alignment(const Movement& m, const Config& c);
std::uint32_t routes_alignment(const Movement& m, const Config& c, std::int64_t entry_bytes);
// Of the probabilities of tokens.
inline std::uint32_t probs_alignment(const Movement& m, const Config& c) {
  return m.dense || !has_probs(m) ? 1 : routes_alignment(m, c, bytes(m.probs));
}
std::uint32_t scales_alignment(const Movement& m, const Config& c);
std::uint32_t token_scales_alignment(const Movement& m, const Config& c);
void specialize_movement(const Movement& m, const Config& c, Spec& spec);
void launch_movement(const Movement& m, const Operands& o, const DeviceModel& model, const Config& c, Launch& launch);

// The types of fields.
inline constexpr DTypeSet kNumberTypes = only(f32) | only(f16) | only(bf16);
inline constexpr DTypeSet kMovedTypes = kNumberTypes | only(e4m3) | only(e5m2) | only(u8);
inline constexpr DTypeSet kProbTypes = kNumberTypes | only(DType::none);

// What a family inherits.
template <class P, class A, Movement (*movement_of)(const P&), Operands (*operands_of)(const A&)>
struct MovementStep {
  using Problem = P;
  using Args = A;

  template <bool (*F)(const Movement&, const Config&)>
  static bool holds(const void* problem, const Target&, const Config& c) {
    return F(movement_of(*static_cast<const P*>(problem)), c);
  }
  template <bool (*F)(const Movement&, const Config&)>
  static bool applies(const void* problem, const Config& c) {
    return F(movement_of(*static_cast<const P*>(problem)), c);
  }
  static bool adds(const Movement& m, const Config&) { return !moves_bits(m); }
  static bool has_warps(const Movement& m, const Config&) { return has_teams(m); }
  static bool waits(const Movement& m, const Config&) { return m.blocked; }
  static bool has_ragged(const Movement& m, const Config&) { return may_be_ragged(m); }
  static bool has_lookups(const Movement& m, const Config&) { return may_look_up_first(m); }
  static bool has_threads(const Movement&, const Config& c) { return c[kWarps] == 1; }

  static constexpr Parameter kParameters[] = {
      {"vector", kVectors, true, "bytes per access"},
      {"unroll", kUnrolls, true, "vectors of a row per thread; for the gradient of probs chunks of 16 bytes"},
      {"batch", kBatches, true, "rows of a token that are loaded at once", applies<adds>, 8},
      {"lanes", kLaneCounts, true, "adjacent threads that share a row"},
      {"warps", kWarpCounts, true, "warps of a team, for the gradient of probs and for a scale of each row",
       applies<has_warps>, 1},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small", applies<has_threads>, 128},
      {"load_once", kSwitch, true, "1: loads of rows are evict-first"},
      {"store_stream", kSwitch, true, "1: stores of rows are evict-first"},
      {"lookups_first", kSwitch, true, "1: all rows of a batch are looked up before the first is read",
       applies<has_lookups>, 0},
      {"resident", kResidentCounts, true, "blocked scales: co-resident blocks of 512 threads on a multiprocessor",
       applies<waits>, 1},
      {"ragged", kSwitch, true, "1: rows at any address, in 16 bytes of two accesses", applies<has_ragged>, 0},
  };
  static constexpr Constraint kConstraints[] = {
      {"the vector must divide the row length; ragged rows have vectors of 16 bytes", holds<vector_divides>},
      {"a vector must hold whole elements", holds<vector_holds_elements>},
      {"vector times unroll, times batch where rows are added up, must fit the registers: 128 bytes, ragged "
       "64; the gradient of scale has a batch of 1, that of probs of at most 2, of 1 for accesses below 8 bytes and "
       "for ragged rows",
       holds<registers_suffice>},
      {"lanes times unroll must hold the vectors of a block that shares a scale", holds<part_has_blocks>},
      {"half of batch must be fewer than topk", holds<batch_has_routes>},
      {"for the gradient of probs fewer than 32 lanes need warps=1, and together with unroll at most 32 chunks of 16 "
       "bytes, which hold the row",
       holds<lanes_have_a_row>},
      {"for the gradient of probs unroll is at most 4, and the sums of a token's segments must fit 48 KB",
       holds<sums_fit>},
      {"for a scale of each row fewer than 32 lanes need warps=1", holds<warps_are_whole>},
      {"a row must have fewer than 2^30 vectors", holds<row_has_few_vectors>},
  };

  static int variants(const P& p, const Target&, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
    return movement_variants(movement_of(p), model, out);
  }
  static void specialize(const P& p, const Target&, const Config& c, Spec& spec) {
    specialize_movement(movement_of(p), c, spec);
  }
  static void launch(const P& p, const A& a, const DeviceModel& model, const Config& c, Launch& launch) {
    launch_movement(movement_of(p), operands_of(a), model, c, launch);
  }
  static void reference(const P& p, const A& a) { move_on_host(movement_of(p), operands_of(a)); }
  static std::string check(const P& p) { return check_movement(movement_of(p)); }
  static std::int64_t bytes(const P& p) { return moved_bytes(movement_of(p)); }
  // Rows are moved as bits; products are rounded once, and sums are added in the reference's order.
  static Tolerance tolerance(const P& p, int) {
    const Movement m = movement_of(p);
    return {0, 0, moves_bits(m) && !has_factors(m)};
  }
  static Table<Scalar> scalars() { return {}; }
};

}  // namespace quern::moe

#endif  // QUERN_MOE_MOVEMENT_STEP_H_
