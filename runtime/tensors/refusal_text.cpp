// Refusals of tensors in words.
#include "base/text.h"
#include "plan/problem.h"
#include "tensors/arguments.h"
#include "tensors/element.h"

namespace quern {
namespace {

std::string numbers_text(const std::int64_t* numbers, int count) {
  std::vector<std::string> texts;
  for (int d = 0; d < count; ++d) texts.push_back(std::to_string(numbers[d]));
  return cat("[", join(texts, ", "), "]");
}

std::string strides_text(const quern_tensor& tensor) {
  std::vector<std::int64_t> strides;
  for (int d = 0; d < tensor.ndim; ++d) strides.push_back(stride_of(tensor, d));  // it may have none
  return numbers_text(strides.data(), tensor.ndim);
}

std::string device_text(const quern_tensor& tensor) {
  switch (tensor.device_type) {
    case 1:
      return "in CPU memory";
    case 2:
      return cat("on cuda:", tensor.device_id);
    case 3:
    case 13:
      return "in pinned or managed memory";
    default:
      return cat("on a device of type ", tensor.device_type);
  }
}

std::vector<std::string> names_of(const std::vector<Place>& places) {
  std::vector<std::string> names;
  for (const Place& place : places) names.push_back(place.name);
  return names;
}

std::vector<std::string> numbers_of(const Family& family) {
  std::vector<std::string> names;
  for (const Scalar& scalar : family.scalars) names.emplace_back(scalar.name);
  for (const LaunchExtent& extent : family.launch_extents) names.emplace_back(extent.field);
  return names;
}

}  // namespace

std::string Arguments::dimension_text(const Refusal& refusal, const Given& given) const {
  const auto index = static_cast<std::size_t>(refusal.place);
  const Place& place = places()[index];
  const quern_tensor& tensor = *given.tensors[index];
  const std::string what =
      cat(entry_text(*place.operand, problem(), place.entry), " has shape ", numbers_text(tensor.shape, tensor.ndim));
  if (refusal.reason == Refusal::Reason::negative) return cat(what, "; no dimension may be negative");
  if (refusal.reason == Refusal::Reason::multiple)
    return cat(what, "; dimension ", refusal.dimension, " of ", place.operand->shape, " is ", refusal.given,
               " and must be a multiple of ", refusal.expected);
  if (refusal.reason == Refusal::Reason::merged)
    return cat(what, " and strides ", strides_text(tensor),
               "; its leading dimensions are not one after the other in memory; pass a packed copy");
  FilledArguments filled;
  fill(given, filled);  // again, up to the refusal: the extents are known then
  const Layout expected = layout(index, filled);
  if (refusal.reason == Refusal::Reason::extent)
    return cat(what, "; this problem takes ", numbers_text(expected.extents, expected.rank));
  return cat(what, " and strides ", strides_text(tensor), "; this problem takes strides ",
             numbers_text(expected.strides, expected.rank), "; pass a packed copy, or set the stride in the problem");
}

std::string Arguments::text(const Refusal& refusal, const Given& given) const {
  const auto index = static_cast<std::size_t>(refusal.place);
  switch (refusal.reason) {
    case Refusal::Reason::none:
      return {};
    case Refusal::Reason::count:
      return cat("this problem takes ", places().size(), " tensors (", join(names_of(places()), ", "), "), not ",
                 refusal.place);
    case Refusal::Reason::number:
      return cat(family_->name, " has no number ", given.numbers[index].name, "; it has ",
                 join(numbers_of(*family_), ", "));
    case Refusal::Reason::fraction:
      return cat(given.numbers[index].name, " takes an integer");
    case Refusal::Reason::missing:
      return cat(places_.extents[index].field->name,
                 " is open in the problem and no tensor gives it; give it as a number");
    default:
      break;
  }
  const Place& place = places()[index];
  const quern_tensor& tensor = *given.tensors[index];
  const std::string what = entry_text(*place.operand, problem(), place.entry);
  if (refusal.reason == Refusal::Reason::element)
    return cat(what, " is of ", element_text(tensor), "; this problem takes ", name(place.dtype));
  if (refusal.reason == Refusal::Reason::device)
    return cat(what, " is ", device_text(tensor), "; this plan is for ",
               device_ == kHost ? std::string("tensors in CPU memory") : cat("cuda:", device_));
  return dimension_text(refusal, given);
}

}  // namespace quern
