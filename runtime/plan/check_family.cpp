#include "plan/check_family.h"

#include <algorithm>
#include <set>
#include <string>

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
  const bool whole = family.check != nullptr && family.variants != nullptr && family.alignment != nullptr &&
                     family.specialize != nullptr && family.launch != nullptr && family.reference != nullptr &&
                     family.tolerance != nullptr && family.bytes != nullptr && family.generate != nullptr;
  if (!whole) refuse(family, " lacks one of its functions; fill it with make_family");
  if (family.sources.count == 0) refuse(family, " has no sources; the first is its template");
  if (family.default_problem == nullptr || family.default_args == nullptr)
    refuse(family, " has no default problem or arguments");
}

// Each field lies in the problem, and none twice.
void check_fields(const Family& family) {
  std::set<std::uint16_t> places;
  std::set<std::string> names;
  for (const Field& field : family.fields) {
    const bool wide = field.kind == FieldKind::extent || field.kind == FieldKind::integer;
    if (field.offset + (wide ? 8U : 1U) > family.problem_bytes)
      refuse(family, ": the field ", field.name, " lies beyond the problem's ", family.problem_bytes, " bytes");
    if (!places.insert(field.offset).second || !names.insert(field.name).second)
      refuse(family, " has the field ", field.name, " twice");
  }
}

void check_arguments(const Family& family) {
  for (const Operand& operand : family.operands) {
    if (operand.offset + sizeof(In) > family.args_bytes)
      refuse(family, ": the operand ", operand.name, " lies beyond the arguments' ", family.args_bytes, " bytes");
  }
  for (const Scalar& scalar : family.scalars) {
    if (scalar.offset + sizeof(float) > family.args_bytes)
      refuse(family, ": the number ", scalar.name, " lies beyond the arguments' ", family.args_bytes, " bytes");
  }
  for (const LaunchExtent& extent : family.launch_extents) {
    if (extent.offset + sizeof(std::int64_t) > family.args_bytes)
      refuse(family, ": the launch's ", extent.field, " lies beyond the arguments' ", family.args_bytes, " bytes");
    if (find_field(family, extent.field) == nullptr)
      refuse(family, " lets a launch give \"", extent.field, "\", which is not one of its fields");
  }
}

}  // namespace

void check_family(const Family& family) {
  if (family.name == nullptr || *family.name == '\0') refuse(family, " needs one");
  check_functions(family);
  if (family.problem_bytes > kMaxProblemBytes)
    refuse(family, " has a problem of ", family.problem_bytes, " bytes; at most ", kMaxProblemBytes, " are possible");
  if (family.parameters.count > kMaxParameters)
    refuse(family, " has ", family.parameters.count, " parameters; at most ", kMaxParameters, " are possible");
  check_fields(family);
  check_arguments(family);
}

}  // namespace quern
