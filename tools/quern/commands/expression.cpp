// quern expression PROGRAM: what a program takes and makes, or its gradient.
#include "base/text.h"
#include "io/arguments.h"
#include "io/output.h"
#include "quern/program.h"

namespace quern::tool {
namespace {

class Expression : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("PROGRAM", words_, "A text in the language of docs/expressions.md");
    arguments.option("--gradient NAMES", names_, "The program of the gradients of these inputs instead, as in x,bias");
    arguments.flag("--json", json_, "Print one JSON object");
    arguments.example("quern expression 'bias: row; out = relu(x + bias)'", "Its canonical text, inputs and outputs");
    arguments.example("quern expression 'out = gelu(x) * y' --gradient x,y",
                      "The program that makes d_x and d_y from d_out");
  }

  int run(const Global&) override {
    const std::string& text = words_.front();
    const ProgramInfo program = names_.empty() ? read_program(text) : gradient(text, names());
    if (json_) {
      print_json("quern.expression/1", Row()
                                           .add("program", program.text)
                                           .add("inputs", rows_of(program.inputs, "input"))
                                           .add("outputs", rows_of(program.outputs, "output")));
      return kDone;
    }
    print_line(program.text);
    for_people("Inputs, in the order of a launch", rows_of(program.inputs, "input"));
    for_people("Outputs", rows_of(program.outputs, "output"));
    return kDone;
  }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> words;
    for (const std::string_view word : split(names_, ',')) words.emplace_back(trim(word));
    return words;
  }

  static Value::Rows rows_of(const std::vector<ProgramOperand>& operands, const char* title) {
    Value::Rows rows;
    for (const ProgramOperand& operand : operands) {
      const DType dtype = operand.kind == "number" ? f32 : operand.dtype;
      rows.push_back(Row().add(title, operand.name).add("kind", operand.kind).add("dtype", name(dtype)));
    }
    return rows;
  }

  static void for_people(const char* title, const Value::Rows& rows) {
    if (rows.empty()) return;
    print_line(cat("\n", title, ":"));
    print_table(rows);
  }

  std::vector<std::string> words_;
  std::string names_;
  bool json_ = false;
};

const Registration<Expression> register_expression("expression",
                                                   "What a program of formulas takes and makes; its gradient");

}  // namespace
}  // namespace quern::tool
