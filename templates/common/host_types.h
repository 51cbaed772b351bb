// The names of number types in generated specs, and host code that is generic over them.
#ifndef QUERN_COMMON_HOST_TYPES_H_
#define QUERN_COMMON_HOST_TYPES_H_

#include <cstdint>
#include <string>

#include "common/numbers.cuh"
#include "quern/dtype.h"

namespace quern::common {

// "common::Bf16" for bf16; integers have the built-in types.
inline std::string spec_type(DType type) {
  switch (type) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "common::Fp16";
    case DType::bf16:
      return "common::Bf16";
    case DType::e4m3:
      return "common::E4m3";
    case DType::e5m2:
      return "common::E5m2";
    case DType::e8m0:
      return "common::E8m0";
    case DType::i64:
      return "common::i64";
    case DType::i32:
      return "common::i32";
    case DType::i16:
      return "common::i16";
    case DType::i8:
      return "common::i8";
    case DType::u8:
      return "common::u8";
    case DType::c64:
    case DType::c128:
    case DType::none:
      break;
  }
  return "void";
}

// Calls f with a value of the C++ type of a floating dtype: with_float(bf16, [](auto x) { using T = decltype(x); … }).
template <class F>
auto with_float(DType type, F f) {
  switch (type) {
    case DType::f64:
      return f(double{});
    case DType::f16:
      return f(Fp16{});
    case DType::bf16:
      return f(Bf16{});
    case DType::e4m3:
      return f(E4m3{});
    case DType::e5m2:
      return f(E5m2{});
    default:
      return f(float{});
  }
}

// An integer of any index type.
inline std::int64_t read_integer(DType type, const void* data, std::int64_t at) {
  switch (type) {
    case DType::i32:
      return static_cast<const std::int32_t*>(data)[at];
    case DType::i16:
      return static_cast<const std::int16_t*>(data)[at];
    case DType::i8:
      return static_cast<const std::int8_t*>(data)[at];
    case DType::u8:
      return static_cast<const std::uint8_t*>(data)[at];
    default:
      return static_cast<const std::int64_t*>(data)[at];
  }
}
inline void write_integer(DType type, void* data, std::int64_t at, std::int64_t value) {
  switch (type) {
    case DType::i32:
      static_cast<std::int32_t*>(data)[at] = static_cast<std::int32_t>(value);
      break;
    case DType::i16:
      static_cast<std::int16_t*>(data)[at] = static_cast<std::int16_t>(value);
      break;
    case DType::i8:
      static_cast<std::int8_t*>(data)[at] = static_cast<std::int8_t>(value);
      break;
    case DType::u8:
      static_cast<std::uint8_t*>(data)[at] = static_cast<std::uint8_t>(value);
      break;
    default:
      static_cast<std::int64_t*>(data)[at] = value;
  }
}

// Converts a floating number to double, exactly; and a double to the nearest number of the type.
inline double read_float(DType type, const void* data, std::int64_t at) {
  return with_float(type,
                    [&](auto x) { return static_cast<double>(to_compute(static_cast<const decltype(x)*>(data)[at])); });
}

// Rounds to the nearest number of the type.
inline void write_float(DType type, void* data, std::int64_t at, double value) {
  with_float(type, [&](auto x) {
    using T = decltype(x);
    static_cast<T*>(data)[at] = from_compute<T>(static_cast<ComputeOf<T>>(value));
  });
}
inline float round_float(DType type, double value) {
  return with_float(type, [&](auto x) {
    using T = decltype(x);
    return static_cast<float>(to_compute(from_compute<T>(static_cast<ComputeOf<T>>(value))));
  });
}

}  // namespace quern::common

#endif  // QUERN_COMMON_HOST_TYPES_H_
