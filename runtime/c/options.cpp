#include "base/environment.h"
#include "base/log.h"
#include "base/text.h"
#include "c/error.h"
#include "c/runtime.h"

namespace quern::c {
namespace {

constexpr auto kCount = static_cast<std::size_t>(Variable::count);

// Only quern's own: PATH and HOME are not options.
Variable variable_named(const quern_option& option) {
  require(option.name, "the name of an option");
  require(option.value, option.name);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kCount; ++i) {
    const char* const known = row(static_cast<Variable>(i)).name;
    if (std::string_view(known) == option.name) return static_cast<Variable>(i);
    if (std::string_view(known).starts_with("QUERN_")) names.emplace_back(known);
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("unknown option ", option.name, "; the options are ", join(names, ", ")));
}

// Of an option; of the environment, where a typing error costs a warning.
bool parse_on_host(const std::string& device) {
  if (device.empty() || device == "cuda") return false;
  if (device == "host" || device == "cpu") return true;
  throw Error(Code::bad_input, Stage::problem, cat("invalid value QUERN_DEVICE=", device, "; expected cuda or host"));
}

LogSink sink_of(const quern_options& given) {
  if (given.log == nullptr) return {};
  return [log = given.log, context = given.log_context](LogLevel level, std::string_view line) {
    log(context, static_cast<quern_log_level>(level), std::string(line).c_str());
  };
}

}  // namespace

Options read_options(const quern_options* given, bool* on_host) {
  Environment own;
  Environment environment = Environment::read();
  for (std::size_t i = 0; given != nullptr && i < given->count; ++i) {
    const Variable variable = variable_named(given->options[i]);
    own[variable] = environment[variable] = given->options[i].value;
  }
  std::vector<std::string> refused, misread;
  resolve({}, own, &refused);
  if (!refused.empty()) throw Error(Code::bad_input, Stage::problem, refused.front());
  *on_host = parse_on_host(own[Variable::device]);
  if (own[Variable::device].empty()) {
    try {
      *on_host = parse_on_host(environment[Variable::device]);
    } catch (const Error& error) {
      misread.push_back(cat(error.sentence, "; the default is used"));
    }
  }
  Options options;
  if (given != nullptr) options.log.sink = sink_of(*given);
  options = resolve(std::move(options), environment, &misread);
  const Log log(*options.log.level, options.log.sink);
  for (const std::string& sentence : misread) log.warning(sentence);
  return options;
}

}  // namespace quern::c
