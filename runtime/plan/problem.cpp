#include "plan/problem.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "quern/runtime.h"

namespace quern {
namespace {

const unsigned char* at(const Field& field, const void* problem) {
  return static_cast<const unsigned char*>(problem) + field.offset;
}
unsigned char* at(const Field& field, void* problem) { return static_cast<unsigned char*>(problem) + field.offset; }

bool is_wide(const Field& field) { return field.kind == FieldKind::extent || field.kind == FieldKind::integer; }

// Names that other libraries have for the same.
constexpr Alias kDTypeAliases[] = {
    {"float64", "f64"},     {"double", "f64"},       {"float32", "f32"},   {"float", "f32"},
    {"float16", "f16"},     {"half", "f16"},         {"bfloat16", "bf16"}, {"fp64", "f64"},
    {"fp32", "f32"},        {"fp16", "f16"},         {"fp8", "e4m3"},      {"float8_e4m3fn", "e4m3"},
    {"fp8_e4m3", "e4m3"},   {"float8_e5m2", "e5m2"}, {"fp8_e5m2", "e5m2"}, {"float8_e8m0fnu", "e8m0"},
    {"int64", "i64"},       {"long", "i64"},         {"int32", "i32"},     {"int", "i32"},
    {"int16", "i16"},       {"int8", "i8"},          {"uint8", "u8"},      {"complex64", "c64"},
    {"complex128", "c128"},
};
constexpr Alias kChoiceAliases[] = {
    {"swish", "silu"},
    {"quick_gelu", "qgelu"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"hard_swish", "hardswish"},
};

std::vector<std::string> names(const Field& field) {
  std::vector<std::string> names;
  if (field.kind == FieldKind::choice) {
    for (const char* const* choice = field.choices; *choice != nullptr; ++choice) names.emplace_back(*choice);
  } else {
    for (int i = 0; i < kDTypeCount; ++i) {
      if (contains(field.dtypes, static_cast<DType>(i))) names.emplace_back(kDTypes[i].name);
    }
  }
  return names;
}

// Numbers have none.
std::string suggestion(const Field& field, std::string_view value) {
  const std::string meant = is_wide(field) ? "" : did_you_mean(lower(value), names(field));
  return meant.empty() ? "" : cat(".", meant);
}

Error field_error(const Family& family, const Field& field, std::string_view value) {
  Error error(Code::bad_input, Stage::problem,
              cat(field.name, "=", value, " is not accepted by ", family.name, "; it takes ", accepted_text(field),
                  suggestion(field, value)));
  error.family = family.name;
  return error;
}

Error unknown_field(const Family& family, std::string_view name) {
  std::vector<std::string> known;
  for (const Field& field : family.fields) known.emplace_back(field.name);
  const std::string close = closest(name, known);
  Error error(Code::bad_input, Stage::problem,
              cat(family.name, " has no field \"", name, "\"", close.empty() ? "." : cat("; did you mean ", close, "?"),
                  " Its fields are: ", join(known, ", ")));
  error.family = family.name;
  return error;
}

bool in_range(const Field& field, std::int64_t value) {
  if (field.may_be_open && value == kOpen) return true;
  return value >= field.min && value <= field.max;
}

bool legal(const Field& field, std::int64_t value) {
  if (is_wide(field)) return in_range(field, value);
  if (field.kind == FieldKind::dtype) return value < kDTypeCount && contains(field.dtypes, static_cast<DType>(value));
  return value < static_cast<std::int64_t>(names(field).size());
}

// A dtype's or a choice's, by its name or an alias of it, whatever the case.
std::optional<std::int64_t> parse_name(const Field& field, std::string_view value) {
  if (field.kind == FieldKind::dtype) {
    const std::string meant = meant_by(value, kDTypeAliases);
    for (int i = 0; i < kDTypeCount; ++i) {
      if (meant == kDTypes[i].name) return i;
    }
    return std::nullopt;
  }
  const std::vector<std::string> choices = names(field);
  for (const std::string& text : {std::string(value), lower(value), meant_by(value, kChoiceAliases)}) {
    const auto found = std::find(choices.begin(), choices.end(), text);
    if (found != choices.end()) return found - choices.begin();
  }
  return std::nullopt;
}

// The number behind a text, or nothing if the text is invalid for the field.
std::optional<std::int64_t> parse_value(const Field& field, std::string_view value) {
  if (is_wide(field)) {
    if (field.may_be_open && value == "open") return kOpen;
    const std::optional<std::int64_t> number = parse_integer(value);
    return number == kOpen && field.may_be_open ? std::nullopt : number;  // "open" is the only way to write it
  }
  return parse_name(field, value);
}

}  // namespace

std::int64_t get_integer(const Field& field, const void* problem) {
  if (!is_wide(field)) return *at(field, problem);
  std::int64_t value = 0;
  std::memcpy(&value, at(field, problem), sizeof(value));
  return value;
}

void set_integer(const Field& field, void* problem, std::int64_t value) {
  if (is_wide(field)) {
    std::memcpy(at(field, problem), &value, sizeof(value));
  } else {
    *at(field, problem) = static_cast<unsigned char>(value);
  }
}

const Field* find_field(const Family& family, std::string_view name) {
  for (const Field& field : family.fields) {
    if (name == field.name) return &field;
  }
  return nullptr;
}

std::string field_text(const Field& field, const void* problem) {
  const std::int64_t value = get_integer(field, problem);
  if (field.kind == FieldKind::dtype) return value < kDTypeCount ? kDTypes[value].name : cat("dtype ", value);
  if (field.kind == FieldKind::choice) return legal(field, value) ? field.choices[value] : cat("value ", value);
  return field.may_be_open && value == kOpen ? "open" : std::to_string(value);
}

std::string accepted_text(const Field& field) {
  if (!is_wide(field)) return join(names(field), ", ");
  return cat(field.min, " to ", field.max, field.may_be_open ? ", or open" : "");
}

void set_field(const Family& family, void* problem, std::string_view name, std::string_view value) {
  const Field* field = find_field(family, name);
  if (field == nullptr) throw unknown_field(family, name);
  const std::optional<std::int64_t> number = parse_value(*field, value);
  if (!number || !legal(*field, *number)) throw field_error(family, *field, value);
  set_integer(*field, problem, *number);
}

void check_problem(const Family& family, const void* problem) {
  for (const Field& field : family.fields) {
    if (!legal(field, get_integer(field, problem))) throw field_error(family, field, field_text(field, problem));
  }
  if (std::string sentence = family.check(problem); !sentence.empty())
    throw problem_error(family, problem, std::move(sentence));
}

std::string problem_text(const Family& family, const void* problem) {
  std::string text = family.name;
  for (const Field& field : family.fields) {
    if (get_integer(field, problem) == get_integer(field, family.default_problem)) continue;
    text += cat(" ", field.name, "=", field_text(field, problem));
  }
  return text;
}

std::vector<const Field*> open_extents(const Family& family, const void* problem) {
  std::vector<const Field*> open;
  for (const Field& field : family.fields) {
    if (field.kind == FieldKind::extent && field.may_be_open && get_integer(field, problem) == kOpen)
      open.push_back(&field);
  }
  return open;
}

namespace {

// With the whole of the new text, to be pasted.
void refuse_replaced(const Family& family, std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ' ');
  for (const Replaced& replaced : family.replaced) {
    if (std::find(parts.begin(), parts.end(), replaced.field) == parts.end()) continue;
    std::string now = replaced.now;
    for (std::string_view part : parts) {
      if (part != replaced.field && !trim(part).empty()) now += cat(" ", part);
    }
    throw Error(Code::bad_input, Stage::problem,
                cat(family.name, " has no ", replaced.field, " any more; write \"", now, "\""));
  }
}

}  // namespace

void parse_fields(const Family& family, std::string_view text, void* problem) {
  refuse_replaced(family, text);
  std::vector<std::string_view> given;
  for (std::string_view part : split(text, ' ')) {
    if (trim(part).empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      throw Error(Code::bad_input, Stage::problem,
                  cat("\"", part, "\" is no field=value; ", family.name, " is described by `quern describe ",
                      family.name, "`"));
    const std::string_view name = trim(part.substr(0, equals));
    if (std::find(given.begin(), given.end(), name) != given.end())
      throw Error(Code::bad_input, Stage::problem, cat(name, " is given twice"));
    given.push_back(name);
    set_field(family, problem, name, trim(part.substr(equals + 1)));
  }
}

void pack(const Family& family, const void* problem, PackedProblem& packed) {
  packed.size = 0;
  for (const Field& field : family.fields) {
    const std::size_t bytes = is_wide(field) ? 8 : 1;
    std::memcpy(packed.bytes.data() + packed.size, at(field, problem), bytes);
    packed.size += bytes;
  }
}

Error problem_error(const Family& family, const void* problem, std::string sentence) {
  Error error(Code::bad_input, Stage::problem, std::move(sentence));
  error.family = family.name;
  error.problem = problem_text(family, problem);
  return error;
}

AnyProblem::AnyProblem(const Family& family) : AnyProblem(family, family.default_problem) {}

AnyProblem::AnyProblem(const Family& family, const void* problem)
    : family_(&family),
      bytes_(static_cast<const unsigned char*>(problem),
             static_cast<const unsigned char*>(problem) + family.problem_bytes) {}

void AnyProblem::set(std::string_view field, std::string_view value) {
  set_field(*family_, bytes_.data(), field, value);
}

std::string AnyProblem::get(std::string_view field) const {
  const Field* found = find_field(*family_, field);
  if (found == nullptr) throw unknown_field(*family_, field);
  return field_text(*found, bytes_.data());
}

std::string AnyProblem::text() const { return problem_text(*family_, bytes_.data()); }

}  // namespace quern
