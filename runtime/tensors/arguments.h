// Tensors in, a family's arguments out: the launch path of the C interface in front of AnyPlan::launch.
#ifndef QUERN_TENSORS_ARGUMENTS_H_
#define QUERN_TENSORS_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "quern/c.h"
#include "quern/family.h"
#include "tensors/places.h"

namespace quern {

inline constexpr std::size_t kMaxArgsBytes = 1024;
inline constexpr std::size_t kMaxTensors = 256;

// Why tensors are refused. Made on the launch path without a string; `text` says it in words.
struct Refusal {
  enum class Reason : std::uint8_t {
    none,
    count,     // another number of tensors
    number,    // a number that no place has the name of
    fraction,  // a number that must be an integer
    missing,   // an extent that nothing gives
    negative,  // a dimension
    element,
    device,
    extent,    // of `dimension`
    multiple,  // `dimension` is `given`, no multiple of `expected`
    stride,
    merged,  // leading dimensions that are not one after the other in memory
  };
  Reason reason = Reason::none;
  int place = 0;  // or extent, or number
  int dimension = 0;
  std::int64_t expected = 0;
  std::int64_t given = 0;
  explicit operator bool() const { return reason != Reason::none; }
};

// The tensors and numbers of a launch.
struct Given {
  const quern_tensor* const* tensors = nullptr;
  std::size_t tensor_count = 0;
  const quern_number* numbers = nullptr;
  std::size_t number_count = 0;
};

// The family's arguments, filled from Given. Large, and not cleared: it lies on the stack of a launch.
struct FilledArguments {
  alignas(16) unsigned char bytes[kMaxArgsBytes];
  alignas(16) unsigned char problem[kMaxProblemBytes];  // with its extents closed, where a place is computed
  std::int64_t extents[8];
  alignas(16) unsigned char entries[kMaxTensors * sizeof(In)];  // of lists; an array of In would be cleared

  In& entry(std::size_t i) { return reinterpret_cast<In*>(entries)[i]; }
};

// What fills a plan's arguments: immutable, usable from any thread.
class Arguments {
 public:
  // `device`: the plan's ordinal; kHost: tensors are in the memory of the CPU. Throws Error (unsupported) for a family
  // whose arguments are too large.
  static constexpr int kHost = -1;
  Arguments(const Family& family, const void* problem, int device);

  const std::vector<Place>& places() const { return places_.places; }
  const Places& all_places() const { return places_; }
  const Family& family() const { return *family_; }
  const void* problem() const { return problem_.data(); }

  // Checks the tensors and fills the arguments. Neither allocates nor throws. Null tensors are taken as null operands,
  // which AnyPlan::launch refuses where they are not empty.
  Refusal fill(const Given& given, FilledArguments& filled) const;
  // The layout of a place. REQUIRES: `filled` was filled without a refusal.
  Layout layout(std::size_t place, const FilledArguments& filled) const;
  // Points an operand at other memory.
  void redirect(std::size_t place, void* data, std::int64_t bytes, FilledArguments& filled) const;

  std::string text(const Refusal& refusal, const Given& given) const;

 private:
  Refusal find_extents(const Given& given, FilledArguments& filled) const;
  Refusal read_numbers(const Given& given, FilledArguments& filled) const;
  Refusal check(std::size_t place, const quern_tensor& tensor, const FilledArguments& filled) const;
  Refusal check_dimensions(std::size_t place, const quern_tensor& tensor, const FilledArguments& filled) const;
  void close_problem(FilledArguments& filled) const;
  std::string dimension_text(const Refusal& refusal, const Given& given) const;

  const Family* family_;
  std::vector<unsigned char> problem_;
  int device_;
  Places places_;
  bool computes_ = false;  // a place is computed
  // Of each place: the offset of its In in the arguments, or of its list's and its entry's index among all entries.
  struct Slot {
    std::uint16_t offset;
    bool list;
    std::uint16_t entry;
  };
  std::vector<Slot> slots_;
  struct List {
    std::uint16_t offset;
    std::uint16_t begin;
    std::int64_t count;
  };
  std::vector<List> lists_;
};

// A tensor's dimensions as an operand of `rank` has them: leading ones are taken as one, missing ones are 1.
std::int64_t dimension_of(const quern_tensor& tensor, int rank, int dimension);
// Of a dimension, in elements.
std::int64_t stride_of(const quern_tensor& tensor, int dimension);

}  // namespace quern

#endif  // QUERN_TENSORS_ARGUMENTS_H_
