// Programs with reductions on the host: how a row is divided among threads, and the family's functions for them. Their
// configs are the rows and the ragged form of the family's space: vectors, or elements one by one.
#ifndef QUERN_POINTWISE_REDUCTIONS_H_
#define QUERN_POINTWISE_REDUCTIONS_H_

#include <cstdint>

#include "pointwise/operands.h"
#include "pointwise/program.h"

namespace quern::pointwise::reductions {

// Who has a row. The program, its types and the width decide it, and with it the order of the sums; no config does.
struct Team {
  int lanes;            // of a warp
  int warps;            // 1: the lanes alone; else they are all of the block
  int segments;         // of a row, that a thread has in registers; of 8 * lanes columns each
  std::int64_t all;     // segments of a row
  std::int64_t groups;  // of these, side by side in as many blocks
  bool fits;            // a row fits their registers, as vectors
  bool keeps;           // so do the values that rounds keep of its elements

  std::int64_t columns() const { return std::int64_t{8} * lanes; }  // of a segment
};
Team team_of(const Pointwise& p);

// The rows of a block where there are sums over them, and how many blocks that makes, one below the other.
std::int64_t rows_of_block(const Pointwise& p, const Team& team);

inline bool has_sums(const Pointwise& p) { return program::summary(p).sums != 0; }
inline constexpr int kThreadsOfSums = 256;  // of a block whose teams are lanes of a warp
inline bool chooses_threads(const Pointwise& p) { return !has_sums(p) && team_of(p).warps == 1; }

// Whether an output may replace a full input: not where several blocks read a row for its reductions.
bool may_be_in_place(const Pointwise& p);

Layout workspace_layout(const Pointwise& p);

// The family's functions of these names.
std::string check(const Pointwise& p);
bool has_few_elements(const Pointwise& p, const Config& c);  // in flight
int variants(const Pointwise& p, const Target& target, Variant (&out)[kMaxVariants]);
std::uint32_t alignment(const Pointwise& p, const Config& config);
void specialize(const Pointwise& p, const Config& config, Spec& spec);
void launch(const Pointwise& p, const PointwiseArgs& a, const Config& config, Launch& launch);
void reference(const Pointwise& p, const PointwiseArgs& a);
Tolerance tolerance(const Pointwise& p, int output);

}  // namespace quern::pointwise::reductions

#endif  // QUERN_POINTWISE_REDUCTIONS_H_
