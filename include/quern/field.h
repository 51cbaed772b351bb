// The fields of a family's problem: their kinds, and the table rows that describe them.
#ifndef QUERN_FIELD_H_
#define QUERN_FIELD_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "quern/dtype.h"

namespace quern {

// An extent that is left open until the launch.
inline constexpr std::int64_t kOpen = -1;

enum class FieldKind : std::uint8_t {
  extent,   // std::int64_t; kOpen where `may_be_open`
  integer,  // std::int64_t
  real,     // double
  dtype,    // DType
  choice,   // an enum of one byte; `choices` names its values from 0 on
  list,     // List<N>: up to N integers, "64,32,16"; "none" has no entry. DTypes<N>: up to N types, "f32,bf16"
  text,     // Text<N>: up to N printable ASCII characters, in quotes where a shell needs them: expr="x + 1"
};

// Up to N integers in a problem. Values past the last one are 0, so that equal lists have equal bytes. Prepare refuses
// a longer list.
template <int N>
struct List {
  std::int64_t count = 0;
  std::int64_t values[N] = {};
  constexpr List() = default;
  constexpr List(std::initializer_list<std::int64_t> list)  // NOLINT(google-explicit-constructor)
      : count(static_cast<std::int64_t>(list.size())) {
    int i = 0;
    for (const std::int64_t value : list) {
      if (i < N) values[i++] = value;
    }
  }
  constexpr std::int64_t operator[](int i) const { return values[i]; }
};

// Up to N element types in a problem, in memory as a list of their numbers.
template <int N>
struct DTypes {
  std::int64_t count = 0;
  std::int64_t values[N] = {};
  constexpr DTypes() = default;
  constexpr DTypes(std::initializer_list<DType> list)  // NOLINT(google-explicit-constructor)
      : count(static_cast<std::int64_t>(list.size())) {
    int i = 0;
    for (const DType type : list) {
      if (i < N) values[i++] = static_cast<std::int64_t>(type);
    }
  }
  constexpr DType operator[](int i) const { return static_cast<DType>(values[i]); }
};

// Up to N bytes of text in a problem, without a terminating zero. Prepare refuses longer text.
template <int N>
struct Text {
  std::int64_t count = 0;
  char bytes[N] = {};
  constexpr Text() = default;
  constexpr Text(std::string_view text)  // NOLINT(google-explicit-constructor)
      : count(static_cast<std::int64_t>(text.size())) {
    for (int i = 0; i < N && i < count; ++i) bytes[i] = text[static_cast<std::size_t>(i)];
  }
  constexpr Text(const char* text) : Text(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Text(const std::string& text) : Text(std::string_view(text)) {}     // NOLINT(google-explicit-constructor)
  constexpr std::string_view view() const { return {bytes, static_cast<std::size_t>(count < N ? count : N)}; }
};

// A field of a problem. A problem is a standard-layout aggregate whose members are all described by fields.
struct Field {
  const char* name;
  FieldKind kind;
  std::uint16_t offset;  // offsetof in the problem
  bool may_be_open;      // extent: kOpen is legal
  std::int64_t min;      // extent, integer, real
  std::int64_t max;
  DTypeSet dtypes;             // dtype: the accepted types; list: those of its entries, 0: they are integers
  const char* const* choices;  // choice: null-terminated; see quern/choice.h
  const char* sentence;        // shown by `describe` and in refusals
  int capacity = 0;            // list, text: N
  // text: where several spellings are one value, the bytes of that value, in memory as the field's (its length, then
  // the letters). They stay until the process ends. null: each text is its own value.
  std::string_view (*canonical)(const void* value) = nullptr;
};

inline constexpr std::size_t kMaxProblemBytes = 4096;
inline constexpr int kMaxFields = 64;
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 46;

constexpr Field extent_field(const char* name, std::size_t offset, bool may_be_open, const char* sentence) {
  return {name,    FieldKind::extent, static_cast<std::uint16_t>(offset), may_be_open, 0, kMaxExtent, 0,
          nullptr, sentence};
}
constexpr Field integer_field(const char* name, std::size_t offset, std::int64_t min, std::int64_t max,
                              const char* sentence) {
  return {name, FieldKind::integer, static_cast<std::uint16_t>(offset), false, min, max, 0, nullptr, sentence};
}
// Any number from `min` to `max`.
constexpr Field real_field(const char* name, std::size_t offset, std::int64_t min, std::int64_t max,
                           const char* sentence) {
  return {name, FieldKind::real, static_cast<std::uint16_t>(offset), false, min, max, 0, nullptr, sentence};
}
constexpr Field dtype_field(const char* name, std::size_t offset, DTypeSet accepted, const char* sentence) {
  return {name, FieldKind::dtype, static_cast<std::uint16_t>(offset), false, 0, 0, accepted, nullptr, sentence};
}
constexpr Field choice_field(const char* name, std::size_t offset, const char* const* choices, const char* sentence) {
  return {name, FieldKind::choice, static_cast<std::uint16_t>(offset), false, 0, 0, 0, choices, sentence};
}

// `member` is the List, DTypes or Text itself; only its type is used, to deduce N.
template <int N>
constexpr Field list_field(const char* name, std::size_t offset, const List<N>& /*member*/, std::int64_t min,
                           std::int64_t max, const char* sentence) {
  return {name, FieldKind::list, static_cast<std::uint16_t>(offset), false, min, max, 0, nullptr, sentence, N};
}
template <int N>
constexpr Field dtypes_field(const char* name, std::size_t offset, const DTypes<N>& /*member*/, DTypeSet accepted,
                             const char* sentence) {
  return {name, FieldKind::list, static_cast<std::uint16_t>(offset), false, 0, 0, accepted, nullptr, sentence, N};
}
template <int N>
constexpr Field text_field(const char* name, std::size_t offset, const Text<N>& /*member*/, const char* sentence,
                           std::string_view (*canonical)(const void* value) = nullptr) {
  return {name, FieldKind::text, static_cast<std::uint16_t>(offset), false, 0, 0, 0, nullptr, sentence, N, canonical};
}

}  // namespace quern

#endif  // QUERN_FIELD_H_
