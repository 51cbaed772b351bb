#include "tensors/element.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace quern {
namespace {

// DLDataTypeCode.
enum DlpackCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kOpaque = 3, kBfloat = 4, kComplex = 5, kBool = 6 };
constexpr std::uint8_t kE4m3 = 10, kE5m2 = 12, kE8m0 = 14;

struct Row {
  DType type;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr Row kRows[] = {
    {DType::f64, kFloat, 64},   {DType::f32, kFloat, 32},     {DType::f16, kFloat, 16}, {DType::bf16, kBfloat, 16},
    {DType::e4m3, kE4m3, 8},    {DType::e5m2, kE5m2, 8},      {DType::e8m0, kE8m0, 8},  {DType::i64, kInt, 64},
    {DType::i32, kInt, 32},     {DType::i16, kInt, 16},       {DType::i8, kInt, 8},     {DType::u8, kUInt, 8},
    {DType::c64, kComplex, 64}, {DType::c128, kComplex, 128},
};

bool is_bits(const quern_tensor& tensor, std::int32_t bits) {
  return tensor.dtype_bits == bits && (tensor.dtype_code == kUInt || tensor.dtype_code == kOpaque);
}

bool is_small_float(DType type) {
  return type == DType::bf16 || type == DType::e4m3 || type == DType::e5m2 || type == DType::e8m0;
}

const char* code_text(std::uint8_t code) {
  static constexpr const char* kNames[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  return code < std::size(kNames) ? kNames[code] : "type";
}

}  // namespace

bool serves(const quern_tensor& tensor, DType type) {
  if (tensor.dtype_lanes != 1) return false;
  if (element_of(tensor) == type) return true;
  if (type == DType::u8) return tensor.dtype_bits == 8 && tensor.dtype_code == kBool;
  return is_small_float(type) && is_bits(tensor, 8 * bytes(type));
}

DType element_of(const quern_tensor& tensor) {
  for (const Row& row : kRows) {
    if (row.code == tensor.dtype_code && row.bits == tensor.dtype_bits && tensor.dtype_lanes == 1) return row.type;
  }
  return DType::none;
}

std::string element_text(const quern_tensor& tensor) {
  if (const DType type = element_of(tensor); type != DType::none) return name(type);
  const std::string lanes = tensor.dtype_lanes == 1 ? "" : cat("x", int{tensor.dtype_lanes});
  return cat(code_text(tensor.dtype_code), int{tensor.dtype_bits}, lanes);
}

void set_element(quern_tensor& tensor, DType type) {
  const Row* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.type == type; });
  tensor.dtype_code = row->code;
  tensor.dtype_bits = row->bits;
  tensor.dtype_lanes = 1;
}

}  // namespace quern
