// The tables of the families as C structs. Made once, and never freed: programs may read them while they exit.
#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "api/builtin_families.h"
#include "c/error.h"
#include "c/runtime.h"
#include "plan/problem.h"

namespace quern::c {
namespace {

class Tables {
 public:
  Tables() {
    std::vector<const Family*> families = builtin_families();
    std::sort(families.begin(), families.end(),
              [](const Family* a, const Family* b) { return std::strcmp(a->name, b->name) < 0; });
    for (const Family* family : families) rows_.push_back(row_of(*family));
  }
  const std::vector<quern_family>& rows() const { return rows_; }

 private:
  const char* keep(std::string text) { return strings_.emplace_back(std::move(text)).c_str(); }

  quern_field field_of(const Family& family, const Field& field) {
    return {field.name,
            quern::kind_name(field),
            keep(field_text(field, family.default_problem)),
            keep(accepted_text(field)),
            field.kind == FieldKind::choice ? field.choices : nullptr,
            field.sentence,
            field.offset};
  }

  static double default_of(const Family& family, const Scalar& scalar) {
    const unsigned char* const at = static_cast<const unsigned char*>(family.default_args) + scalar.offset;
    if (scalar.dtype == DType::f32) return *reinterpret_cast<const float*>(at);
    if (scalar.dtype == DType::f64) return *reinterpret_cast<const double*>(at);
    return static_cast<double>(*reinterpret_cast<const std::int64_t*>(at));
  }

  quern_family row_of(const Family& family) {
    auto& fields = fields_.emplace_back();
    for (const Field& field : family.fields) fields.push_back(field_of(family, field));
    auto& operands = operands_.emplace_back();
    for (const Operand& operand : family.operands)
      operands.push_back({operand.name, quern::name(operand.role), operand.shape, operand.sentence,
                          operand.count != nullptr ? 1 : 0, operand.offset});
    auto& numbers = numbers_.emplace_back();
    for (const Scalar& scalar : family.scalars)
      numbers.push_back(
          {scalar.name, quern::name(scalar.dtype), default_of(family, scalar), scalar.sentence, scalar.offset});
    return {family.name,     family.sentence, fields.data(),  fields.size(),        operands.data(),
            operands.size(), numbers.data(),  numbers.size(), family.problem_bytes, family.args_bytes};
  }

  std::deque<std::string> strings_;
  std::deque<std::vector<quern_field>> fields_;
  std::deque<std::vector<quern_operand>> operands_;
  std::deque<std::vector<quern_number_field>> numbers_;
  std::vector<quern_family> rows_;
};

}  // namespace
}  // namespace quern::c

const quern_family* quern_families(size_t* count) {
  const std::vector<quern_family>* rows = nullptr;
  quern::c::guarded(quern::Stage::problem, nullptr, [&] {
    static const quern::c::Tables* const tables = new quern::c::Tables;
    rows = &tables->rows();
  });
  if (count != nullptr) *count = rows == nullptr ? 0 : rows->size();
  return rows == nullptr ? nullptr : rows->data();
}
