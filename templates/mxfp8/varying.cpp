#include "mxfp8/varying.h"

#include <utility>

#include "common/host_types.h"
#include "mx/groups.h"
#include "mxfp8/matrix.h"

namespace quern::mxfp8 {
namespace {

bool both_vary(const Mxfp8& p) { return p.varying == Mxfp8Varying::both; }
std::int64_t step_of(const Mxfp8& p) { return is_whole(p) ? kBlockElements : 1; }
mx::Groups rows_of(const Mxfp8& p) { return {p.groups, p.rows, step_of(p), p.offset}; }
mx::Groups cols_of(const Mxfp8& p) { return {p.groups, p.cols, step_of(p), p.offset}; }

std::int64_t tiles(std::int64_t n, std::int64_t each) { return (n + each - 1) / each; }

// A dimension of the groups, read group by group.
class Dimension {
 public:
  Dimension(const mx::Groups& groups, bool varies, const void* ends) : groups_(groups), varies_(varies), ends_(ends) {}
  // Of the next group; -1: it is invalid.
  std::int64_t next() {
    if (!varies_) return groups_.rows;
    const std::int64_t end = common::read_integer(groups_.offset, ends_, number_++);
    if (end < before_ || end > groups_.rows || (end - before_) % groups_.step != 0) return -1;
    return end - std::exchange(before_, end);
  }

 private:
  mx::Groups groups_;
  bool varies_;
  const void* ends_;
  std::int64_t number_ = 0;
  std::int64_t before_ = 0;
};

void advance(In& operand, std::int64_t bytes) {
  if (operand.data != nullptr) operand = static_cast<const char*>(operand.data) + bytes;
}
void advance(Out& operand, std::int64_t bytes) {
  if (operand.data != nullptr) operand = static_cast<char*>(operand.data) + bytes;
}

// From a group's memory to the next one's.
void advance(const Mxfp8& group, Mxfp8Args& a) {
  const std::int64_t elements = group.rows * group.cols;
  advance(a.source, elements * bytes(group.dtype));
  advance(a.out, elements);
  advance(a.out_col, elements);
  advance(a.scales, scale_room(group, !row_made(group)));
  advance(a.scales_col, scale_room(group, true));
}

}  // namespace

std::int64_t most_elements(const Mxfp8& p) {
  if (both_vary(p) && p.capacity != 0) return p.capacity;
  return p.rows == kOpen ? kOpen : p.rows * p.cols;
}

// Of n elements ceil(n / each) <= n / each + 1, so a group's tiles are at most its elements / (rows * cols) + its
// rows / rows + its columns / cols + 1.
std::int64_t most_tiles(const Mxfp8& p, std::int64_t rows, std::int64_t cols) {
  const std::int64_t elements = most_elements(p);
  if (elements == kOpen || p.rows == kOpen) return kOpen;
  if (is_whole(p) && kBlockElements % rows == 0 && kBlockElements % cols == 0) return tiles(elements, rows * cols);
  if (!both_vary(p)) return tiles(p.rows, rows) * (p.cols / cols + p.groups);
  return tiles(elements, rows * cols) + tiles(p.rows, rows) + tiles(p.cols, cols) + p.groups;
}

std::vector<GroupMatrix> matrices_of(const Mxfp8& p, const Mxfp8Args& a) {
  Dimension rows(rows_of(p), both_vary(p), a.offsets.data), cols(cols_of(p), true, a.col_offsets.data);
  std::vector<GroupMatrix> matrices;
  GroupMatrix next{p, a};
  next.problem.varying = Mxfp8Varying::rows;
  next.problem.groups = next.problem.capacity = 0;
  std::int64_t elements = 0;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    next.problem.rows = rows.next(), next.problem.cols = cols.next();
    elements += next.problem.rows * next.problem.cols;
    if (next.problem.rows < 0 || next.problem.cols < 0 || elements > most_elements(p)) {
      *static_cast<std::int32_t*>(a.status.data) = static_cast<std::int32_t>(g + 1);
      return {};
    }
    matrices.push_back(next);
    advance(next.problem, next.args);
  }
  return matrices;
}

void generate_ends(const Mxfp8& p, bool cols, std::uint64_t seed, void* ends) {
  const std::uint64_t shared = seed / kSeedsOfProblem;
  if (!cols) return mx::generate_offsets(rows_of(p), shared, ends);
  mx::generate_offsets(cols_of(p), shared + 1, ends);
  if (!both_vary(p)) return;
  // A group that no longer fits loses its columns.
  std::vector<std::int64_t> row_ends(static_cast<std::size_t>(p.groups));
  mx::Groups rows = rows_of(p);
  rows.offset = i64;
  mx::generate_offsets(rows, shared, row_ends.data());
  std::int64_t elements = 0, row_before = 0, before = 0, lost = 0;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::int64_t row_end = row_ends[static_cast<std::size_t>(g)];
    const std::int64_t end = common::read_integer(p.offset, ends, g), own = (row_end - row_before) * (end - before);
    const bool fits = elements + own <= most_elements(p);
    elements += fits ? own : 0;
    lost += fits ? 0 : end - before;
    common::write_integer(p.offset, ends, g, end - lost);
    row_before = row_end, before = end;
  }
}

std::vector<GroupMatrix> bench_matrices(const Mxfp8& p) {
  constexpr std::uint64_t kBenchSeed = kSeedsOfProblem;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(p.groups)), cols(rows.size());
  std::int32_t status = 0;
  Mxfp8 problem = p;
  problem.offset = i64;
  generate_ends(problem, false, kBenchSeed, rows.data());
  generate_ends(problem, true, kBenchSeed, cols.data());
  Mxfp8Args args;
  args.offsets = rows.data(), args.col_offsets = cols.data(), args.status = &status;
  return matrices_of(problem, args);
}

}  // namespace quern::mxfp8
