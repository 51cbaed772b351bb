#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "output.h"
#include "quern/version.h"

namespace quern::tool {
namespace {

constexpr const char* kAbout = "Turns a described problem into a running GPU kernel.";
constexpr const char* kExamples = R"(Examples:
  quern doctor
  quern run gather width=4096 rows=8192 count=8192 dtype=bf16 --verify
  quern run gather width=4096 --in source=x.npy --in index=i.npy --out out=y.npy
  quern inspect pointwise activation=gelu --ptx
  quern prewarm gather width=4096 --arch sm_90a,sm_100a
  quern bench gather

Every command takes --log LEVEL, --cache-dir DIR and --nvrtc PATH.
Exit codes: 0 done, 1 failed, 2 wrong input, 3 some items failed, 4 no compiler, 5 no device.)";

struct Entry {
  CLI::App* app;
  std::unique_ptr<Command> command;
};

std::vector<Entry> declare(CLI::App& app) {
  std::vector<CommandRow> rows = commands();
  std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return std::string_view(a.name) < b.name; });
  std::vector<Entry> entries;
  for (const CommandRow& row : rows) {
    CLI::App* sub = app.add_subcommand(row.name, row.sentence);
    sub->fallthrough();
    entries.push_back({sub, row.make()});
    Arguments arguments(*sub);
    entries.back().command->declare(arguments);
  }
  return entries;
}

void declare_global(CLI::App& app, Global& global) {
  app.set_version_flag("--version", "quern " QUERN_VERSION);
  app.add_option("--log", global.log, "Log level: debug, info, warning, error or off")->type_name("LEVEL");
  app.add_option("--cache-dir", global.cache_dir, "Where images are kept")->type_name("DIR");
  app.add_option("--nvrtc", global.nvrtc, "The NVRTC to compile with")->type_name("PATH");
  app.footer(kExamples);
  app.allow_extras();
  app.require_subcommand(0, 1);  // a second name, as in `quern cache list`, is the command's own word
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> given_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && !option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
  }
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string close = closest(word, names);
  return close.empty() ? "" : cat(" Did you mean ", close, "?");
}

[[noreturn]] void refuse_word(const CLI::App& app, const Entry* chosen, const std::string& word) {
  if (chosen != nullptr) {
    std::vector<std::string> names = option_names(*chosen->app);
    for (std::string& name : option_names(app)) names.push_back(std::move(name));
    throw wrong(cat("quern ", chosen->app->get_name(), " does not take ", word, ".", did_you_mean(word, names),
                    " See `quern ", chosen->app->get_name(), " --help`"));
  }
  std::vector<std::string> names;
  for (const CommandRow& row : commands()) names.emplace_back(row.name);
  std::sort(names.begin(), names.end());
  throw wrong(
      cat("there is no command \"", word, "\".", did_you_mean(word, names), " Commands are: ", join(names, ", ")));
}

std::string typed(int argc, char** argv) {
  std::string text = "quern";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    text += word.find(' ') == std::string::npos ? " " + word : " \"" + word + "\"";
  }
  return text;
}

const Entry* chosen_of(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (entry.app->parsed()) return &entry;
  }
  return nullptr;
}

// Help and version end here with 0, what cannot be read with 2.
int parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text;
    app.exit(error, text, text);
    print(text.str());
    return kDone;
  }
  note(cat("quern: ", error.what(), "; see `quern --help`"));
  return kWrongInput;
}

}  // namespace

void Arguments::flag(const char* name, bool& value, const char* sentence) { app_.add_flag(name, value, sentence); }

void Arguments::option(const char* name, std::string& value, const char* sentence) {
  app_.add_option(name, value, sentence)->type_name("");
}

void Arguments::option(const char* name, int& value, const char* sentence) {
  app_.add_option(name, value, sentence)->type_name("N");
}

void Arguments::option(const char* name, std::vector<std::string>& values, const char* sentence) {
  app_.add_option(name, values, sentence)->type_name("")->allow_extra_args(false);
}

void Arguments::words(const char* name, std::vector<std::string>& values, const char* sentence) {
  app_.add_option(name, values, sentence)->type_name("");
}

int run_command_line(int argc, char** argv) {
  Global global;
  CLI::App app(kAbout, "quern");
  declare_global(app, global);
  const std::vector<Entry> entries = declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error);
  }
  global.typed = typed(argc, argv);
  const Entry* chosen = chosen_of(entries);
  if (const auto extras = app.remaining(); !extras.empty()) refuse_word(app, chosen, extras.front());
  if (chosen == nullptr) {
    note(app.help());
    return kWrongInput;
  }
  global.options = given_options(*chosen->app);
  return chosen->command->run(global);
}

}  // namespace quern::tool
