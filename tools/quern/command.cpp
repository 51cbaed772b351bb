#include "command.h"

#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/text.h"
#include "output.h"

namespace quern::tool {
namespace {

constexpr std::array<std::pair<const char*, LogLevel>, 5> kLevels = {{{"debug", LogLevel::debug},
                                                                      {"info", LogLevel::info},
                                                                      {"warning", LogLevel::warning},
                                                                      {"error", LogLevel::error},
                                                                      {"off", LogLevel::off}}};

LogLevel parse_level(const std::string& text) {
  return std::find_if(kLevels.begin(), kLevels.end(), [&](const auto& row) { return text == row.first; })->second;
}

}  // namespace

int exit_code(Code code) {
  switch (code) {
    case Code::bad_input:
      return kWrongInput;
    case Code::no_compiler:
      return kNoCompiler;
    case Code::no_driver:
    case Code::no_device:
      return kNoDevice;
    default:
      return kFailed;
  }
}

Options runtime_options(const Global& global) {
  Options options;
  options.cache_dir = global.cache_dir;
  options.nvrtc = global.nvrtc;
  // What an application is told is not meant for a command: nothing is swapped in the middle of a benchmark.
  const std::string tuning = Environment::read()[Variable::tune];
  if (tuning == "on-prepare" || tuning == "background") options.tuning = Tuning::lookup;
  if (!global.log.empty()) options.log_level = parse_level(global.log);
  return options;
}

std::vector<std::string> log_levels() {
  std::vector<std::string> names;
  for (const auto& [name, level] : kLevels) names.emplace_back(name);
  return names;
}

std::vector<CommandRow>& commands() {
  static std::vector<CommandRow> rows;
  return rows;
}

Error wrong(std::string sentence) { return {Code::bad_input, Stage::tool, std::move(sentence)}; }

void print_error(const Error& error) {
  note(cat("quern: ", error.sentence, error.problem.empty() ? "" : cat(" [", error.problem, "]")));
  if (!error.log.empty()) note(error.log);
}

}  // namespace quern::tool
