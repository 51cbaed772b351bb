#include <cstring>

#include "function.h"

namespace quern::python {
namespace {

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

bool has_role(const quern_operand& operand, const char* role) { return std::strcmp(operand.role, role) == 0; }

// "x, gate=None, *, out=None, activation='silu', stream=None": what help() and inspect show.
std::string signature_of(const quern_family& family) {
  std::string text = "$module, /";
  bool first = true;
  for (std::size_t i = 0; i < family.operand_count; ++i) {
    if (!has_role(family.operands[i], "input")) continue;
    text += std::string(", ") + family.operands[i].name + (first ? "" : "=None");
    first = false;
  }
  text += ", *";
  for (std::size_t i = 0; i < family.operand_count; ++i) {
    if (has_role(family.operands[i], "output") || has_role(family.operands[i], "update"))
      text += std::string(", ") + family.operands[i].name + "=None";
  }
  return text + ", stream=None, runtime=None, config=None, **fields_and_numbers";
}

std::string rows_of_operands(const quern_family& family) {
  std::string text = "\nTensors, by position (inputs) or name:\n";
  for (std::size_t i = 0; i < family.operand_count; ++i) {
    const quern_operand& operand = family.operands[i];
    if (has_role(operand, "workspace")) continue;
    text += "  " + padded(operand.name, 17) + padded(operand.role, 7) + (operand.is_list != 0 ? " list of " : " ") +
            operand.shape + ": " + operand.sentence + "\n";
  }
  return text;
}

std::string rows_of_fields(const quern_family& family) {
  std::string text = "\nFields; what the tensors say need not be given; `pass` is given as pass_:\n";
  for (std::size_t i = 0; i < family.field_count; ++i) {
    const quern_field& field = family.fields[i];
    text += "  " + padded(field.name, 17) + padded(field.default_value, 12) + " " + field.sentence + "\n";
    if (field.choices == nullptr) continue;
    text += std::string(32, ' ');
    for (int c = 0; field.choices[c] != nullptr; ++c) text += std::string(c == 0 ? "" : ", ") + field.choices[c];
    text += '\n';
  }
  return text;
}

std::string rows_of_numbers(const quern_family& family) {
  std::string text = family.number_count == 0 ? "" : "\nNumbers:\n";
  for (std::size_t i = 0; i < family.number_count; ++i)
    text += "  " + padded(family.numbers[i].name, 17) + family.numbers[i].sentence + "\n";
  return text;
}

}  // namespace

std::string function_doc(const quern_family& family) {
  return std::string(family.name) + "(" + signature_of(family) + ")\n--\n\n" + family.sentence +
         ".\n\nReturns the results in the order below: one tensor, or a tuple. They are made by the package of the "
         "first\n"
         "tensor; one that is given by name is written instead. A tensor that is updated and not given starts as "
         "zeros.\n" +
         rows_of_operands(family) + rows_of_fields(family) + rows_of_numbers(family);
}

}  // namespace quern::python
