#include "tensors/arguments.h"

#include <cstring>

#include "plan/problem.h"
#include "tensors/element.h"

namespace quern {
namespace {

// DLDeviceType.
constexpr std::int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;

bool is_here(const quern_tensor& tensor, int device) {
  if (device == Arguments::kHost) return tensor.device_type == kCpu;
  if (tensor.device_type == kCuda) return tensor.device_id == device;
  return tensor.device_type == kCudaHost || tensor.device_type == kCudaManaged;
}

// The leading dimensions 0 to `last` as one: its stride, that of the last one that is longer than 1. Returns false if
// their elements are not that far apart throughout.
bool merge(const quern_tensor& tensor, int last, std::int64_t& stride) {
  bool first = true;
  std::int64_t next = 0;  // what the stride of the next outer dimension must be
  for (int d = last; d >= 0; --d) {
    if (tensor.shape[d] == 1) continue;
    const std::int64_t own = stride_of(tensor, d);
    if (first) stride = own;
    if (!first && own != next) return false;
    next = own * tensor.shape[d];
    first = false;
  }
  return true;
}

template <class T>
T& member(void* bytes, std::uint16_t offset) {
  return *reinterpret_cast<T*>(static_cast<unsigned char*>(bytes) + offset);
}

std::int64_t value(const Term& term, const std::int64_t* extents) {
  return term.extent < 0 ? term.factor : term.factor * extents[term.extent];
}

In memory_of(const quern_tensor* tensor) {
  if (tensor == nullptr || tensor->data == nullptr) return {};
  return {static_cast<unsigned char*>(tensor->data) + tensor->byte_offset, kOpen};
}

void set_number(void* args, const Scalar& scalar, const quern_number& number) {
  if (scalar.dtype == DType::f32) member<float>(args, scalar.offset) = static_cast<float>(number.real);
  if (scalar.dtype == DType::f64) member<double>(args, scalar.offset) = number.real;
  if (scalar.dtype == DType::i64) member<std::int64_t>(args, scalar.offset) = number.integer;
}

Refusal refusal(Refusal::Reason reason, std::size_t place, int dimension = 0, std::int64_t expected = 0,
                std::int64_t given = 0) {
  return {reason, static_cast<int>(place), dimension, expected, given};
}

}  // namespace

std::int64_t stride_of(const quern_tensor& tensor, int d) {
  if (tensor.strides != nullptr) return tensor.strides[d];
  std::int64_t stride = 1;
  for (int i = tensor.ndim - 1; i > d; --i) stride *= tensor.shape[i];
  return stride;
}

std::int64_t dimension_of(const quern_tensor& tensor, int rank, int dimension) {
  const int extra = tensor.ndim - rank;
  if (extra <= 0) return dimension + extra < 0 ? 1 : tensor.shape[dimension + extra];
  if (dimension > 0) return tensor.shape[dimension + extra];
  std::int64_t product = 1;
  for (int d = 0; d <= extra; ++d) product *= tensor.shape[d];
  return product;
}

Arguments::Arguments(const Family& family, const void* problem, int device)
    : family_(&family),
      problem_(static_cast<const unsigned char*>(problem),
               static_cast<const unsigned char*>(problem) + family.problem_bytes),
      device_(device),
      places_(places_of(family, problem)) {
  if (family.args_bytes > kMaxArgsBytes || places_.places.size() > kMaxTensors)
    throw Error(Code::unsupported, Stage::problem,
                std::string("the arguments of ") + family.name + " are too large for tensors");
  std::uint16_t entries = 0;
  for (const Operand& operand : family.operands) {
    if (operand.count == nullptr) continue;
    lists_.push_back({operand.offset, entries, entries_of(operand, problem)});
    entries = static_cast<std::uint16_t>(entries + lists_.back().count);
  }
  for (const Place& place : places_.places) {
    computes_ = computes_ || place.computed;
    const bool list = place.operand->count != nullptr;
    std::uint16_t entry = 0;
    for (const List& each : lists_) {
      if (list && each.offset == place.operand->offset) entry = static_cast<std::uint16_t>(each.begin + place.entry);
    }
    slots_.push_back({place.operand->offset, list, entry});
  }
}

// A number that the caller gave for an extent is used; the shapes are then held to it.
Refusal Arguments::find_extents(const Given& given, FilledArguments& filled) const {
  for (std::size_t i = 0; i < places_.extents.size(); ++i) {
    const OpenExtent& open = places_.extents[i];
    for (const Source& source : open.sources) {
      const quern_tensor* const tensor = given.tensors[source.place];
      if (tensor == nullptr || filled.extents[i] != kOpen) continue;
      const std::int64_t dimension = dimension_of(*tensor, places_.places[source.place].rank, source.dimension);
      if (dimension % source.factor != 0)
        return refusal(Refusal::Reason::multiple, source.place, source.dimension, source.factor, dimension);
      filled.extents[i] = dimension / source.factor;
    }
    if (filled.extents[i] == kOpen && open.needed) return refusal(Refusal::Reason::missing, i);
    member<std::int64_t>(filled.bytes, open.offset) = filled.extents[i];
  }
  return {};
}

Refusal Arguments::read_numbers(const Given& given, FilledArguments& filled) const {
  for (std::size_t n = 0; n < given.number_count; ++n) {
    const quern_number& number = given.numbers[n];
    bool known = false, integer = false;
    for (const Scalar& scalar : family_->scalars) {
      if (std::strcmp(scalar.name, number.name) != 0) continue;
      set_number(filled.bytes, scalar, number);
      known = true;
      integer = scalar.dtype == DType::i64;
    }
    for (std::size_t i = 0; i < places_.extents.size(); ++i) {
      if (std::strcmp(places_.extents[i].field->name, number.name) == 0) filled.extents[i] = number.integer;
    }
    for (const LaunchExtent& extent : family_->launch_extents) {  // of a closed one the launch checks that it agrees
      if (std::strcmp(extent.field, number.name) != 0) continue;
      member<std::int64_t>(filled.bytes, extent.offset) = number.integer;
      known = integer = true;
    }
    if (integer && number.integer == INT64_MIN) return refusal(Refusal::Reason::fraction, n);
    if (!known) return refusal(Refusal::Reason::number, n);
  }
  return {};
}

Layout Arguments::layout(std::size_t index, const FilledArguments& filled) const {
  const Place& place = places_.places[index];
  if (place.computed) return place.operand->layout(filled.problem, place.entry);
  Layout layout;
  layout.dtype = place.dtype;
  layout.rank = place.rank;
  for (int d = 0; d < place.rank; ++d) {
    layout.extents[d] = value(place.extents[d], filled.extents);
    layout.strides[d] = value(place.strides[d], filled.extents);
  }
  return layout;
}

Refusal Arguments::check_dimensions(std::size_t index, const quern_tensor& tensor,
                                    const FilledArguments& filled) const {
  const Layout expected = layout(index, filled);
  const int rank = expected.rank, extra = tensor.ndim - rank;
  const bool larger = places_.places[index].operand->role == Role::workspace;  // is as good
  bool empty = false;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t given = dimension_of(tensor, rank, d);
    if (larger ? given < expected.extents[d] : given != expected.extents[d])
      return refusal(Refusal::Reason::extent, index, d);
    empty = empty || given == 0;
  }
  for (int d = extra < 0 ? -extra : 0; d < rank && !empty; ++d) {
    if (expected.extents[d] == 1) continue;
    std::int64_t given = 0;
    if (d == 0 && extra > 0) {
      if (!merge(tensor, extra, given)) return refusal(Refusal::Reason::merged, index, d);
    } else {
      given = stride_of(tensor, d + extra);
    }
    if (given != expected.strides[d]) return refusal(Refusal::Reason::stride, index, d);
  }
  return {};
}

Refusal Arguments::check(std::size_t index, const quern_tensor& tensor, const FilledArguments& filled) const {
  for (int d = 0; d < tensor.ndim; ++d) {
    if (tensor.shape[d] < 0) return refusal(Refusal::Reason::negative, index, d);
  }
  if (!serves(tensor, places_.places[index].dtype)) return refusal(Refusal::Reason::element, index);
  if (!is_here(tensor, device_)) return refusal(Refusal::Reason::device, index);
  return check_dimensions(index, tensor, filled);
}

void Arguments::close_problem(FilledArguments& filled) const {
  std::memcpy(filled.problem, problem_.data(), problem_.size());
  for (std::size_t i = 0; i < places_.extents.size(); ++i)
    set_integer(*places_.extents[i].field, filled.problem, filled.extents[i]);
}

Refusal Arguments::fill(const Given& given, FilledArguments& filled) const {
  if (given.tensor_count != slots_.size()) return refusal(Refusal::Reason::count, given.tensor_count);
  std::memcpy(filled.bytes, family_->default_args, family_->args_bytes);
  for (std::int64_t& extent : filled.extents) extent = kOpen;
  if (const Refusal found = read_numbers(given, filled)) return found;
  if (const Refusal found = find_extents(given, filled)) return found;
  if (computes_) close_problem(filled);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const quern_tensor* const tensor = given.tensors[i];
    if (tensor != nullptr) {
      if (const Refusal found = check(i, *tensor, filled)) return found;
    }
    const Slot& slot = slots_[i];
    In& in = slot.list ? filled.entry(slot.entry) : member<In>(filled.bytes, slot.offset);
    in = memory_of(tensor);
  }
  for (const List& list : lists_) member<InList>(filled.bytes, list.offset) = {&filled.entry(list.begin), list.count};
  return {};
}

void Arguments::redirect(std::size_t place, void* data, std::int64_t bytes, FilledArguments& filled) const {
  const Slot& slot = slots_[place];
  In& in = slot.list ? filled.entry(slot.entry) : member<In>(filled.bytes, slot.offset);
  in = {data, bytes};
}

}  // namespace quern
