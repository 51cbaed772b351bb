#include "io/file_extents.h"

#include "base/text.h"
#include "io/subject.h"
#include "plan/problem.h"

namespace quern::tool {
namespace {

// Two values of an extent that no default has, neither a multiple of the other.
constexpr std::int64_t kSmall = 7;
constexpr std::int64_t kLarge = 11;

// An operand with the field at `value`, and with 1 for what is open.
Layout layout_with(const Operand& operand, const Field& field, const AnyProblem& problem, std::int64_t value) {
  AnyProblem probe = problem;
  for (const Field* open : open_extents(problem)) set_integer(*open, probe.data(), 1);
  set_integer(field, probe.data(), value);
  return operand.layout(probe.data());
}

// The extents of an array of `rank` dimensions that holds the layout; none where no such array does. One of two holds
// the rows of several matrices.
std::vector<std::int64_t> dimensions(const Layout& layout, std::size_t rank) {
  if (layout.dtype == DType::none) return {};
  if (static_cast<int>(rank) == layout.rank) return {layout.extents, layout.extents + layout.rank};
  if (rank == 2 && layout.rank == 3) return {layout.extents[0] * layout.extents[1], layout.extents[2]};
  return {};
}

// An operand's dimension that is so many times the extent, whatever the extent is.
struct Following {
  std::size_t dimension;
  std::int64_t times;
};

std::optional<Following> following(const Operand& operand, const Field& field, const AnyProblem& problem,
                                   std::size_t rank) {
  const Layout one = layout_with(operand, field, problem, kSmall);
  const Layout other = layout_with(operand, field, problem, kLarge);
  const bool open = get_integer(field, problem.data()) == kOpen;
  if (rank == 2 && one.rank == 3 && one.extents[0] != other.extents[0] && !open) return std::nullopt;
  const std::vector<std::int64_t> small = dimensions(one, rank), large = dimensions(other, rank);
  for (std::size_t d = 0; d < small.size() && d < large.size(); ++d) {
    const std::int64_t times = small[d] / kSmall;
    if (times > 0 && small[d] == times * kSmall && large[d] == times * kLarge) return Following{d, times};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> extent_of_files(const AnyProblem& problem, const Field& field,
                                            const std::vector<InFile>& files) {
  for (const InFile& file : files) {
    const std::vector<std::int64_t>& shape = file.header.shape;
    const auto found = following(problem.family().operands[file.operand], field, problem, shape.size());
    if (found) return shape[found->dimension] / found->times;
  }
  return std::nullopt;
}

std::vector<std::string> infer_extents(AnyProblem& problem, const std::vector<InFile>& files,
                                       const std::set<std::string>& typed) {
  std::vector<std::string> changed;
  for (const Field& field : problem.family().fields) {
    const std::int64_t before = get_integer(field, problem.data());
    if (field.kind != FieldKind::extent || before == kOpen || typed.count(field.name) != 0) continue;
    const std::optional<std::int64_t> said = extent_of_files(problem, field, files);
    if (!said || *said == before) continue;
    set_integer(field, problem.data(), *said);
    changed.push_back(cat(field.name, "=", *said));
  }
  return changed;
}

}  // namespace quern::tool
