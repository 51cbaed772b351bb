#include "io/help.h"

#include <map>

#include "base/environment.h"
#include "base/text.h"
#include "quern/version.h"

namespace quern::tool {
namespace {

// Escapes text for groff: a "-" and quotes that can be copied, and no line that looks like a request.
std::string escaped(std::string_view text) {
  static const std::map<char, const char*> kEscapes = {{'\\', "\\e"},   {'-', "\\-"},   {'`', "\\(ga"},
                                                       {'\'', "\\(aq"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  for (const char c : text) {
    const auto found = kEscapes.find(c);
    out += found == kEscapes.end() ? std::string(1, c) : found->second;
  }
  return out.empty() || out.front() != '.' ? out : cat("\\&", out);
}

std::string line(std::string_view text) { return cat(escaped(text), "\n"); }
std::string bold(std::string_view text) { return cat("\\fB", escaped(text), "\\fR"); }
std::string item(const std::string& label, std::string_view text) { return cat(".TP\n", label, "\n", line(text)); }
std::string section(std::string_view title) { return cat(".SH ", title, "\n"); }

std::string options_text(const Arguments& arguments) {
  std::string out;
  for (const OptionRow& row : arguments.options()) {
    const std::string value = row.placeholder.empty() ? "" : cat(" \\fI", escaped(row.placeholder), "\\fR");
    out += item(cat(bold(row.name), value), cat(row.sentence, row.many ? "; may be repeated" : "", "."));
  }
  return out;
}

std::string examples_text(const Arguments& arguments) {
  std::string out;
  for (const Example& example : arguments.examples())
    out += cat(".PP\n", line(cat(example.meaning, ":")), ".PP\n.RS 4\n.nf\n", line(example.line), ".fi\n.RE\n");
  return out;
}

// A command, then its actions.
std::string command_text(const HelpPath& path) {
  const Arguments& last = *path.back();
  std::string out = cat(".SS \"", escaped(path_text(path)), "\"\n", line(cat(last.sentence(), ".")));
  for (const std::string& usage : usage_lines(path)) out += cat(".PP\n", bold(usage), "\n");
  if (!last.words_form().empty())
    out += item(cat("\\fI", escaped(last.words_form()), "\\fR"), cat(last.words_sentence(), "."));
  out += options_text(last);
  for (const std::string& note : last.notes()) out += cat(".PP\n", line(note));
  out += examples_text(last);
  for (const Arguments& action : last.actions()) {
    HelpPath longer = path;
    longer.push_back(&action);
    out += command_text(longer);
  }
  return out;
}

std::string environment_text() {
  std::string out;
  for (int i = 0; i < static_cast<int>(Variable::count); ++i) {
    const VariableRow& variable = row(static_cast<Variable>(i));
    out += item(bold(variable.name), cat(variable.sentence, "."));
  }
  return out;
}

std::string exit_text() {
  std::string out;
  for (const ExitRow& row : exit_rows()) out += item(bold(cat(int{row.code})), cat(row.meaning, "."));
  return out;
}

}  // namespace

std::string man_page(const Arguments& root) {
  std::string out =
      cat(".\\\" Made by `quern help --man`.\n.TH QUERN 1 \"\" \"quern ", QUERN_VERSION, "\" \"User Commands\"\n");
  out += cat(section("NAME"), "quern \\- ", line(root.sentence()));
  out += cat(section("SYNOPSIS"), bold("quern"), " \\fICOMMAND\\fR ...\n");
  out += section("DESCRIPTION");
  for (const std::string& note : root.notes()) out += cat(".PP\n", line(note));
  out += cat(examples_text(root), section("COMMANDS"));
  for (const Arguments& command : root.actions()) out += command_text({&root, &command});
  out += cat(section("OPTIONS"), "Every command takes these.\n", options_text(root));
  return out + section("\"EXIT STATUS\"") + exit_text() + section("ENVIRONMENT") + environment_text();
}

}  // namespace quern::tool
