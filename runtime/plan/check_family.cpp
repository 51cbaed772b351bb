#include "plan/check_family.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "plan/problem.h"

namespace quern {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Family& family, const Parts&... parts) {
  throw Error(Code::bad_input, Stage::problem,
              cat("the family ", family.name == nullptr ? "without a name" : family.name, parts...));
}

void check_functions(const Family& family) {
  const bool whole = family.check != nullptr && family.check_extents != nullptr && family.reference != nullptr &&
                     family.tolerance != nullptr && family.bytes != nullptr && family.generate != nullptr;
  if (!whole) refuse(family, " lacks one of its functions; fill it with make_family");
  if (family.sources.count == 0) refuse(family, " has no sources; the first is its template");
  if (family.default_problem == nullptr || family.default_args == nullptr)
    refuse(family, " has no default problem or arguments");
}

bool has(const Parameter& parameter, std::int32_t wanted) {
  const std::int32_t* value = parameter.values;
  while (*value != kNoMore && *value != wanted) ++value;
  return *value != kNoMore;
}

void check_parameters(const Family& family, const Step& step) {
  if (step.parameters.count > kMaxParameters)
    refuse(family, " has a step of ", step.parameters.count, " parameters; at most ", kMaxParameters, " are possible");
  for (const Parameter& parameter : step.parameters) {
    if (parameter.name == nullptr || parameter.values == nullptr || *parameter.values == kNoMore)
      refuse(family, " has a parameter without a name or values");
    if (parameter.applies != nullptr && !has(parameter, parameter.otherwise))
      refuse(family, ": ", parameter.otherwise, ", which ", parameter.name,
             " has where it does not apply, is not one of its values");
  }
}

void check_steps(const Family& family) {
  if (family.steps.count < 1 || family.steps.count > kMaxSteps)
    refuse(family, " has ", family.steps.count, " steps; it takes 1 to ", kMaxSteps);
  std::set<std::string> names;
  for (const Step& step : family.steps) {
    const bool whole = step.name != nullptr && step.source != nullptr && step.variants != nullptr &&
                       step.alignment != nullptr && step.specialize != nullptr && step.launch != nullptr;
    if (!whole) refuse(family, " lacks one of its functions; fill it with make_family, and its steps with make_step");
    if (!names.insert(step.name).second) refuse(family, " has the step \"", step.name, "\" twice");
    if (std::string_view(step.name).find_first_of(".,= ") != std::string_view::npos)
      refuse(family, " has the step \"", step.name, "\"; a name has no blank, dot, comma or equals sign");
    check_parameters(family, step);
  }
}

void check_field(const Family& family, const Field& field) {
  if (field.name == nullptr || *field.name == '\0') refuse(family, " has a field without a name");
  if (field.kind == FieldKind::choice && field.choices == nullptr)
    refuse(family, ": the field ", field.name, " has no choices");
  const bool sized = field.kind == FieldKind::list || field.kind == FieldKind::text;
  if (sized && field.capacity < 1) refuse(family, ": the field ", field.name, " has no capacity");
  if (field.offset + bytes_of(field) > family.problem_bytes)
    refuse(family, ": the field ", field.name, " lies beyond the problem's ", family.problem_bytes, " bytes");
}

// Each field lies within the problem, and none overlaps another.
void check_fields(const Family& family) {
  if (family.fields.count > kMaxFields)
    refuse(family, " has ", family.fields.count, " fields; at most ", kMaxFields, " are possible");
  std::set<std::string> names;
  std::map<std::size_t, const Field*> by_offset;
  for (const Field& field : family.fields) {
    check_field(family, field);
    if (!by_offset.emplace(field.offset, &field).second || !names.insert(field.name).second)
      refuse(family, " has the field ", field.name, " twice");
  }
  std::size_t end = 0;
  for (const auto& [offset, field] : by_offset) {
    if (offset < end) refuse(family, ": the field ", field->name, " overlaps the one before it");
    end = offset + bytes_of(*field);
  }
}

void check_operand(const Family& family, const Operand& operand) {
  if (operand.name == nullptr || operand.layout_of_entry == nullptr)
    refuse(family, " has an operand without a name or a layout");
  if (operand.offset + sizeof(In) > family.args_bytes)
    refuse(family, ": the operand ", operand.name, " lies beyond the arguments' ", family.args_bytes, " bytes");
  if (operand.role == Role::workspace && operand.count != nullptr)
    refuse(family, ": the workspace ", operand.name, " must not be a list");
}

void check_arguments(const Family& family) {
  if (family.operands.count > kMaxOperands)
    refuse(family, " has ", family.operands.count, " operands; at most ", kMaxOperands, " are possible");
  for (const Operand& operand : family.operands) check_operand(family, operand);
  const auto is_workspace = [](const Operand& operand) { return operand.role == Role::workspace; };
  if (std::count_if(family.operands.begin(), family.operands.end(), is_workspace) > 1)
    refuse(family, " has two workspaces; at most one is possible");
  for (const Scalar& scalar : family.scalars) {
    if (scalar.dtype != f32 && scalar.dtype != f64 && scalar.dtype != i64)
      refuse(family, ": the number ", scalar.name, " is ", name(scalar.dtype), "; it may be f32, f64 or i64");
    if (scalar.offset + static_cast<std::size_t>(bytes(scalar.dtype)) > family.args_bytes)
      refuse(family, ": the number ", scalar.name, " lies beyond the arguments' ", family.args_bytes, " bytes");
  }
  for (const LaunchExtent& extent : family.launch_extents) {
    if (extent.offset + sizeof(std::int64_t) > family.args_bytes)
      refuse(family, ": the launch's ", extent.field, " lies beyond the arguments' ", family.args_bytes, " bytes");
    const Field* const field = find_field(family, extent.field);
    if (field == nullptr || field->kind != FieldKind::extent)
      refuse(family, " lets a launch give \"", extent.field, "\", which is not one of its extents");
    const auto is_same = [&](const LaunchExtent& other) { return find_field(family, other.field) == field; };
    if (std::count_if(family.launch_extents.begin(), family.launch_extents.end(), is_same) > 1)
      refuse(family, " lets a launch give \"", extent.field, "\" twice");
  }
}

}  // namespace

void check_family(const Family& family) {
  if (family.name == nullptr || *family.name == '\0') refuse(family, " needs one");
  check_functions(family);
  if (family.problem_bytes > kMaxProblemBytes)
    refuse(family, " has a problem of ", family.problem_bytes, " bytes; at most ", kMaxProblemBytes, " are possible");
  check_steps(family);
  check_fields(family);
  check_arguments(family);
}

}  // namespace quern
