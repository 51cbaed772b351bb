// quern describe FAMILY: fields, operands, numbers, tuning space; with fields given, also the images of that problem.
#include <cstring>

#include "base/text.h"
#include "io/arguments.h"
#include "io/output.h"
#include "io/subject.h"
#include "plan/config.h"
#include "plan/problem.h"
#include "plan/variants.h"

namespace quern::tool {
namespace {

Value::Rows fields_of(const Family& family) {
  Value::Rows rows;
  for (const Field& field : family.fields)
    rows.push_back(Row()
                       .add("field", field.name)
                       .add("kind", kind_name(field))
                       .add("default", field_text(field, family.default_problem))
                       .add("accepted", accepted_text(field))
                       .add("meaning", field.sentence));
  return rows;
}

// The dtype of an operand in this problem. Open extents are closed so that its layout can be computed.
std::string dtype_of(const Operand& operand, const AnyProblem& problem) {
  AnyProblem closed = problem;
  for (const Field* field : open_extents(problem)) set_integer(*field, closed.data(), 1);
  return name(entries_of(operand, closed.data()) == 0 ? DType::none : operand.layout(closed.data()).dtype);
}

Value::Rows operands_of(const AnyProblem& problem) {
  Value::Rows rows;
  for (const Operand& operand : problem.family().operands)
    rows.push_back(Row()
                       .add("operand", cat(operand.name, operand.count == nullptr ? "" : ".N"))
                       .add("role", name(operand.role))
                       .add("shape", operand.shape)
                       .add("dtype", dtype_of(operand, problem))
                       .add("meaning", operand.sentence));
  return rows;
}

template <class T>
T default_argument(const Family& family, std::uint16_t offset) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(family.default_args) + offset, sizeof(value));
  return value;
}

Value default_of(const Family& family, const Scalar& scalar) {
  if (scalar.dtype == i64) return Value(default_argument<std::int64_t>(family, scalar.offset));
  if (scalar.dtype == f64) return Value(default_argument<double>(family, scalar.offset));
  return Value(double{default_argument<float>(family, scalar.offset)});
}

Value::Rows scalars_of(const Family& family) {
  Value::Rows rows;
  for (const Scalar& scalar : family.scalars) {
    rows.push_back(
        Row().add("number", scalar.name).add("default", default_of(family, scalar)).add("meaning", scalar.sentence));
  }
  return rows;
}

// "" where the step is its family's only one.
std::string step_prefix(const Step& step, const char* separator) {
  return cat(step.name, *step.name == '\0' ? "" : separator);
}

Value::Rows parameters_of(const Family& family) {
  Value::Rows rows;
  for (const Step& step : family.steps) {
    for (const Parameter& parameter : step.parameters) {
      std::vector<std::string> values;
      for (const std::int32_t* value = parameter.values; *value != kNoMore; ++value) values.push_back(cat(*value));
      rows.push_back(Row()
                         .add("parameter", cat(step_prefix(step, "."), parameter.name))
                         .add("values", join(values, ", "))
                         .add("compiled", parameter.compiled)
                         .add("meaning", parameter.sentence));
    }
  }
  return rows;
}

Value::Rows variants_of(const AnyProblem& problem, const Place& place) {
  Value::Rows rows;
  const Family& family = problem.family();
  for (const Step* step : steps_of(family, problem.data())) {
    for (const Variant& variant : variants_of(family, *step, problem.data(), place.target, place.model, {}))
      rows.push_back(
          Row()
              .add("variant", cat(step_prefix(*step, ", "), variant.name))
              .add("alignment", static_cast<int>(largest_alignment(family, *step, problem.data(), variant.config)))
              .add("config", config_option(*step, problem.data(), variant.config)));
  }
  return rows;
}

class Describe : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("FAMILY [FIELD=VALUE...]", words_, "The family, and optionally a problem");
    arguments.option("--arch ARCH", arch_, "Architecture of the default configs; default sm_90a");
    arguments.option("--device-model MODEL", model_, "Device model of the default configs, by name");
    arguments.flag("--json", json_, "Print one JSON object");
    arguments.example("quern describe gather", "Fields, operands and tuning space");
    arguments.example("quern describe gather width=4097 --arch sm_100a", "Also the images of this problem on sm_100a");
  }

  int run(const Global& global) override {
    Runtime runtime(runtime_options(global));
    const Subject subject = parse_subject(runtime, words_);
    const Place place = parse_place(runtime, arch_, model_);
    const Family& family = subject.family();
    const std::vector<Part> parts = {
        {"fields", "Fields of the problem", fields_of(family)},
        {"operands", "Operands, the names for --in and --out", operands_of(subject.problem)},
        {"numbers", "Run-time numbers", scalars_of(family)},
        {"parameters", "Tuning space", parameters_of(family)},
        {"variants", cat("Images and default configs on ", place.target.text(), ", ", place.model.name),
         variants_of(subject.problem, place)}};
    if (json_) {
      print_json("quern.describe/1", to_row(subject, parts));
    } else {
      for_people(subject, parts);
    }
    return kDone;
  }

 private:
  struct Part {
    const char* name;
    std::string title;
    Value::Rows rows;
  };

  static Value::Texts constraints(const Family& family) {
    Value::Texts sentences;
    for (const Step& step : family.steps) {
      for (const Constraint& constraint : step.constraints)
        sentences.push_back(cat(step_prefix(step, ": "), constraint.sentence));
    }
    return sentences;
  }
  static Value::Texts cases(const Family& family) { return {family.bench_cases.begin(), family.bench_cases.end()}; }
  static Value::Texts draws(const Family& family) { return {family.draws.begin(), family.draws.end()}; }

  static Row to_row(const Subject& subject, const std::vector<Part>& parts) {
    const Family& family = subject.family();
    Row row;
    row.add("family", family.name).add("sentence", family.sentence).add("problem", subject.problem.text());
    for (const Part& part : parts) row.add(part.name, part.rows);
    return row.add("constraints", constraints(family)).add("bench_cases", cases(family)).add("draws", draws(family));
  }

  static void for_people(const Subject& subject, const std::vector<Part>& parts) {
    print_line(cat(subject.family().name, ": ", subject.family().sentence));
    print_line(cat("Problem: ", subject.problem.text()));
    for (const Part& part : parts) {
      if (part.rows.empty()) continue;
      print_line(cat("\n", part.title, ":"));
      print_table(part.rows);
    }
    print_line("\nConstraints on a config:");
    for (const std::string& sentence : constraints(subject.family())) print_line(cat("- ", sentence));
    print_line("\nBench cases:");
    for (const std::string& text : cases(subject.family())) print_line(cat("- ", text));
    print_line("\nProblems are drawn from (quern bench --draw):");
    for (const std::string& text : draws(subject.family())) print_line(cat("- ", text));
  }

  std::vector<std::string> words_;
  std::string arch_;
  std::string model_;
  bool json_ = false;
};

const Registration<Describe> register_describe("describe", "A family's fields, operands, tuning space and images");

}  // namespace
}  // namespace quern::tool
