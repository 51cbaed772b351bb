// Prints quern/c_families.h: the families' problems and arguments as C structs, from their tables.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "quern/quern.h"

namespace quern {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

// A member of a struct, wherever the family's tables describe it.
struct Member {
  std::size_t offset;
  std::string declaration;  // "int64_t rows"
  std::string name;
  std::string initial;  // its default
  std::string comment;
};

template <class T>
T at(const void* bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(bytes) + offset, sizeof(value));
  return value;
}

std::string list_initial(const void* defaults, const Field& field) {
  std::string text = "{" + std::to_string(at<std::int64_t>(defaults, field.offset)) + ", {";
  for (int i = 0; i < field.capacity; ++i) {
    const std::size_t offset = field.offset + sizeof(std::int64_t) * static_cast<std::size_t>(i + 1);
    text += (i == 0 ? "" : ", ") + std::to_string(at<std::int64_t>(defaults, offset));
  }
  return text + "}}";
}

std::string real_text(double value, const char* suffix) {
  if (std::isnan(value)) return *suffix == 0 ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  char text[64];
  std::snprintf(text, sizeof(text), "%.9g", value);
  const bool whole = std::strpbrk(text, ".en") == nullptr;
  return std::string(text) + (whole ? ".0" : "") + suffix;
}

Member member_of(const Family& family, const Field& field) {
  const std::string name = field.name;
  const std::string capacity = std::to_string(field.capacity);
  const void* const defaults = family.default_problem;
  switch (field.kind) {
    case FieldKind::extent:
    case FieldKind::integer:
      return {field.offset, "int64_t " + name, name, std::to_string(at<std::int64_t>(defaults, field.offset)),
              field.sentence};
    case FieldKind::real:
      return {field.offset, "double " + name, name, real_text(at<double>(defaults, field.offset), ""), field.sentence};
    case FieldKind::dtype:
      return {field.offset, "uint8_t " + name, name, "QUERN_" + upper(quern::name(at<DType>(defaults, field.offset))),
              field.sentence};
    case FieldKind::choice:
      return {field.offset, "uint8_t " + name, name, std::to_string(at<std::uint8_t>(defaults, field.offset)),
              field.sentence};
    case FieldKind::list:
      return {field.offset, "struct { int64_t count; int64_t values[" + capacity + "]; } " + name, name,
              list_initial(defaults, field), field.sentence};
    case FieldKind::text:
      return {field.offset, "struct { int64_t count; char bytes[" + capacity + "]; } " + name, name, "{0, {0}}",
              field.sentence};
  }
  return {};
}

Member member_of(const Operand& operand) {
  const bool reads = operand.role == Role::input;
  const bool list = operand.count != nullptr;
  const std::string type = std::string(reads ? "quern_in" : "quern_out") + (list ? "_list" : "");
  return {operand.offset, type + " " + operand.name, operand.name, list ? "{NULL, 0}" : "{NULL, QUERN_OPEN}",
          std::string(operand.shape) + ": " + operand.sentence};
}

Member member_of(const Family& family, const Scalar& scalar) {
  const void* const defaults = family.default_args;
  const std::string name = scalar.name;
  if (scalar.dtype == DType::i64)
    return {scalar.offset, "int64_t " + name, name, std::to_string(at<std::int64_t>(defaults, scalar.offset)),
            scalar.sentence};
  if (scalar.dtype == DType::f64)
    return {scalar.offset, "double " + name, name, real_text(at<double>(defaults, scalar.offset), ""), scalar.sentence};
  return {scalar.offset, "float " + name, name, real_text(at<float>(defaults, scalar.offset), "f"), scalar.sentence};
}

void print_struct(const std::string& name, std::vector<Member> members, std::size_t bytes) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.offset < b.offset; });
  std::printf("typedef struct %s {\n", name.c_str());
  for (const Member& member : members)
    std::printf("  %s;  // %s\n", member.declaration.c_str(), member.comment.c_str());
  std::printf("} %s;\n#define %s_INIT {", name.c_str(), upper(name).c_str());
  for (const Member& member : members)
    std::printf("%s%s", &member == &members.front() ? "" : ", ", member.initial.c_str());
  std::printf("}\nQUERN_C_ASSERT(sizeof(%s) == %zu", name.c_str(), bytes);
  for (const Member& member : members)
    std::printf(" && offsetof(%s, %s) == %zu", name.c_str(), member.name.c_str(), member.offset);
  std::printf(", \"its layout is the library's\");\n\n");
}

void print_choices(const Family& family) {
  for (const Field& field : family.fields) {
    if (field.kind != FieldKind::choice) continue;
    std::printf("enum {  // %s.%s\n", family.name, field.name);
    for (int i = 0; field.choices[i] != nullptr; ++i)
      std::printf("  QUERN_%s_%s_%s = %d%s\n", upper(family.name).c_str(), upper(field.name).c_str(),
                  upper(field.choices[i]).c_str(), i, field.choices[i + 1] == nullptr ? "" : ",");
    std::printf("};\n\n");
  }
}

void print_family(const Family& family) {
  std::printf("// ---- %s: %s\n\n", family.name, family.sentence);
  print_choices(family);
  const std::string name = std::string("quern_") + family.name;
  std::vector<Member> members;
  for (const Field& field : family.fields) members.push_back(member_of(family, field));
  print_struct(name, members, family.problem_bytes);
  members.clear();
  for (const Operand& operand : family.operands) members.push_back(member_of(operand));
  for (const Scalar& scalar : family.scalars) members.push_back(member_of(family, scalar));
  for (const LaunchExtent& extent : family.launch_extents)
    members.push_back({extent.offset, std::string("int64_t ") + extent.field, extent.field, "QUERN_OPEN",
                       "where the problem leaves it open"});
  print_struct(name + "_args", members, family.args_bytes);
  std::printf(
      "static inline quern_problem %s_problem(const %s* values) {\n"
      "  quern_problem problem = {NULL, \"%s\", values, sizeof(*values)};\n"
      "  return problem;\n}\n\n",
      name.c_str(), name.c_str(), family.name);
}

// What all families share.
void print_head() {
  std::printf(
      "// Generated from the families' tables: their problems and arguments as C structs, member for member those of\n"
      "// quern/<family>.h. NAME_INIT has the defaults:\n"
      "//\n"
      "//   quern_gather problem = QUERN_GATHER_INIT;\n"
      "//   problem.width = 7168;\n"
      "//   quern_prepare(runtime, quern_gather_problem(&problem), NULL, &plan, &error);\n"
      "#ifndef QUERN_C_FAMILIES_H_\n#define QUERN_C_FAMILIES_H_\n\n#include \"quern/c.h\"\n\n"
      "#ifdef __cplusplus\n#define QUERN_C_ASSERT static_assert\n#else\n#define QUERN_C_ASSERT _Static_assert\n"
      "#endif\n\n"
      "// The element types of dtype fields.\nenum {\n");
  for (int i = 0; i < kDTypeCount; ++i)
    std::printf("  QUERN_%s = %d%s\n", upper(kDTypes[i].name).c_str(), i, i + 1 == kDTypeCount ? "" : ",");
  std::printf(
      "};\n\n"
      "// Device memory. bytes: its size, checked unless it is QUERN_OPEN.\n"
      "typedef struct quern_in { const void* data; int64_t bytes; } quern_in;\n"
      "typedef struct quern_out { void* data; int64_t bytes; } quern_out;\n"
      "// Entries in host memory, read only during the call.\n"
      "typedef struct quern_in_list { const quern_in* entries; int64_t count; } quern_in_list;\n"
      "typedef struct quern_out_list { const quern_out* entries; int64_t count; } quern_out_list;\n\n");
}

}  // namespace
}  // namespace quern

int main() {
  const quern::Runtime runtime;
  quern::print_head();
  for (const quern::Family* family : runtime.families()) quern::print_family(*family);
  std::printf("#endif  // QUERN_C_FAMILIES_H_\n");
  return std::fflush(stdout) == 0 ? 0 : 1;
}
