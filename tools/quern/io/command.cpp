#include "io/command.h"

#include <algorithm>
#include <array>

#include "api/runtime_state.h"
#include "base/environment.h"
#include "base/text.h"
#include "io/output.h"

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
  options.cache.directory = global.cache_dir;
  options.compiler.nvrtc = global.nvrtc;
  // Tuning modes for applications do not apply to commands: a plan must not change in the middle of a benchmark.
  const std::string tuning = Environment::read()[Variable::tune];
  if (tuning == "on-prepare" || tuning == "background") options.tuning.mode = Tuning::lookup;
  if (!global.log.empty()) options.log.level = parse_level(global.log);
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

Error store_error(const Global& global, const std::string& why) {
  if (global.cache_dir.empty()) return {Code::io, Stage::store, why};
  return wrong(cat("--cache-dir: ", why));
}

void require_store(Runtime& runtime, const Global& global, std::string_view advice) {
  if (*runtime.state().options.cache.mode != CacheMode::read_write)
    throw Error(Code::io, Stage::store, cat("the cache is read-only or off (QUERN_CACHE). ", advice));
  const std::string why = runtime.state().store.unusable();
  if (!why.empty()) throw store_error(global, cat(why, ". ", advice));
}

namespace {

Value text_or_nothing(const std::string& text) { return text.empty() ? Value() : Value(text); }

Row error_row(const Error& error) {
  std::string code = name(error.code);
  std::replace(code.begin(), code.end(), ' ', '_');
  Row row;
  row.add("code", code).add("exit_code", exit_code(error.code)).add("sentence", error.sentence);
  row.add("problem", text_or_nothing(error.problem)).add("key", text_or_nothing(error.key));
  return row.add("remembered", error.remembered).add("log", text_or_nothing(error.log));
}

}  // namespace

void report_error(const Error& error, bool json) {
  if (json) print_json("quern.error/1", error_row(error));
  note(cat(
      "quern: ", error.sentence, error.problem.empty() ? "" : cat(" [", error.problem, "]"),
      error.remembered ? " (remembered of an earlier compile; `quern prewarm` of this problem tries it again)" : ""));
  if (!error.log.empty()) note(error.log);
}

}  // namespace quern::tool
