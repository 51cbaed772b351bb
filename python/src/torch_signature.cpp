#include <cstring>
#include <stdexcept>

#include "torch_call.h"

namespace quern::python {
namespace {

TorchSignature::Type type_of(const std::string& name) {
  static constexpr struct {
    const char* name;
    TorchSignature::Type type;
  } kTypes[] = {{"Tensor", TorchSignature::tensor}, {"Tensor[]", TorchSignature::tensors},
                {"str", TorchSignature::text},      {"SymInt", TorchSignature::integer},
                {"int", TorchSignature::integer},   {"SymInt[]", TorchSignature::integers},
                {"float", TorchSignature::real}};
  for (const auto& row : kTypes) {
    if (name == row.name) return row.type;
  }
  throw std::runtime_error("quern's operators take no " + name);
}

}  // namespace

TorchSignature::TorchSignature(const quern_family& row, const std::vector<std::pair<std::string, std::string>>& all,
                               const std::string& for_gradients)
    : family(row) {
  for (const auto& [name, type] : all) arguments.push_back(read(name, type));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].use == operand && arguments[i].name == for_gradients) ignored_operand = arguments[i].operand;
    if (arguments[i].use == setting && arguments[i].name == "pass") pass = static_cast<int>(i);
  }
  if (pass < 0) ignored_operand = -1;
}

TorchSignature::Argument TorchSignature::read(const std::string& name, const std::string& type) const {
  const bool is_optional = type.back() == '?';
  const Type kind = type_of(is_optional ? type.substr(0, type.size() - 1) : type);
  if (kind == tensor || kind == tensors) {
    const Where where = where_is(family, name.c_str());
    if (where.operand < 0) throw std::runtime_error(std::string(family.name) + " has no operand " + name);
    return {name, kind, operand, is_optional, where.operand};
  }
  for (std::size_t i = 0; i < family.number_count; ++i) {
    if (name == family.numbers[i].name) return {name, kind, number, is_optional, -1};
  }
  // pass is a word of Python, and a field may have an operand's name: pass_, map_.
  const std::string field = name.back() == '_' ? name.substr(0, name.size() - 1) : name;
  for (std::size_t i = 0; i < family.field_count; ++i) {
    if (field == family.fields[i].name)
      return {field, kind, is_open_extent(family.fields[i]) ? number : setting, is_optional, -1};
  }
  throw std::runtime_error(std::string(family.name) + " has no field or number " + name);
}

}  // namespace quern::python
