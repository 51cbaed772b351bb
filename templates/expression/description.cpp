// quern/program.h: programs as text, for applications.
#include "base/border.h"
#include "base/text.h"
#include "expression/gradient.h"
#include "expression/print.h"
#include "quern/error.h"
#include "quern/program.h"

namespace quern {
namespace {

using expression::Parsed;

Parsed checked(Parsed parsed, const char* what) {
  if (!parsed) throw Error(Code::bad_input, Stage::problem, cat(what, parsed.error.text()));
  return parsed;
}

Parsed parsed(std::string_view text) { return checked(expression::parse(text), "the program does not parse: "); }

template <class Entry>
ProgramOperand described(const Entry& entry) {
  return {entry.name, entry.dtype, name(entry.kind)};
}

ProgramInfo described(const Parsed& parsed) {
  ProgramInfo made;
  made.text = expression::print(parsed.program);
  for (const expression::Operand& input : parsed.program.inputs) made.inputs.push_back(described(input));
  for (const expression::Output& output : parsed.program.outputs) made.outputs.push_back(described(output));
  return made;
}

}  // namespace

ProgramInfo read_program(std::string_view text) {
  return with_errors(Stage::problem, [&] { return described(parsed(text)); });
}

ProgramInfo gradient(std::string_view program, const std::vector<std::string>& names) {
  return with_errors(Stage::problem, [&] {
    return described(checked(expression::gradient(parsed(program).program, names), "the program has no gradient: "));
  });
}

}  // namespace quern
