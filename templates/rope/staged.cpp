#include "rope/staged.h"

#include <algorithm>
#include <limits>

#include "common/geometry.h"
#include "rope/tensors.h"
#include "rope/vectors.h"

namespace quern::rope {
namespace {

using common::divide_up;

constexpr std::int64_t kWidest = 16;                            // by default
constexpr std::int64_t kSharedBytes = std::int64_t{48} * 1024;  // without asking the driver
constexpr std::int64_t kRunBytes = std::int64_t{8} * 1024;      // 4 accesses of each of 128 threads
constexpr std::int64_t kMostHeads = 512;
constexpr std::int64_t kLeastLineBytes = 1024;

std::int64_t head_bytes(const Rope& p) { return p.head_dim * element_bytes(p); }

// The fewest heads that are whole accesses.
std::int64_t least_heads(const Rope& p, std::int64_t vector) {
  return vector / common::common_alignment({head_bytes(p)}, vector);
}

bool has_staged_operands(const Rope& p) {
  return !has_values(p) && !has_cache(p) && !is_quantized(p) && !is_grouped(p);
}

// In place, elements that are not rotated are not touched.
bool has_staged_parts(const Rope& p) { return rotary_dim(p) > 0 && (!is_in_place(p) || rotary_dim(p) == p.head_dim); }

// Heads of a token, which have the same angles; a token has at least so many bytes.
bool has_long_lines(const Rope& p) {
  if (axis_order(p).axis[0] != kHead) return false;
  if (has_no_strides(p)) return true;
  const std::int64_t heads = p.kv_heads == 0 ? p.heads : std::min(p.heads, p.kv_heads);
  return heads * head_bytes(p) >= kLeastLineBytes;
}

// Heads, or with layout=bhsd tokens, that lie one after the other in input and output.
std::int64_t line_of(const Rope& p, int tensor) {
  const Extents extents = input_extents(p, tensor);
  const Strides in = input_strides(p, tensor), out = output_strides(p, tensor);
  std::int64_t rows = 1;
  for (const Axis axis : axis_order(p).axis) {
    const std::int64_t next = rows * p.head_dim;
    if (extents.of[axis] != 1 && (in.of[axis] != next || out.of[axis] != next)) break;
    rows *= extents.of[axis];
  }
  return rows;
}

void set_axes(const Rope& p, int tensor, AxesOf<64>& axes) {
  const Extents extents = input_extents(p, tensor);
  const AxisOrder order = axis_order(p);
  for (int i = 0; i < 2; ++i) {
    axes.extents[i] = std::max<std::int64_t>(1, extents.of[order.axis[i]]);
    axes.by[i] = common::make_divisor(static_cast<std::uint64_t>(axes.extents[i]));
  }
}

// Returns the number of runs.
std::int64_t set_runs(const Rope& p, int tensor, std::int64_t heads, Runs& runs) {
  const std::int64_t rows = batches(p) * p.seq * heads_of(p, tensor);
  set_axes(p, tensor, runs.axes);
  runs.line = rows == 0 ? 1 : line_of(p, tensor);
  runs.runs = divide_up(runs.line, heads);
  runs.by_line = common::make_divisor(static_cast<std::uint64_t>(runs.runs));
  return rows / runs.line * runs.runs;
}

}  // namespace

bool may_be_staged(const Rope& p, const Config&) {
  if (!has_staged_operands(p) || !has_staged_parts(p) || !has_adjacent_rows(p)) return false;
  const std::int64_t vector = run_vector(p, kWidest);
  return vector > natural_vector(p, kWidest) && least_heads(p, vector) * head_bytes(p) <= kSharedBytes;
}

bool is_staged_by_default(const Rope& p) {
  return may_be_staged(p, {}) && natural_vector(p, 8) < 8 && run_vector(p, 8) == 8 && has_long_lines(p);
}

// A block has some 8 KiB, of which each thread reads 4 accesses at a time, and rotates 16 heads with each cosine. On an
// H200, 2 x 4096 x 32 x 82: 25.6 us, with 4 heads 31.2, with 32 heads 28.4; in accesses of 2 bytes without this form
// 39.6.
Config staged_config(const Rope& p) {
  Config c;
  c[kForm] = kStagedForm;
  c[kVector] = static_cast<std::int32_t>(run_vector(p, kWidest));
  c[kUnroll] = 8;
  c[kRounds] = 2;
  c[kThreads] = 128;
  c[kOffsets] = 64;
  std::int64_t heads = least_heads(p, c[kVector]);
  while (2 * heads <= kMostHeads && 2 * heads * head_bytes(p) <= kRunBytes) heads *= 2;
  c[kRun] = static_cast<std::int32_t>(heads);
  return c;
}

std::int64_t staged_unit(const Rope& p) { return natural_vector(p, 8); }

bool vector_divides_runs(const Rope& p, const Target&, const Config& c) {
  return !is_staged(c) || run_vector(p, 32) % c[kVector] == 0;
}
bool run_is_whole_vectors(const Rope& p, const Target&, const Config& c) {
  return !is_staged(c) || c[kRun] * head_bytes(p) % c[kVector] == 0;
}
bool run_fits(const Rope& p, const Target&, const Config& c) {
  return !is_staged(c) || c[kRun] * head_bytes(p) <= kSharedBytes;
}

void launch_staged(const Rope& p, const Config& c, StagedParams& params, Launch& launch) {
  const std::int64_t heads = c[kRun];
  const std::int64_t of_q = set_runs(p, kTensorQ, heads, params.runs[kTensorQ]);
  const std::int64_t count = of_q + set_runs(p, kTensorK, heads, params.runs[kTensorK]);
  const std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  const std::int64_t longest = std::max(params.runs[kTensorQ].line, params.runs[kTensorK].line);
  params.runs_of_q = static_cast<unsigned>(std::min(of_q, most));
  params.heads_of_run = static_cast<unsigned>(heads);
  params.heads_of_thread = static_cast<unsigned>(heads_of_thread(c));
  launch.empty = count == 0;
  launch.grid[0] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 1, most));
  launch.block[0] = static_cast<std::uint32_t>(c[kThreads]);
  launch.shared_bytes = static_cast<std::uint32_t>(std::min(heads, longest) * head_bytes(p));
}

}  // namespace quern::rope
