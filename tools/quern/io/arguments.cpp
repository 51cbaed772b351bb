#include "io/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/text.h"
#include "io/help.h"
#include "io/output.h"
#include "io/variable_names.h"
#include "quern/version.h"

namespace quern::tool {
namespace {

constexpr const char* kWords = "WORDS";

struct CommandLine {
  Arguments root{"quern", "Turns a described problem into a running GPU kernel"};
  std::map<std::string, std::unique_ptr<Command>> commands;
  Global global;
  bool help = false;
  bool version = false;
};

void declare(CommandLine& line) {
  line.root.flag("--help", line.help, "Show this help; also -h");
  line.root.flag("--version", line.version, "Show the version");
  line.root.option("--log LEVEL", line.global.log, "Log level: debug, info, warning (default), error or off");
  line.root.option("--cache-dir DIR", line.global.cache_dir, "Directory of the image cache; default QUERN_CACHE_DIR");
  line.root.option("--nvrtc FILE", line.global.nvrtc, "The NVRTC to compile with; default: search, see `quern doctor`");
  line.root.note("`quern help COMMAND` shows the arguments of a command, with examples.");
  line.root.example("quern doctor", "Shows what was found on this machine, and what is wrong");
  line.root.example("quern run gather width=4096 rows=8192 count=8192 --verify", "Compile a kernel, run it, check it");
  line.root.example("quern prewarm gather width=4096 --arch sm_90a,sm_100a", "Compile ahead of time, without a GPU");
  std::vector<CommandRow> rows = commands();
  std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return std::string_view(a.name) < b.name; });
  for (const CommandRow& row : rows) {
    std::unique_ptr<Command>& command = line.commands[row.name] = row.make();
    command->declare(line.root.action(row.name, row.sentence));
  }
}

// ---- The parser's side: a CLI11 app for each Arguments; words and options are read as text.

// Its own options, and those of a command's actions, which may be typed before the action.
std::vector<const OptionRow*> options_at(const Arguments& arguments, bool is_root) {
  std::map<std::string_view, const OptionRow*> rows;
  for (const Arguments& action : arguments.actions()) {
    for (const OptionRow& row : action.options()) {
      if (!is_root) rows.emplace(row.name, &row);
    }
  }
  for (const OptionRow& row : arguments.options()) rows[row.name] = &row;
  std::vector<const OptionRow*> all;
  for (const auto& [name, row] : rows) all.push_back(row);
  return all;
}

void add_to(CLI::App& app, const Arguments& arguments, bool is_root = false) {
  app.set_help_flag();
  app.fallthrough();
  for (const OptionRow* row : options_at(arguments, is_root)) {
    if (row->placeholder.empty()) {
      app.add_flag(row->name == "--help" ? "-h,--help" : row->name)->disable_flag_override();
    } else {
      app.add_option(row->name)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
  if (!arguments.words_form().empty())
    app.add_option(kWords)->expected(-1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  for (const Arguments& action : arguments.actions()) add_to(*app.add_subcommand(action.name()), action);
  app.require_subcommand(0, 1);  // later ones, as in `quern run list`, are words
}

// The path of the call: quern, a command, an action.
struct Level {
  const CLI::App* app;
  const Arguments* arguments;
};
using Levels = std::vector<Level>;

Levels levels_of(const CLI::App& app, const Arguments& root) {
  Levels levels = {{&app, &root}};
  for (;;) {
    const std::vector<CLI::App*> parsed = levels.back().app->get_subcommands();
    if (parsed.empty()) return levels;
    levels.push_back({parsed.front(), levels.back().arguments->find_action(parsed.front()->get_name())});
  }
}

HelpPath path_of(const Levels& levels) {
  HelpPath path;
  for (const Level& level : levels) path.push_back(level.arguments);
  return path;
}

std::vector<std::string> words_of(const Level& level) {
  if (level.arguments->words_form().empty()) return {};
  return level.app->get_option(kWords)->results();
}

// ---- Wrong arguments

std::vector<std::string> option_names(const Levels& levels) {
  std::vector<std::string> names;
  for (const Arguments* arguments : {levels.back().arguments, levels.front().arguments}) {
    for (const OptionRow& row : arguments->options()) names.push_back(row.name);
  }
  return names;
}

std::vector<std::string> action_names(const Arguments& arguments) {
  std::vector<std::string> names;
  for (const Arguments& action : arguments.actions()) names.push_back(action.name());
  return names;
}

// "-v" for "--version": the first option that begins so.
std::string meant_by_letter(std::string_view word, const std::vector<std::string>& names) {
  if (word.size() != 2) return "";
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& name) { return name[2] == word[1]; });
  return found == names.end() ? "" : cat(" Did you mean ", *found, "?");
}

// Commands and actions of the same command that take the option.
std::vector<std::string> takers(const Levels& levels, std::string_view option) {
  std::vector<std::string> takers;
  if (levels.size() < 2) return takers;
  const Arguments& command = *levels[1].arguments;
  if (command.find_option(option) != nullptr) takers.push_back(cat("quern ", command.name()));
  for (const Arguments& action : command.actions()) {
    if (action.find_option(option) != nullptr) takers.push_back(cat("quern ", command.name(), " ", action.name()));
  }
  return takers;
}

// Removed options, and their replacements.
struct ReplacedOption {
  const char* name;
  const char* instead;
};
constexpr ReplacedOption kReplacedOptions[] = {
    {"--sweep", "`quern tune FAMILY FIELD=VALUE... --strategy exhaustive` checks and times every config"},
    {"--record-space", "use `quern tune --save-space`"},
};

[[noreturn]] void refuse_option(const Levels& levels, const std::string& word) {
  const std::string path = path_text(path_of(levels));
  const std::string option = word.substr(0, word.find('='));
  for (const ReplacedOption& replaced : kReplacedOptions) {
    if (option == replaced.name) throw wrong(cat(path, " does not take ", option, ": ", replaced.instead));
  }
  if (const auto others = takers(levels, option); !others.empty())
    throw wrong(cat(option, " belongs to ", join(others, ", "), ", not to ", path));
  const std::vector<std::string> names = option_names(levels);
  throw wrong(cat(path, " does not take ", word, ".", did_you_mean(option, names), meant_by_letter(word, names),
                  " See `", path, " --help`"));
}

[[noreturn]] void refuse_word(const Levels& levels, const std::string& word) {
  if (word.front() == '-') refuse_option(levels, word);
  const Arguments& last = *levels.back().arguments;
  const std::vector<std::string> names = action_names(last);
  const std::string path = path_text(path_of(levels));
  if (levels.size() == 1)
    throw wrong(
        cat("unknown command \"", word, "\".", did_you_mean(word, names), " Commands are: ", join(names, ", ")));
  if (names.empty()) throw wrong(cat(path, " does not take \"", word, "\"; see `", path, " --help`"));
  throw wrong(cat(path, " takes ", join(names, ", "), ", not \"", word, "\".", did_you_mean(word, names)));
}

[[noreturn]] void refuse_value(const OptionRow& row) {
  if (row.placeholder.empty()) throw wrong(cat(row.name, " does not take a value"));
  throw wrong(cat(row.name, " takes a value, ", row.name, " ", row.placeholder, ": ", row.sentence));
}

// CLI11 puts the option first, and a flag without its dashes.
[[noreturn]] void refuse_syntax(const Levels& levels, const CLI::ParseError& error) {
  const std::string said = error.what();
  const std::string first = said.substr(0, said.find_first_of(": "));
  const std::string option = cat(first.front() == '-' ? "" : "--", first);
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const OptionRow* const row = level->arguments->find_option(option);
    if (row == nullptr) continue;
    refuse_value(*row);
  }
  throw wrong(cat(said, "; see `", path_text(path_of(levels)), " --help`"));
}

// ---- Correct arguments

void give_option(const Levels& levels, const Level& level, const OptionRow& typed, Global& global) {
  const CLI::Option& option = *level.app->get_option(typed.name);
  if (option.count() == 0) return;
  // An option before the action belongs to the action.
  const OptionRow* const row =
      level.arguments == levels.front().arguments ? &typed : levels.back().arguments->find_option(typed.name);
  if (row == nullptr) refuse_option(levels, typed.name);
  if (!row->many && option.count() > 1 && !row->placeholder.empty())
    throw wrong(cat(row->name, " is given twice; give it once"));
  for (const std::string& text : option.results()) {
    if (text.rfind("--", 0) == 0) refuse_value(*row);  // the next option
    row->give(text);
  }
  if (&level != &levels.front()) global.options.push_back(row->name);
}

void give_options(const Levels& levels, Global& global) {
  for (const Level& level : levels) {
    for (const OptionRow* row : options_at(*level.arguments, &level == &levels.front()))
      give_option(levels, level, *row, global);
  }
}

void give_words(const Levels& levels) {
  const Level& last = levels.back();
  const std::string path = path_text(path_of(levels));
  for (const Level& level : levels) {
    if (const auto words = words_of(level); &level != &last && !words.empty())
      throw wrong(cat("\"", words.front(), "\" is in front of ", last.arguments->name(), "; type ", path, " ",
                      last.arguments->words_form()));
  }
  if (last.arguments->words_form().empty() && !last.arguments->actions().empty())
    throw wrong(cat(path, " takes ", join(action_names(*last.arguments), ", "), "; see `", path, " --help`"));
  last.arguments->give_words(path, words_of(last));
}

std::string typed(int argc, char** argv) {
  std::string text = "quern";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    text += word.find(' ') == std::string::npos ? " " + word : " \"" + word + "\"";
  }
  return text;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CommandLine line;
  declare(line);
  CLI::App app;
  add_to(app, line.root, true);
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    refuse_syntax(levels_of(app, line.root), error);
  }
  const Levels levels = levels_of(app, line.root);
  const bool wants_help = app.get_option("--help")->count() > 0;
  if (const auto extras = app.remaining(); !extras.empty() && (!wants_help || levels.size() == 1))
    refuse_word(levels, extras.front());
  if (wants_help) return print(help_text(path_of(levels), help_width())), kDone;
  if (app.get_option("--version")->count() > 0) return print_line("quern " QUERN_VERSION), kDone;
  if (levels.size() == 1) return note(help_text(path_of(levels), help_width())), kWrongInput;
  line.global.typed = typed(argc, argv);
  line.global.root = &line.root;
  if (levels.size() > 2) line.global.action = levels.back().arguments->name();
  give_options(levels, line.global);
  give_words(levels);
  Command& command = *line.commands.at(levels[1].arguments->name());
  if (const auto mistyped = mistyped_variables(environment_names()); !mistyped.empty() && !command.names_variables())
    note(cat("quern: ", join(mistyped, " ")));
  return command.run(line.global);
}

}  // namespace quern::tool
