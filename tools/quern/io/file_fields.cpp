#include "io/file_fields.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "io/subject.h"
#include "plan/problem.h"

namespace quern::tool {
namespace {

// The type of an operand, with open extents closed so that its layout can be asked for.
DType dtype_of(const AnyProblem& problem, const OperandEntry& which) {
  AnyProblem closed = problem;
  for (const Field* field : open_extents(problem)) set_integer(*field, closed.data(), 1);
  return problem.family().operands[which.operand].layout(closed.data(), which.entry).dtype;
}

bool holds(const InFile& file, DType type) {
  const std::vector<std::string> types = npy_types(type);
  return std::find(types.begin(), types.end(), file.header.type) != types.end();
}

std::vector<const Field*> dtype_fields(const Family& family, const std::set<std::string>& left_out) {
  std::vector<const Field*> fields;
  for (const Field& field : family.fields) {
    if (field.kind == FieldKind::dtype && left_out.count(field.name) == 0) fields.push_back(&field);
  }
  return fields;
}

// Cost of a choice of dtypes; the smallest is the best.
struct Misfit {
  int misfits = 0;  // files
  int changes = 0;  // fields
  int foreign = 0;  // files whose type is NumPy's for another dtype
  auto key() const { return std::tuple(misfits, changes, foreign); }
};

Misfit misfit_of(const AnyProblem& problem, const AnyProblem& before, const std::vector<InFile>& files,
                 const std::vector<const Field*>& fields) {
  Misfit misfit;
  for (const InFile& file : files) {
    if (file.header.type == "|b1") continue;  // a mask, and no numbers: an index is not made u8 for it
    const DType type = dtype_of(problem, file.operand);
    misfit.misfits += holds(file, type) ? 0 : 1;
    misfit.foreign += type == numpy_dtype(file.header.type) ? 0 : 1;
  }
  for (const Field* field : fields)
    misfit.changes += get_integer(*field, problem.data()) == get_integer(*field, before.data()) ? 0 : 1;
  return misfit;
}

// Tries every combination of values for `fields`.
class Choices {
 public:
  Choices(const AnyProblem& before, const std::vector<InFile>& files, const std::vector<const Field*>& fields)
      : before_(before), files_(files), fields_(fields), best_(before) {
    least_ = misfit_of(before, before, files, fields);
    AnyProblem problem = before;
    try_from(0, problem);
  }
  // Null if several are equally good.
  const AnyProblem* best() const { return ties_ == 0 ? &best_ : nullptr; }

 private:
  void try_from(std::size_t first, AnyProblem& problem) {
    if (first == fields_.size()) return evaluator(problem);
    const Field& field = *fields_[first];
    for (int value = 0; value < kDTypeCount; ++value) {
      if (!contains(field.dtypes, static_cast<DType>(value))) continue;
      set_integer(field, problem.data(), value);
      try_from(first + 1, problem);
    }
  }

  void evaluator(const AnyProblem& problem) {
    const Misfit misfit = misfit_of(problem, before_, files_, fields_);
    if (misfit.key() > least_.key() || misfit.changes == 0 || !problem.family().check(problem.data()).empty()) return;
    ties_ = misfit.key() < least_.key() ? 0 : ties_ + 1;
    least_ = misfit;
    best_ = problem;
  }

  const AnyProblem& before_;
  const std::vector<InFile>& files_;
  const std::vector<const Field*>& fields_;
  AnyProblem best_;
  Misfit least_;
  int ties_ = 0;
};

std::string setting(const Field& field, const AnyProblem& problem) {
  return cat(field.name, "=", field_text(field, problem.data()));
}

// ---- Extents

// Two probe values for an extent that are no defaults, and neither a multiple of the other.
constexpr std::int64_t kSmall = 7;
constexpr std::int64_t kLarge = 11;

// An operand's layout with the field at `value`, and with open extents at 1.
Layout layout_with(const OperandEntry& which, const Field& field, const AnyProblem& problem, std::int64_t value) {
  AnyProblem probe = problem;
  for (const Field* open : open_extents(problem)) set_integer(*open, probe.data(), 1);
  set_integer(field, probe.data(), value);
  return problem.family().operands[which.operand].layout(probe.data(), which.entry);
}

// The dimensions of an array of `rank` that holds the layout; none if no such array does. A 2D array holds the rows of
// several matrices.
std::vector<std::int64_t> dimensions(const Layout& layout, std::size_t rank) {
  if (layout.dtype == DType::none) return {};
  if (static_cast<int>(rank) == layout.rank) return {layout.extents, layout.extents + layout.rank};
  if (rank == 2 && layout.rank == 3) return {layout.extents[0] * layout.extents[1], layout.extents[2]};
  return {};
}

// A dimension of an operand that is always the same multiple of the extent.
struct Following {
  std::size_t dimension;
  std::int64_t times;
};

std::optional<Following> following(const OperandEntry& which, const Field& field, const AnyProblem& problem,
                                   std::size_t rank) {
  const Layout one = layout_with(which, field, problem, kSmall);
  const Layout other = layout_with(which, field, problem, kLarge);
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

std::vector<std::string> infer_dtypes(AnyProblem& problem, const std::vector<InFile>& files,
                                      const std::set<std::string>& typed) {
  const std::vector<const Field*> fields = dtype_fields(problem.family(), typed);
  if (misfit_of(problem, problem, files, fields).misfits == 0) return {};
  const AnyProblem before = problem;
  const Choices choices(before, files, fields);
  if (choices.best() == nullptr) return {};
  problem = *choices.best();
  std::vector<std::string> set;
  for (const Field* field : fields) {
    if (get_integer(*field, problem.data()) != get_integer(*field, before.data()))
      set.push_back(setting(*field, problem));
  }
  return set;
}

std::vector<std::string> fitting_dtypes(const AnyProblem& problem, const InFile& file) {
  std::vector<std::string> fitting;
  for (const Field* field : dtype_fields(problem.family(), {})) {
    AnyProblem changed = problem;
    for (int value = 0; value < kDTypeCount; ++value) {
      if (!contains(field->dtypes, static_cast<DType>(value))) continue;
      set_integer(*field, changed.data(), value);
      if (holds(file, dtype_of(changed, file.operand))) fitting.push_back(setting(*field, changed));
    }
  }
  return fitting;
}

std::optional<std::int64_t> extent_of_files(const AnyProblem& problem, const Field& field,
                                            const std::vector<InFile>& files) {
  for (const InFile& file : files) {
    const std::vector<std::int64_t>& shape = file.header.shape;
    const auto found = following(file.operand, field, problem, shape.size());
    if (found) return shape[found->dimension] / found->times;
  }
  return std::nullopt;
}

std::vector<std::string> infer_extents(AnyProblem& problem, const std::vector<InFile>& files,
                                       const std::set<std::string>& typed) {
  std::vector<std::string> changed;
  for (const Field& field : problem.family().fields) {
    if (field.kind != FieldKind::extent || typed.count(field.name) != 0) continue;
    const std::int64_t before = get_integer(field, problem.data());
    if (before == kOpen) continue;
    const std::optional<std::int64_t> said = extent_of_files(problem, field, files);
    if (!said || *said == before) continue;
    set_integer(field, problem.data(), *said);
    changed.push_back(cat(field.name, "=", *said));
  }
  return changed;
}

}  // namespace quern::tool
