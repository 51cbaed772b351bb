// quern help [COMMAND [ACTION]], and the text of --help.
#include "io/help.h"

#include <algorithm>

#include "base/text.h"
#include "io/layout.h"
#include "io/output.h"

namespace quern::tool {
namespace {

constexpr std::size_t kColumn = 24;  // of the sentences
constexpr std::size_t kWidest = 100;

std::string form_of(const OptionRow& row) {
  return row.placeholder.empty() ? row.name : cat(row.name, " ", row.placeholder);
}

std::string options_part(std::string_view title, const Arguments& arguments, std::size_t width) {
  if (arguments.options().empty()) return "";
  std::string out = cat("\n", title, ":\n");
  for (const OptionRow& row : arguments.options())
    out += labelled(form_of(row), cat(row.sentence, row.many ? "; may be repeated" : ""), kColumn, width);
  return out;
}

std::string actions_part(std::string_view title, const Arguments& arguments, std::size_t width) {
  if (arguments.actions().empty()) return "";
  std::string out = cat("\n", title, ":\n");
  for (const Arguments& action : arguments.actions()) out += labelled(action.name(), action.sentence(), kColumn, width);
  return out;
}

std::string examples_part(const Arguments& arguments) {
  if (arguments.examples().empty()) return "";
  std::string out = "\nExamples:\n";
  for (const Example& example : arguments.examples()) out += cat("  ", example.line, "\n      ", example.meaning, "\n");
  return out;
}

std::string exit_part(std::size_t width) {
  std::string text = "Exit codes:";
  for (const ExitRow& row : exit_rows()) text += cat(row.code == kDone ? " " : ", ", int{row.code}, " ", row.meaning);
  return cat("\n", paragraph(text + ".", 0, width));
}

}  // namespace

const std::vector<ExitRow>& exit_rows() {
  static const std::vector<ExitRow> rows = {{kDone, "done"},
                                            {kFailed, "failed"},
                                            {kWrongInput, "bad arguments or a bad input file"},
                                            {kSomeFailed, "some items failed"},
                                            {kNoCompiler, "no compiler"},
                                            {kNoDevice, "no device"}};
  return rows;
}

std::string path_text(const HelpPath& path) {
  std::vector<std::string> names;
  for (const Arguments* arguments : path) names.push_back(arguments->name());
  return join(names, " ");
}

std::vector<std::string> usage_lines(const HelpPath& path) {
  const Arguments& last = *path.back();
  const std::string name = path_text(path);
  const std::string options = last.options().empty() ? "" : " [OPTION...]";
  std::vector<std::string> lines;
  if (!last.words_form().empty() || last.actions().empty())
    lines.push_back(cat(name, options, last.words_form().empty() ? "" : " ", last.words_form()));
  if (!last.actions().empty()) lines.push_back(cat(name, path.size() == 1 ? " COMMAND" : " ACTION", " ..."));
  return lines;
}

std::string help_text(const HelpPath& path, std::size_t width) {
  const Arguments& last = *path.back();
  std::string out = paragraph(cat(path_text(path), ": ", last.sentence()), 0, width);
  out += cat("\nUsage: ", join(usage_lines(path), "\n       "), "\n");
  if (!last.words_form().empty()) out += cat("\n", labelled(last.words_form(), last.words_sentence(), kColumn, width));
  out += actions_part(path.size() == 1 ? "Commands" : "Actions", last, width);
  if (path.size() > 1) out += options_part("Options", last, width);
  out += options_part("Options of every command", *path.front(), width);
  for (const std::string& note : last.notes()) out += cat("\n", paragraph(note, 0, width));
  out += examples_part(last);
  return out + exit_part(width);
}

std::size_t help_width() {
  const std::size_t columns = output_columns();
  return columns == 0 ? 80 : std::clamp<std::size_t>(columns, 40, kWidest);
}

namespace {

// The words of `quern help COMMAND ACTION`.
HelpPath find_path(const Arguments& root, const std::vector<std::string>& words) {
  HelpPath path = {&root};
  for (const std::string& word : words) {
    const Arguments* const next = path.back()->find_action(word);
    if (next == nullptr) {
      std::vector<std::string> names;
      for (const Arguments& action : path.back()->actions()) names.push_back(action.name());
      throw wrong(cat(path_text(path), " has no \"", word, "\".", did_you_mean(word, names),
                      names.empty() ? "" : " There are: ", join(names, ", ")));
    }
    path.push_back(next);
  }
  return path;
}

class Help : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.words("[COMMAND [ACTION]]", words_, "The command to explain; default quern itself");
    arguments.flag("--man", man_, "Print the man page, quern(1)");
    arguments.example("quern help run", "The arguments of `quern run`; the same as `quern run --help`");
    arguments.example("quern help tune check", "The same for an action");
    arguments.example("quern help --man >quern.1", "The man page, which an installed quern has in share/man");
  }

  int run(const Global& global) override {
    if (man_ && !words_.empty()) throw wrong("--man prints the page of all commands; do not give a COMMAND");
    print(man_ ? man_page(*global.root) : help_text(find_path(*global.root, words_), help_width()));
    return kDone;
  }
  bool names_variables() const override { return true; }

 private:
  std::vector<std::string> words_;
  bool man_ = false;
};

const Registration<Help> register_help("help", "Shows the arguments of a command");

}  // namespace
}  // namespace quern::tool
