#include "expression/emit.h"
#include "expression/evaluate.h"
#include "expression/gradient.h"
#include "expression/print.h"
#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

using expression::Parsed;
using expression::Program;

void check_error(std::string_view text, const expression::Diagnostic& error) {
  require(!error.message.empty() && error.line >= 1 && error.column >= 1, "an error has words and a place");
  require(static_cast<std::size_t>(error.caret) <= error.part.size() && error.part.size() <= 101,
          "the caret is under the part, which is short");
  require(static_cast<std::size_t>(error.line) <= text.size() + 1, "the line is one of the text");
  for (const char c : error.part) require(c >= ' ' && c <= '~', "what is shown can be printed");
}

void check_program(const Program& read) {
  const std::string canonical = expression::print(read);
  const Parsed again = expression::parse(canonical);
  require(static_cast<bool>(again), "a canonical text is read");
  require(again.program == read, "a canonical text is the same program");
  require(expression::print(again.program) == canonical, "a canonical text is its own");
  require(expression::too_large(read).empty(), "a program keeps the limits");
  require(!expression::emit(read, DType::bf16).empty(), "a program has a kernel's text");
}

void evaluate(const Program& read) {
  const expression::Shape shape = {2, 2};
  std::vector<std::vector<float>> inputs;
  for (const expression::Operand& input : read.inputs)
    inputs.emplace_back(static_cast<std::size_t>(expression::elements(input.kind, shape)), 0.75F);
  require(expression::evaluate<float>(read, shape, inputs).size() == read.outputs.size(), "a program has its outputs");
}

void derive(const Program& read) {
  std::vector<std::string> names;
  for (const expression::Operand& input : read.inputs) names.push_back(input.name);
  const Parsed made = expression::gradient(read, names);
  if (made) return check_program(made.program);
  require(!made.error.message.empty(), "a gradient that is refused has a reason");
}

}  // namespace

void program(std::string_view bytes) {
  const Parsed parsed = expression::parse(bytes);
  if (!parsed) return check_error(bytes, parsed.error);
  check_program(parsed.program);
  evaluate(parsed.program);
  derive(parsed.program);
}

}  // namespace quern::fuzz
