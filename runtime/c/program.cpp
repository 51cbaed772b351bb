#include "quern/program.h"

#include <memory>

#include "c/error.h"

namespace quern::c {
namespace {

// The struct that the caller sees, and what it points at.
struct OwnedProgram : quern_program {
  explicit OwnedProgram(ProgramInfo read)
      : quern_program{},
        program(std::move(read)),
        input_rows(rows(program.inputs)),
        output_rows(rows(program.outputs)) {
    text = program.text.c_str();
    inputs = input_rows.data();
    input_count = input_rows.size();
    outputs = output_rows.data();
    output_count = output_rows.size();
  }

  static std::vector<quern_program_operand> rows(const std::vector<ProgramOperand>& operands) {
    std::vector<quern_program_operand> made;
    for (const ProgramOperand& operand : operands)
      made.push_back({operand.name.c_str(), name(operand.dtype), operand.kind.c_str()});
    return made;
  }

  const ProgramInfo program;
  const std::vector<quern_program_operand> input_rows;
  const std::vector<quern_program_operand> output_rows;
};

void give(ProgramInfo made, quern_program** program) {
  *program = std::make_unique<OwnedProgram>(std::move(made)).release();
}

}  // namespace
}  // namespace quern::c

using quern::Stage;
using quern::c::guarded;
using quern::c::require;

extern "C" {

quern_code quern_program_read(const char* text, quern_program** program, quern_error** error) {
  return guarded(Stage::problem, error, [&] {
    require(text, "text");
    require(program, "program");
    quern::c::give(quern::read_program(text), program);
  });
}

quern_code quern_program_gradient(const char* text, const char* const* names, size_t count, quern_program** gradient,
                                  quern_error** error) {
  return guarded(Stage::problem, error, [&] {
    require(text, "text");
    require(gradient, "gradient");
    if (count > 0) require(names, "names");
    std::vector<std::string> wanted;
    for (size_t i = 0; i < count; ++i) {
      require(names[i], "an entry of names");
      wanted.emplace_back(names[i]);
    }
    quern::c::give(quern::gradient(text, wanted), gradient);
  });
}

void quern_program_free(quern_program* program) {
  const std::unique_ptr<quern::c::OwnedProgram> owned(static_cast<quern::c::OwnedProgram*>(program));
}

}  // extern "C"
