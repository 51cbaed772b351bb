#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "c/error.h"
#include "c/runtime.h"
#include "plan/problem.h"
#include "tensors/infer.h"

using quern::Code;
using quern::Error;
using quern::Stage;
using quern::c::guarded;
using quern::c::require;

namespace quern::c {

AnyProblem read_problem(const Runtime& runtime, const quern_problem& problem) {
  if (problem.text != nullptr) return runtime.parse(problem.text);
  require(problem.family, "both the text and the family of the problem");
  require(problem.values, "the struct of the problem");
  const Family& family = runtime.family(problem.family);
  if (problem.bytes == family.problem_bytes) return AnyProblem(family, problem.values);
  throw Error(Code::bad_input, Stage::problem,
              cat("a struct of ", problem.bytes, " bytes was given for ", family.name, ", which has ",
                  family.problem_bytes, ": this program was compiled with another version's quern/c_families.h"));
}

}  // namespace quern::c

namespace {

// As snprintf does.
void write_text(const std::string& written, char* text, size_t bytes, size_t* length) {
  if (length != nullptr) *length = written.size();
  if (text == nullptr || bytes == 0) return;
  const size_t count = std::min(bytes - 1, written.size());
  std::memcpy(text, written.data(), count);
  text[count] = 0;
}

// The names of the fields that a problem's text sets.
std::vector<std::string> fields_in(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string& word : quern::split_words(text)) {
    if (const std::size_t equals = word.find('='); equals != std::string::npos) names.push_back(word.substr(0, equals));
  }
  return names;
}

}  // namespace

extern "C" {

quern_code quern_problem_text(quern_runtime* runtime, quern_problem problem, char* text, size_t bytes, size_t* length,
                              quern_error** error) {
  return guarded(Stage::problem, error, [&] {
    require(runtime, "runtime");
    const quern::AnyProblem read = quern::c::read_problem(runtime->runtime, problem);
    quern::check_problem(read.family(), read.data());
    write_text(read.text(), text, bytes, length);
  });
}

quern_code quern_problem_values(quern_runtime* runtime, quern_problem problem, void* values, size_t bytes,
                                quern_error** error) {
  return guarded(Stage::problem, error, [&] {
    require(runtime, "runtime");
    require(values, "values");
    const quern::AnyProblem read = quern::c::read_problem(runtime->runtime, problem);
    quern::c::read_problem(runtime->runtime, {nullptr, read.family().name, values, bytes});  // checks `bytes`
    quern::check_problem(read.family(), read.data());
    std::memcpy(values, read.data(), bytes);
  });
}

quern_code quern_problem_of(quern_runtime* runtime, const char* settings, const char* const* names,
                            const quern_tensor* const* tensors, size_t count, char* text, size_t bytes, size_t* length,
                            quern_error** error) {
  return guarded(Stage::problem, error, [&] {
    require(runtime, "runtime");
    require(settings, "settings");
    if (count > 0) require(names, "names");
    if (count > 0) require(tensors, "tensors");
    std::vector<quern::NamedTensor> named;
    for (size_t i = 0; i < count; ++i) {
      require(names[i], "the name of a tensor");
      require(tensors[i], names[i]);
      named.push_back({names[i], tensors[i]});
    }
    const quern::AnyProblem problem = quern::infer(runtime->runtime.parse(settings), fields_in(settings), named);
    write_text(problem.text(), text, bytes, length);
  });
}

quern_code quern_prewarm(quern_runtime* runtime, quern_problem problem, const char* arch, const char* device_model,
                         const char* config, size_t* images, quern_error** error) {
  return guarded(Stage::compile, error, [&] {
    require(runtime, "runtime");
    require(arch, "arch");
    const quern::AnyProblem read = quern::c::read_problem(runtime->runtime, problem);
    const quern::Prewarmed made = runtime->runtime.prewarm(
        read.family(), read.data(), arch, device_model == nullptr ? "" : device_model, config == nullptr ? "" : config);
    if (images != nullptr) *images = made.images.size();
  });
}

quern_code quern_forget(quern_runtime* runtime, quern_problem problem, quern_error** error) {
  return guarded(Stage::problem, error, [&] {
    require(runtime, "runtime");
    const quern::AnyProblem read = quern::c::read_problem(runtime->runtime, problem);
    runtime->runtime.forget_any(read.family(), read.data());
  });
}

}  // extern "C"
