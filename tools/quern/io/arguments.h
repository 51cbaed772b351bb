// Declarations of the command line, as data: commands declare their arguments; the parser, help, the man page and
// completion are made from them. Only arguments.cpp knows the library that parses.
#ifndef QUERN_TOOLS_IO_ARGUMENTS_H_
#define QUERN_TOOLS_IO_ARGUMENTS_H_

#include <functional>
#include <limits>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/command.h"

namespace quern::tool {

// The valid range of a number.
struct Range {
  int least;
  int most;
};
inline constexpr int kNoLimit = std::numeric_limits<int>::max();
inline constexpr Range kJobs = {1, 1024};

struct OptionRow {
  std::string name;         // "--jobs"
  std::string placeholder;  // "N", a row of value_kinds(); empty: a flag
  std::string sentence;
  bool many = false;                             // may be given several times
  std::function<void(const std::string&)> take;  // throws Error (bad_input)
  // Checks the value by its placeholder, and takes it.
  void give(const std::string& text) const;
};

struct Example {
  std::string line;
  std::string meaning;
};

// A command, or an action of one. Parsing fills the variables.
class Arguments {
 public:
  Arguments(std::string name, std::string sentence) : name_(std::move(name)), sentence_(std::move(sentence)) {}

  void flag(const char* name, bool& value, const char* sentence);
  // `form`: the option and its value, "--arch ARCH".
  void option(std::string_view form, std::string& value, const char* sentence);
  // Refuses what is out of range. The value of the variable is the default; an out-of-range default has a meaning that
  // the sentence states.
  void option(std::string_view form, int& value, Range range, const char* sentence);
  // May be given several times, one value each time.
  void option(std::string_view form, std::vector<std::string>& values, const char* sentence);
  // The words that belong to no option. `form`: words in brackets are optional, the one before "..." may repeat.
  void words(const char* form, std::vector<std::string>& values, const char* sentence);
  // What runs if its name is the first word: `Global::action`. The reference is valid as long as this object.
  Arguments& action(const char* name, const char* sentence);
  void example(const char* line, const char* meaning) { examples_.push_back({line, meaning}); }
  // A paragraph of the help.
  void note(const char* paragraph) { notes_.emplace_back(paragraph); }

  // ---- The declarations
  const std::string& name() const { return name_; }
  const std::string& sentence() const { return sentence_; }
  const std::string& words_form() const { return words_form_; }  // empty if it takes none
  const std::string& words_sentence() const { return words_sentence_; }
  const std::vector<OptionRow>& options() const { return options_; }
  const std::vector<Example>& examples() const { return examples_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::list<Arguments>& actions() const { return actions_; }
  // Null if there is none with that name.
  const OptionRow* find_option(std::string_view name) const;
  const Arguments* find_action(std::string_view name) const;
  // Fills the variable of words(). Throws Error (bad_input) for too few or too many; `path` is the call, "quern cache
  // show".
  void give_words(const std::string& path, const std::vector<std::string>& words) const;

 private:
  void add(std::string_view form, const char* sentence, bool many, std::function<void(const std::string&)> take);

  std::string name_;
  std::string sentence_;
  std::string words_form_;
  std::string words_sentence_;
  std::vector<std::string>* words_ = nullptr;
  std::vector<OptionRow> options_;
  std::vector<Example> examples_;
  std::vector<std::string> notes_;
  std::list<Arguments> actions_;
};

// Parses the command line and runs the command. Returns the exit code; throws Error.
int run_command_line(int argc, char** argv);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_ARGUMENTS_H_
