#include "tensors/infer.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/text.h"
#include "plan/problem.h"
#include "tensors/arguments.h"
#include "tensors/element.h"

namespace quern {
namespace {

// What does not fit counts by how much else follows from it: an operand that the problem lacks, a type, a dimension.
constexpr int kAbsent = 10000, kUnwanted = 1000, kOtherType = 100, kOtherDimension = 2, kOtherStride = 1;

struct Wanted {
  const Operand* operand;
  int entry;
  const quern_tensor* tensor;
};

Wanted find_operand(const Family& family, const NamedTensor& named) {
  const std::size_t dot = std::min(named.name.find('.'), named.name.size());
  std::vector<std::string> names;
  for (const Operand& operand : family.operands) {
    names.emplace_back(operand.name);
    if (named.name.substr(0, dot) != operand.name || (operand.count == nullptr) != (dot == named.name.size())) continue;
    const auto entry = dot == named.name.size() ? 0 : parse_integer(std::string_view(named.name).substr(dot + 1));
    if (entry && *entry >= 0 && *entry < kMaxEntries) return {&operand, static_cast<int>(*entry), named.tensor};
  }
  throw Error(Code::bad_input, Stage::problem,
              cat(family.name, " has no operand ", named.name, "; it has ", join(names, ", ")));
}

// Searches the fields that the caller left to it, one field at a time, for the value with which most fits.
class Search {
 public:
  Search(AnyProblem problem, const std::vector<std::string>& given, const std::vector<NamedTensor>& tensors)
      : problem_(std::move(problem)) {
    for (const NamedTensor& named : tensors) wanted_.push_back(find_operand(family(), named));
    for (const Field& field : family().fields) {
      const bool kept = std::find(given.begin(), given.end(), field.name) != given.end();
      // Tensors say none of these.
      const bool unknown =
          field.kind == FieldKind::choice || field.kind == FieldKind::text || field.kind == FieldKind::real;
      if (!kept && !unknown) free_.push_back(&field);
    }
  }

  AnyProblem run() {
    misfit_ = misfit();
    while (misfit_ > 0 && improve()) {
    }
    if (misfit_ > 0) refuse_cut_dimensions();
    return std::move(problem_);
  }

 private:
  const Family& family() const { return problem_.family(); }

  // Tries every field, and keeps the best value of all. Of equal ones fields with an operand's own name come before
  // others, and then numbers that a tensor has before those that only make a sum of several fields right.
  bool improve() {
    std::string best;
    const Field* best_field = nullptr;
    int best_rank = 0;
    for (const Field* field : free_) {
      for (const std::string& value : candidates(*field)) {
        const int now = misfit_with(*field, value), rank = rank_of(*field, value);
        if (now > misfit_ || (now == misfit_ && (best_field == nullptr || rank <= best_rank))) continue;
        misfit_ = now;
        best = value;
        best_field = field;
        best_rank = rank;
      }
    }
    if (best_field == nullptr) return false;
    problem_.set(best_field->name, best);
    return true;
  }

  int rank_of(const Field& field, const std::string& value) const {
    return is_named(field) ? 2 : field.kind != FieldKind::extent || has_dimension(value) ? 1 : 0;
  }

  bool has_dimension(const std::string& value) const {
    const auto number = parse_integer(value);
    return std::any_of(wanted_.begin(), wanted_.end(), [&](const Wanted& w) {
      return std::find(w.tensor->shape, w.tensor->shape + w.tensor->ndim, number) != w.tensor->shape + w.tensor->ndim;
    });
  }

  bool is_named(const Field& field) const {
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [&](const Wanted& w) { return std::strcmp(w.operand->name, field.name) == 0; });
  }

  int misfit_with(const Field& field, const std::string& value) {
    const std::string before = problem_.get(field.name);
    try {
      problem_.set(field.name, value);
    } catch (const Error&) {  // out of the field's range
      return kAbsent * kMaxEntries;
    }
    const int now = misfit();
    problem_.set(field.name, before);
    return now;
  }

  std::vector<std::string> candidates(const Field& field) const {
    switch (field.kind) {
      case FieldKind::dtype:
        return types(field);
      case FieldKind::list:
        return field.dtypes != 0 ? type_lists() : lists();
      default:
        return get_integer(field, problem_.data()) == kOpen ? std::vector<std::string>{} : numbers(field);
    }
  }

  std::vector<std::string> types(const Field& field) const {
    std::vector<std::string> same, bits;
    for (const Wanted& wanted : wanted_) {
      for (int type = 1; type < kDTypeCount; ++type) {
        const auto candidate = static_cast<DType>(type);
        if (!contains(field.dtypes, candidate) || !serves(*wanted.tensor, candidate)) continue;
        (element_of(*wanted.tensor) == candidate ? same : bits).emplace_back(name(candidate));
      }
    }
    same.insert(same.end(), bits.begin(), bits.end());
    return same;
  }

  // One dimension, or one stride, of each of a list's tensors; and the strides of a tensor without the innermost.
  std::vector<std::string> lists() const {
    std::vector<std::string> found;
    for (const Operand& operand : family().operands) {
      for (int d = 0; d < kMaxRank && operand.count != nullptr; ++d) {
        found.push_back(numbers_of(operand, [d](const quern_tensor& t) { return d < t.ndim ? t.shape[d] : -1; }));
        found.push_back(numbers_of(operand, [d](const quern_tensor& t) { return d < t.ndim ? stride_of(t, d) : -1; }));
      }
    }
    for (const Wanted& wanted : wanted_) {
      std::vector<std::string> values;
      for (int d = 0; wanted.tensor->strides != nullptr && d + 1 < wanted.tensor->ndim; ++d)
        values.push_back(std::to_string(wanted.tensor->strides[d]));
      found.push_back(join(values, ","));
    }
    found.erase(std::remove(found.begin(), found.end(), ""), found.end());
    return found;
  }

  // The types of each list's tensors.
  std::vector<std::string> type_lists() const {
    std::vector<std::string> found;
    for (const Operand& operand : family().operands) {
      std::vector<std::string> types;
      for (const Wanted& wanted : wanted_) {
        if (wanted.operand == &operand && operand.count != nullptr)
          types.emplace_back(name(element_of(*wanted.tensor)));
      }
      if (!types.empty()) found.push_back(join(types, ","));
    }
    return found;
  }

  // Of each tensor of a list, unless it is negative.
  template <class Number>
  std::string numbers_of(const Operand& list, const Number& number) const {
    std::vector<std::string> values;
    for (const Wanted& wanted : wanted_) {
      if (wanted.operand == &list && number(*wanted.tensor) >= 0)
        values.push_back(std::to_string(number(*wanted.tensor)));
    }
    return join(values, ",");
  }

  // Dimensions and strides themselves, what makes a dimension right that grows with the field by a fixed amount, and
  // the entries of lists.
  std::vector<std::string> numbers(const Field& field) const {
    std::set<std::int64_t> found;
    const std::int64_t value = get_integer(field, problem_.data());
    AnyProblem next = problem_;
    set_integer(field, next.data(), value + 1);
    for (const Wanted& wanted : wanted_) {
      const Layout now = layout_of(problem_, wanted), then = layout_of(next, wanted);
      for (int d = 0; d < now.rank && now.dtype != DType::none; ++d) {
        const std::int64_t target = dimension_of(*wanted.tensor, now.rank, d);
        const std::int64_t growth = then.extents[d] - now.extents[d];
        found.insert(target);
        found.insert(2 * target);  // of tables with a number for each pair
        if (growth != 0 && (target - now.extents[d]) % growth == 0)
          found.insert(value + (target - now.extents[d]) / growth);
      }
      for (int d = 0; wanted.tensor->strides != nullptr && d < wanted.tensor->ndim; ++d)
        found.insert(wanted.tensor->strides[d]);
    }
    for (const Operand& operand : family().operands) {
      if (operand.count != nullptr)
        found.insert(std::count_if(wanted_.begin(), wanted_.end(),
                                   [&](const Wanted& wanted) { return wanted.operand == &operand; }));
    }
    std::vector<std::string> texts;
    for (const std::int64_t number : found) {
      if (number >= field.min && number <= field.max) texts.push_back(std::to_string(number));
    }
    return texts;
  }

  bool is_free_extent(const Field& field) const {
    return field.kind == FieldKind::extent && get_integer(field, problem_.data()) != kOpen;
  }

  AnyProblem with_one_more(const Field& field) const {
    AnyProblem next = problem_;
    set_integer(field, next.data(), get_integer(field, problem_.data()) + 1);
    return next;
  }

  // Whether a dimension has other extents in it, which the tensors say too: then its multiple of a field is unknown.
  bool has_other_extents(const Wanted& wanted, int d, const Field& field) const {
    const std::int64_t now = layout_of(problem_, wanted).extents[d];
    return std::any_of(free_.begin(), free_.end(), [&](const Field* other) {
      return other != &field && is_free_extent(*other) && layout_of(with_one_more(*other), wanted).extents[d] != now;
    });
  }

  // No value of a field fits an input with a dimension that must be a multiple of it and is not. A message about the
  // field's default would not help.
  void refuse_cut_dimensions() const {
    for (const Field* field : free_) {
      if (!is_free_extent(*field)) continue;
      const std::int64_t value = get_integer(*field, problem_.data());
      const AnyProblem next = with_one_more(*field);
      for (const Wanted& wanted : wanted_) {
        if (wanted.operand->role != Role::input) continue;
        const Layout now = layout_of(problem_, wanted), then = layout_of(next, wanted);
        for (int d = 0; d < now.rank && now.dtype != DType::none; ++d) {
          const std::int64_t factor = then.extents[d] - now.extents[d];
          if (factor < 2 || now.extents[d] != factor * value || has_other_extents(wanted, d, *field)) continue;
          if (dimension_of(*wanted.tensor, now.rank, d) % factor != 0) refuse_cut(wanted, now.rank, d, *field, factor);
        }
      }
    }
  }

  [[noreturn]] void refuse_cut(const Wanted& wanted, int rank, int d, const Field& field, std::int64_t factor) const {
    std::vector<std::string> shape;
    for (int i = 0; i < wanted.tensor->ndim; ++i) shape.push_back(std::to_string(wanted.tensor->shape[i]));
    const std::string which = d == rank - 1 ? "last dimension" : cat("dimension ", d);
    const std::string must = factor == 2 ? std::string("even") : cat("a multiple of ", factor);
    const std::string entry = wanted.operand->count == nullptr ? std::string() : cat(".", wanted.entry);
    Error error(Code::bad_input, Stage::launch,
                cat(wanted.operand->name, entry, " has shape [", join(shape, ", "), "]; its ", which, " must be ", must,
                    ": it is ", factor, " times ", field.name));
    error.family = family().name;
    error.problem = problem_.text();
    throw error;
  }

  // How much does not fit.
  int misfit() const {
    int sum = 0;
    for (const Wanted& wanted : wanted_) {
      const Layout layout = layout_of(problem_, wanted);
      sum += layout.dtype == DType::none ? kAbsent : misfit_of(layout, *wanted.tensor);
    }
    return sum + kUnwanted * unwanted();
  }

  // The inputs that the problem has and the caller did not give.
  int unwanted() const {
    const AnyProblem closed = closed_by_tensors(problem_);
    int count = 0;
    for (const Operand& operand : family().operands) {
      if (operand.role != Role::input) continue;
      const int entries = operand.count == nullptr ? 1 : operand.count(closed.data());
      for (int entry = 0; entry < entries; ++entry) {
        if (!is_given(operand, entry) && operand.layout(closed.data(), entry).dtype != DType::none) ++count;
      }
    }
    return count;
  }

  bool is_given(const Operand& operand, int entry) const {
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [&](const Wanted& w) { return w.operand == &operand && w.entry == entry; });
  }

  static int misfit_of(const Layout& layout, const quern_tensor& tensor) {
    int sum = serves(tensor, layout.dtype) ? 0 : kOtherType;
    for (int d = 0; d < layout.rank; ++d) {
      if (dimension_of(tensor, layout.rank, d) != layout.extents[d]) sum += kOtherDimension;
    }
    const int extra = tensor.ndim - layout.rank;
    for (int d = std::max(0, -extra); d < layout.rank && tensor.strides != nullptr; ++d) {
      if (layout.extents[d] > 1 && tensor.strides[d + extra] != layout.strides[d]) sum += kOtherStride;
    }
    return sum;
  }

  // With open extents as these tensors give them.
  Layout layout_of(const AnyProblem& problem, const Wanted& wanted) const {
    const AnyProblem closed = closed_by_tensors(problem);
    if (wanted.operand->count != nullptr && wanted.entry >= wanted.operand->count(closed.data())) return {};
    return wanted.operand->layout(closed.data(), wanted.entry);
  }

  AnyProblem closed_by_tensors(const AnyProblem& problem) const {
    AnyProblem closed = problem;
    const Places places = places_of(family(), problem.data());
    for (const OpenExtent& open : places.extents) set_integer(*open.field, closed.data(), value_of(open, places));
    return closed;
  }

  // 1 where no tensor gives it.
  std::int64_t value_of(const OpenExtent& open, const Places& places) const {
    for (const Source& source : open.sources) {
      const Place& place = places.places[source.place];
      for (const Wanted& wanted : wanted_) {
        if (wanted.operand == place.operand && wanted.entry == place.entry)
          return dimension_of(*wanted.tensor, place.rank, source.dimension) / source.factor;
      }
    }
    return 1;
  }

  AnyProblem problem_;
  std::vector<Wanted> wanted_;
  std::vector<const Field*> free_;
  int misfit_ = 0;
};

}  // namespace

AnyProblem infer(AnyProblem problem, const std::vector<std::string>& given, const std::vector<NamedTensor>& tensors) {
  return Search(std::move(problem), given, tensors).run();
}

}  // namespace quern
