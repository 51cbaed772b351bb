// Problems described by their field table: texts, checks, and the packed form that is the key of a plan.
#ifndef QUERN_PLAN_PROBLEM_H_
#define QUERN_PLAN_PROBLEM_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "quern/family.h"

namespace quern {

// For display: "extent"; "input".
const char* name(FieldKind kind);
const char* name(Role role);

// ---- Single fields ----
// The bytes that a field takes in the problem.
std::size_t bytes_of(const Field& field);
// Fields with one number: extent, integer, and choice and dtype by their enum value. Not lists and texts.
bool is_number(const Field& field);
std::int64_t get_integer(const Field& field, const void* problem);  // REQUIRES: is_number
void set_integer(const Field& field, void* problem, std::int64_t value);
// The bytes of a field's value in the problem, of a text with several spellings those of its canonical one. Two values
// are equal if these bytes are.
std::string_view field_bytes(const Field& field, const void* problem);
// Null if the family has no such field.
const Field* find_field(const Family& family, std::string_view name);
// "open" for an extent that is open.
std::string field_text(const Field& field, const void* problem);
// Throws Error (bad_input) that names the field, the value and what would be accepted.
void set_field(const Family& family, void* problem, std::string_view name, std::string_view value);
// The values that a field accepts, for display: "f16, bf16 or f32", "0 to 70368744177664 or open".
std::string accepted_text(const Field& field);
// "extent", "list", and "dtypes" for a list of types.
const char* kind_name(const Field& field);
// Those values, or entries of a list, that have names: of dtypes and choices.
std::vector<std::string> names_of_values(const Field& field);

// ---- Whole problems ----
// Checks every field's range, then the family's own rules. Throws Error (bad_input).
void check_problem(const Family& family, const void* problem);
// Splits a problem's text at blanks outside double quotes. A backslash escapes the next character. Throws Error
// (bad_input) for an unterminated quote.
std::vector<std::string> split_words(std::string_view text);
// The family's name and the fields that differ from their defaults.
std::string problem_text(const Family& family, const void* problem);
// The number of entries of an operand in a problem, 1 if it is not a list. Throws Error (bad_input) beyond kMaxEntries.
int entries_of(const Operand& operand, const void* problem);
// "x", or "source.2" for an entry of a list.
std::string entry_name(const Operand& operand, int entry);
// "source.2", or "inputs.2 (bias)" where the problem has a name for it: for messages.
inline std::string entry_text(const Operand& operand, const void* problem, int entry) {
  const std::string own = operand.name_of_entry == nullptr ? "" : operand.name_of_entry(problem, entry);
  return own.empty() ? entry_name(operand, entry) : entry_name(operand, entry) + " (" + own + ")";
}
// The extents that are still open.
std::vector<const Field*> open_extents(const Family& family, const void* problem);
// Sets fields from "width=8192 dtype=bf16".
void parse_fields(const Family& family, std::string_view text, void* problem);

// The fields that differ from their defaults, each as its number, its length and its value: equal problems have equal
// bytes.
struct PackedProblem {
  std::size_t size = 0;
  std::array<unsigned char, kMaxProblemBytes + std::size_t{3} * kMaxFields> bytes;
};
void pack(const Family& family, const void* problem, PackedProblem& packed);

// An Error about a family's problem.
Error problem_error(const Family& family, const void* problem, std::string sentence);

}  // namespace quern

#endif  // QUERN_PLAN_PROBLEM_H_
