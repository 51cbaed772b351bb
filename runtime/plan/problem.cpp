#include "plan/problem.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"
#include "plan/check_family.h"
#include "quern/runtime.h"

namespace quern {
namespace {

const unsigned char* at(const Field& field, const void* problem) {
  return static_cast<const unsigned char*>(problem) + field.offset;
}
unsigned char* at(const Field& field, void* problem) { return static_cast<unsigned char*>(problem) + field.offset; }

bool is_whole(const Field& field) { return field.kind == FieldKind::extent || field.kind == FieldKind::integer; }
// Of 8 bytes.
bool is_wide(const Field& field) { return is_whole(field) || field.kind == FieldKind::real; }

// Other libraries' names for the same types.
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
// Of a field called style: another one may have the same names for something else.
constexpr Alias kStyleAliases[] = {{"neox", "half"}, {"gpt_neox", "half"}, {"gptj", "interleaved"}};

bool is_named(const Field& field) { return field.kind == FieldKind::choice || field.kind == FieldKind::dtype; }
bool lists_types(const Field& field) { return field.kind == FieldKind::list && field.dtypes != 0; }

std::string suggestion(const Field& field, std::string_view value) {
  const bool text = field.kind == FieldKind::text, fits = static_cast<int>(value.size()) <= field.capacity;
  const bool several_lines = value.find('\n') != std::string_view::npos;
  if (text) return !fits ? cat("; this one has ", value.size()) : several_lines ? ", in one line" : "";
  const std::string meant = did_you_mean(lower(value), names_of_values(field));
  return meant.empty() ? "" : cat(".", meant);
}

// An integer of other tools may have a decimal point: theta=10000.0.
std::string_view without_zeros(const Field& field, std::string_view value) {
  const std::size_t point = value.find('.');
  if (field.kind != FieldKind::integer || point == std::string_view::npos || point + 1 == value.size()) return value;
  return value.find_first_not_of('0', point + 1) == std::string_view::npos ? value.substr(0, point) : value;
}

Error field_error(const Family& family, const Field& field, std::string_view value) {
  Error error(Code::bad_input, Stage::problem,
              cat(field.name, "=", value, " is not accepted by ", family.name, "; it takes ", accepted_text(field),
                  is_whole(field) && !parse_integer(without_zeros(field, value)) ? ", as an integer" : "",
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

// For lists and texts: the number of entries or bytes, which follow it in memory.
std::int64_t count_of(const Field& field, const void* problem) {
  std::int64_t count = 0;
  std::memcpy(&count, at(field, problem), sizeof(count));
  return count;
}

std::vector<std::int64_t> list_values(const Field& field, const void* problem) {
  std::vector<std::int64_t> values(
      static_cast<std::size_t>(std::clamp<std::int64_t>(count_of(field, problem), 0, field.capacity)));
  if (!values.empty())
    std::memcpy(values.data(), at(field, problem) + sizeof(std::int64_t), values.size() * sizeof(std::int64_t));
  return values;
}

std::string_view text_value(const Field& field, const void* problem) {
  const std::int64_t count = std::clamp<std::int64_t>(count_of(field, problem), 0, field.capacity);
  return {reinterpret_cast<const char*>(at(field, problem)) + sizeof(std::int64_t), static_cast<std::size_t>(count)};
}

// Stores a list's or a text's bytes, followed by zeros. REQUIRES: they fit.
void set_bytes(const Field& field, void* problem, std::int64_t count, const void* bytes, std::size_t size,
               std::size_t room) {
  std::memcpy(at(field, problem), &count, sizeof(count));
  std::memset(at(field, problem) + sizeof(count), 0, room);
  if (size != 0) std::memcpy(at(field, problem) + sizeof(count), bytes, size);
}

// Of a real field, whose value in 8 bytes this is.
double as_real(std::int64_t value) { return std::bit_cast<double>(value); }

bool legal(const Field& field, std::int64_t value) {
  if (field.kind == FieldKind::real)
    return as_real(value) >= static_cast<double>(field.min) && as_real(value) <= static_cast<double>(field.max);
  if (is_wide(field)) return in_range(field, value);
  if (field.kind == FieldKind::dtype) return value < kDTypeCount && contains(field.dtypes, static_cast<DType>(value));
  return value < static_cast<std::int64_t>(names_of_values(field).size());
}

bool legal_entry(const Field& field, std::int64_t value) {
  if (!lists_types(field)) return in_range(field, value);
  return value >= 0 && value < kDTypeCount && contains(field.dtypes, static_cast<DType>(value));
}

std::optional<std::int64_t> parse_dtype(std::string_view value) {
  const std::string meant = meant_by(value, kDTypeAliases);
  for (int i = 0; i < kDTypeCount; ++i) {
    if (meant == kDTypes[i].name) return i;
  }
  return std::nullopt;
}

// The number of a dtype or a choice, by its name or an alias, ignoring case.
std::optional<std::int64_t> parse_name(const Field& field, std::string_view value) {
  if (field.kind == FieldKind::dtype) return parse_dtype(value);
  const std::vector<std::string> choices = names_of_values(field);
  const std::string meant =
      std::string_view(field.name) == "style" ? meant_by(value, kStyleAliases) : meant_by(value, kChoiceAliases);
  for (const std::string& text : {std::string(value), lower(value), meant}) {
    const auto found = std::find(choices.begin(), choices.end(), text);
    if (found != choices.end()) return found - choices.begin();
  }
  return std::nullopt;
}

// The number that a text stands for, or nothing if the text is invalid for the field.
std::optional<std::int64_t> parse_value(const Field& field, std::string_view value) {
  if (field.kind == FieldKind::real) {
    const std::optional<double> number = parse_number(value);
    if (!number || value.ends_with('.')) return std::nullopt;
    return std::bit_cast<std::int64_t>(*number + 0.0);  // -0 and 0 are one problem
  }
  if (is_wide(field)) {
    if (field.may_be_open && value == "open") return kOpen;
    const std::optional<std::int64_t> number = parse_integer(without_zeros(field, value));
    return number == kOpen && field.may_be_open ? std::nullopt : number;  // "open" is the only way to write it
  }
  return parse_name(field, value);
}

// What logs, JSON, manifests and shells all carry unchanged.
bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Whether the field accepts its value in the problem.
bool holds_legal(const Field& field, const void* problem) {
  if (is_number(field)) return legal(field, get_integer(field, problem));
  const std::int64_t count = count_of(field, problem);
  if (count < 0 || count > field.capacity) return false;
  if (field.kind == FieldKind::text) return is_printable(text_value(field, problem));
  const std::vector<std::int64_t> values =
      field.kind == FieldKind::list ? list_values(field, problem) : std::vector<std::int64_t>();
  return std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return legal_entry(field, value); });
}

// "64,32,16", "f32,bf16" or "none"; nothing if it is invalid.
std::optional<std::vector<std::int64_t>> parse_list(const Field& field, std::string_view text) {
  std::vector<std::int64_t> values;
  if (text == "none") return values;
  if (text.ends_with(',')) return std::nullopt;
  for (const std::string_view part : split(text, ',')) {
    const std::optional<std::int64_t> value = lists_types(field) ? parse_dtype(trim(part)) : parse_integer(trim(part));
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return values;
}

bool set_list(const Field& field, void* problem, std::string_view text) {
  const auto values = parse_list(field, text);
  const auto legal = [&](std::int64_t value) { return legal_entry(field, value); };
  if (!values || values->size() > static_cast<std::size_t>(field.capacity)) return false;
  if (!std::all_of(values->begin(), values->end(), legal)) return false;
  set_bytes(field, problem, static_cast<std::int64_t>(values->size()), values->data(),
            values->size() * sizeof(std::int64_t), static_cast<std::size_t>(field.capacity) * sizeof(std::int64_t));
  return true;
}

bool set_text(const Field& field, void* problem, std::string_view text) {
  if (text.size() > static_cast<std::size_t>(field.capacity) || !is_printable(text)) return false;
  set_bytes(field, problem, static_cast<std::int64_t>(text.size()), text.data(), text.size(),
            static_cast<std::size_t>(field.capacity));
  return true;
}

bool set_value(const Field& field, void* problem, std::string_view value) {
  if (field.kind == FieldKind::list) return set_list(field, problem, value);
  if (field.kind == FieldKind::text) return set_text(field, problem, value);
  const std::optional<std::int64_t> number = parse_value(field, value);
  if (!number || !legal(field, *number)) return false;
  set_integer(field, problem, *number);
  return true;
}

// A text as it appears in a problem's text: in quotes where necessary.
std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:+/=@%-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + '"';
}

std::string dtype_text(std::int64_t value) {
  return value >= 0 && value < kDTypeCount ? kDTypes[value].name : cat("dtype ", value);
}

std::string list_text(const Field& field, const void* problem) {
  std::vector<std::string> texts;
  for (const std::int64_t value : list_values(field, problem))
    texts.push_back(lists_types(field) ? dtype_text(value) : std::to_string(value));
  return texts.empty() ? "none" : join(texts, ",");
}

bool is_default(const Family& family, const Field& field, const void* problem) {
  return field_bytes(field, problem) == field_bytes(field, family.default_problem);
}

}  // namespace

const char* name(FieldKind kind) {
  static constexpr const char* kNames[] = {"extent", "integer", "real", "dtype", "choice", "list", "text"};
  return kNames[static_cast<int>(kind)];
}

const char* kind_name(const Field& field) { return lists_types(field) ? "dtypes" : name(field.kind); }

const char* name(Role role) {
  static constexpr const char* kNames[] = {"input", "output", "update", "workspace"};
  return kNames[static_cast<int>(role)];
}

std::vector<std::string> names_of_values(const Field& field) {
  std::vector<std::string> names;
  for (const char* const* choice = field.choices; choice != nullptr && *choice != nullptr; ++choice)
    names.emplace_back(*choice);
  for (int i = 0; i < kDTypeCount; ++i) {
    if (contains(field.dtypes, static_cast<DType>(i))) names.emplace_back(kDTypes[i].name);
  }
  return names;
}

std::size_t bytes_of(const Field& field) {
  const auto capacity = static_cast<std::size_t>(field.capacity);
  if (field.kind == FieldKind::list) return sizeof(std::int64_t) * (1 + capacity);
  if (field.kind == FieldKind::text) return sizeof(std::int64_t) + capacity;
  return is_wide(field) ? sizeof(std::int64_t) : 1;
}

bool is_number(const Field& field) { return is_wide(field) || is_named(field); }

std::string_view field_bytes(const Field& field, const void* problem) {
  const char* const begin = reinterpret_cast<const char*>(at(field, problem));
  if (is_number(field)) return {begin, is_wide(field) ? sizeof(std::int64_t) : 1};
  const std::size_t entry = field.kind == FieldKind::list ? sizeof(std::int64_t) : 1;
  const std::int64_t count = std::clamp<std::int64_t>(count_of(field, problem), 0, field.capacity);
  if (field.canonical != nullptr && count != 0 && count == count_of(field, problem)) return field.canonical(begin);
  return {begin, sizeof(std::int64_t) + static_cast<std::size_t>(count) * entry};
}

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
  if (field.kind == FieldKind::list) return list_text(field, problem);
  if (field.kind == FieldKind::text) return std::string(field_bytes(field, problem).substr(sizeof(std::int64_t)));
  const std::int64_t value = get_integer(field, problem);
  if (field.kind == FieldKind::dtype) return dtype_text(value);
  if (field.kind == FieldKind::choice) return legal(field, value) ? field.choices[value] : cat("value ", value);
  if (field.kind == FieldKind::real) return shortest(as_real(value));
  return field.may_be_open && value == kOpen ? "open" : std::to_string(value);
}

std::string accepted_text(const Field& field) {
  if (is_named(field)) return join(names_of_values(field), ", ");
  if (field.kind == FieldKind::text) return cat("up to ", field.capacity, " printable ASCII characters");
  if (lists_types(field)) return cat("up to ", field.capacity, " of ", join(names_of_values(field), ", "), "; or none");
  if (field.kind == FieldKind::list)
    return cat("up to ", field.capacity, " integers from ", field.min, " to ", field.max, ", 64,32; or none");
  return cat(field.min, " to ", field.max, field.kind == FieldKind::real ? ", with decimals or without" : "",
             field.may_be_open ? ", or open" : "");
}

void set_field(const Family& family, void* problem, std::string_view name, std::string_view value) {
  const Field* field = find_field(family, name);
  if (field == nullptr) throw unknown_field(family, name);
  if (!set_value(*field, problem, value)) throw field_error(family, *field, value);
}

void check_problem(const Family& family, const void* problem) {
  for (const Field& field : family.fields) {
    if (holds_legal(field, problem)) continue;
    const bool long_one = !is_number(field) && count_of(field, problem) > field.capacity;
    throw field_error(family, field, long_one ? cat("(", count_of(field, problem), ")") : field_text(field, problem));
  }
  if (std::string sentence = family.check(problem); !sentence.empty())
    throw problem_error(family, problem, std::move(sentence));
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quote = false, begun = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
      if (begun) words.push_back(std::exchange(word, {}));
      begun = false;
      continue;
    }
    begun = true;
    if (c == '"') {
      quote = !quote;
    } else {
      word += c == '\\' && i + 1 < text.size() ? text[++i] : c;
    }
  }
  if (quote) throw Error(Code::bad_input, Stage::problem, cat("a quote does not end in ", text));
  if (begun) words.push_back(word);
  return words;
}

std::string problem_text(const Family& family, const void* problem) {
  std::string text = family.name;
  for (const Field& field : family.fields) {
    if (is_default(family, field, problem)) continue;
    const std::string value = field_text(field, problem);
    text += cat(" ", field.name, "=", field.kind == FieldKind::text ? shell_word(value) : value);
  }
  return text;
}

int entries_of(const Operand& operand, const void* problem) {
  if (operand.count == nullptr) return 1;
  const int count = operand.count(problem);
  if (count >= 0 && count <= kMaxEntries) return count;
  throw Error(Code::bad_input, Stage::problem,
              cat("a problem has ", count, " entries of ", operand.name, "; at most ", kMaxEntries, " are possible"));
}

std::string entry_name(const Operand& operand, int entry) {
  return operand.count == nullptr ? operand.name : cat(operand.name, ".", entry);
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

// The error has the complete new text, ready to paste.
void refuse_replaced(const Family& family, std::string_view text) {
  const std::vector<std::string> parts = split_words(text);
  for (const Replaced& replaced : family.replaced) {
    if (std::find(parts.begin(), parts.end(), replaced.field) == parts.end()) continue;
    std::string now = replaced.now;
    for (const std::string& part : parts) {
      if (part != replaced.field) now += cat(" ", part);
    }
    throw Error(Code::bad_input, Stage::problem,
                cat(family.name, " no longer has ", replaced.field, "; write \"", now, "\""));
  }
}

}  // namespace

void parse_fields(const Family& family, std::string_view text, void* problem) {
  refuse_replaced(family, text);
  std::vector<std::string> given;
  for (const std::string& part : split_words(text)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw Error(Code::bad_input, Stage::problem,
                  cat("expected FIELD=VALUE, got \"", part, "\"; ", family.name, " is described by `quern describe ",
                      family.name, "`"));
    const std::string name = part.substr(0, equals);
    if (std::find(given.begin(), given.end(), name) != given.end())
      throw Error(Code::bad_input, Stage::problem, cat(name, " is given twice"));
    given.push_back(name);
    set_field(family, problem, name, std::string_view(part).substr(equals + 1));
  }
}

static void append(const Family& family, int field, std::string_view value, PackedProblem& packed) {
  const auto length = static_cast<std::uint16_t>(value.size());
  if (packed.size + 3 + value.size() > packed.bytes.size())
    throw Error(Code::bad_input, Stage::problem, cat("the fields of the family ", family.name, " overlap"));
  unsigned char* const to = packed.bytes.data() + packed.size;
  *to = static_cast<unsigned char>(field);
  std::memcpy(to + 1, &length, sizeof(length));
  std::memcpy(to + 1 + sizeof(length), value.data(), value.size());
  packed.size += 1 + sizeof(length) + value.size();
}

// On the look-up of a known plan: numbers, which most fields are, are compared without a call. A family is checked when
// a plan of it is made, which is after this: so what would be read outside is noticed here.
void pack(const Family& family, const void* problem, PackedProblem& packed) {
  const auto* const own = static_cast<const unsigned char*>(problem);
  const auto* const defaults = static_cast<const unsigned char*>(family.default_problem);
  packed.size = 0;
  if (defaults == nullptr) check_family(family);
  for (int i = 0; i < family.fields.count; ++i) {
    const Field& field = family.fields[i];
    if (field.offset + bytes_of(field) > family.problem_bytes) check_family(family);
    if (field.kind == FieldKind::list || field.kind == FieldKind::text) {
      const bool both_empty = count_of(field, own) == 0 && count_of(field, defaults) == 0;
      if (!both_empty && !is_default(family, field, problem)) append(family, i, field_bytes(field, problem), packed);
    } else if (is_wide(field)) {
      std::uint64_t value = 0, usual = 0;
      std::memcpy(&value, own + field.offset, sizeof(value));
      std::memcpy(&usual, defaults + field.offset, sizeof(usual));
      if (value != usual) append(family, i, field_bytes(field, problem), packed);
    } else if (own[field.offset] != defaults[field.offset]) {
      append(family, i, field_bytes(field, problem), packed);
    }
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
