// Element types, by the names that the command line, records and logs use.
#ifndef QUERN_DTYPE_H_
#define QUERN_DTYPE_H_

#include <cstdint>

namespace quern {

// `none`: the operand is absent, or "the same as dtype" where a field's description says so.
enum class DType : std::uint8_t { none, f64, f32, f16, bf16, e4m3, e5m2, e8m0, i64, i32, i16, i8, u8, c64, c128 };

inline constexpr DType f64 = DType::f64;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType e4m3 = DType::e4m3;
inline constexpr DType e5m2 = DType::e5m2;
inline constexpr DType e8m0 = DType::e8m0;
inline constexpr DType i64 = DType::i64;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i16 = DType::i16;
inline constexpr DType i8 = DType::i8;
inline constexpr DType u8 = DType::u8;
inline constexpr DType c64 = DType::c64;
inline constexpr DType c128 = DType::c128;

struct DTypeInfo {
  const char* name;    // in problem texts
  std::int32_t bytes;  // of one element
  bool is_float;       // real floating point: f64 … e5m2
};

// One row per type, in the order of the enumeration.
inline constexpr DTypeInfo kDTypes[] = {
    {"none", 0, false}, {"f64", 8, true},  {"f32", 4, true},   {"f16", 2, true},  {"bf16", 2, true},
    {"e4m3", 1, true},  {"e5m2", 1, true}, {"e8m0", 1, false}, {"i64", 8, false}, {"i32", 4, false},
    {"i16", 2, false},  {"i8", 1, false},  {"u8", 1, false},   {"c64", 8, false}, {"c128", 16, false},
};
inline constexpr int kDTypeCount = static_cast<int>(sizeof(kDTypes) / sizeof(kDTypes[0]));

constexpr const DTypeInfo& info(DType type) { return kDTypes[static_cast<int>(type)]; }
constexpr const char* name(DType type) { return info(type).name; }
constexpr std::int32_t bytes(DType type) { return info(type).bytes; }

// A set of types, for field tables: `kFloats | only(i64)`.
using DTypeSet = std::uint32_t;
constexpr DTypeSet only(DType type) { return DTypeSet{1} << static_cast<int>(type); }
constexpr bool contains(DTypeSet set, DType type) { return (set & only(type)) != 0; }
inline constexpr DTypeSet kAnyElement = ((DTypeSet{1} << kDTypeCount) - 1) & ~only(DType::none);

}  // namespace quern

#endif  // QUERN_DTYPE_H_
