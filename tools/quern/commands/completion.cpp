// quern completion bash: a script that completes commands, options, values, families and fields, from the declarations
// of commands and families.
#include "base/text.h"
#include "io/arguments.h"
#include "io/help.h"
#include "io/operand_files.h"
#include "io/output.h"
#include "io/value_kinds.h"
#include "plan/problem.h"
#include "quern/version.h"

namespace quern::tool {
namespace {

using Words = std::vector<std::string>;

// The code of the script; its tables precede it. bash splits words at "=" and ":".
constexpr const char* kScript = R"SH(
# Offers the lines of $1 that begin with $2. What ends with "=" gets no space after it.
_quern_offer() {
  local word
  while IFS= read -r word; do
    [[ -n $word && $word == "$2"* ]] || continue
    [[ $word == *= ]] && compopt -o nospace 2>/dev/null
    COMPREPLY+=("${word// /\\ }")
  done <<<"$1"
}

# The values of option $1, of which $2 is there.
_quern_value() {
  local REPLY= done=
  _quern_table "value $path $1" || return 0
  case $REPLY in
    @files | @folders)
      compopt -o filenames 2>/dev/null
      [[ $REPLY == @files ]] && mapfile -t COMPREPLY < <(compgen -f -- "$2")
      [[ $REPLY == @folders ]] && mapfile -t COMPREPLY < <(compgen -d -- "$2")
      return 0 ;;
    @anything) return 0 ;;
    @family) _quern_table "$1 $family" || return 0 ;;
  esac
  # Of a list only the last part is completed.
  if [[ $2 == *,* ]]; then
    done=${2%,*},
    REPLY=$done${REPLY//$'\n'/$'\n'$done}
  fi
  _quern_offer "$REPLY" "$2"
}

_quern() {
  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local path=quern family= name= option= word REPLY= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if _quern_table "actions $path" && [[ $'\n'$REPLY$'\n' == *$'\n'"$word"$'\n'* ]]; then
      path+=" $word"
    elif _quern_table "fields $word"; then
      family=$word
    fi
  done
  if [[ $cur == = ]]; then
    name=$before cur= option=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $before == = ]]; then
    name=${COMP_WORDS[COMP_CWORD - 2]} option=${COMP_WORDS[COMP_CWORD - 3]}
  fi
  if [[ $name == --* ]]; then
    _quern_value "$name" "$cur"
  elif [[ -n $name && ( $option == --in || $option == --out ) ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ -n $name ]]; then
    _quern_table "values $family $name" && _quern_offer "$REPLY" "$cur"
  elif [[ $before == --* ]] && _quern_table "value $path $before"; then
    _quern_value "$before" "$cur"
  elif [[ $cur == -* ]]; then
    _quern_table "options $path" && _quern_offer "$REPLY" "$cur"
    _quern_table "options quern" && _quern_offer "$REPLY" "$cur"
  else
    _quern_table "actions $path" && _quern_offer "$REPLY" "$cur"
    _quern_table "words $path" || return 0
    case $REPLY in
      @files)
        compopt -o filenames 2>/dev/null
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur") ;;
      @family)
        if [[ -z $family ]]; then
          _quern_table families && _quern_offer "$REPLY" "$cur"
        else
          _quern_table "fields $family" && _quern_offer "$REPLY" "$cur"
        fi ;;
      *) _quern_offer "$REPLY" "$cur" ;;
    esac
  fi
  return 0
}

complete -F _quern quern
)SH";

// A function that sets REPLY to the lines of a table row, and fails if there is no such row.
class Table {
 public:
  void add(const std::string& key, const Words& lines) {
    if (lines.empty()) return;
    rows_ += cat("    '", key, "') REPLY=$'", join(lines, "\\n"), "' ;;\n");
  }
  std::string text() const { return cat("_quern_table() {\n  case $1 in\n", rows_, "    *) return 1 ;;\n  esac\n}\n"); }

 private:
  std::string rows_;
};

Words action_names(const Arguments& arguments) {
  Words names;
  for (const Arguments& action : arguments.actions()) names.push_back(action.name());
  return names;
}

// Completions of a value: words, or a name that begins with @ for values that the script finds itself.
Words value_words(const OptionRow& row) {
  const std::string first = row.placeholder.substr(0, row.placeholder.find_first_of(",="));
  if (row.placeholder == kFile) return {"@files"};
  if (row.placeholder == kDirectory) return {"@folders"};
  if (first == "NAME" || first == "CONFIG") return {"@family"};
  const ValueKind* const kind = find_value_kind(first);
  return kind == nullptr ? Words{"@anything"} : kind->words();
}

void add_values(const std::string& path, const Arguments& arguments, Table& table) {
  for (const OptionRow& row : arguments.options()) {
    if (!row.placeholder.empty()) table.add(cat("value ", path, " ", row.name), value_words(row));
  }
}

Words words_of(const Arguments& arguments, const Arguments& root) {
  const std::string& form = arguments.words_form();
  if (form.find("FAMILY") != std::string::npos) return {"@family"};
  if (form.find("COMMAND") != std::string::npos) return action_names(root);
  return form.find("FILE") != std::string::npos ? Words{"@files"} : Words{};
}

void add_arguments(const HelpPath& path, Table& table) {
  const Arguments& last = *path.back();
  const std::string name = path_text(path);
  Words options;
  for (const OptionRow& row : last.options()) options.push_back(row.name);
  add_values(name, last, table);
  if (path.size() > 1) add_values(name, *path.front(), table);
  table.add(cat("options ", name), options);
  table.add(cat("actions ", name), action_names(last));
  table.add(cat("words ", name), words_of(last, *path.front()));
  for (const Arguments& action : last.actions()) {
    HelpPath longer = path;
    longer.push_back(&action);
    add_arguments(longer, table);
  }
}

// "width=", the form of fields, operands and parameters.
template <class Rows>
Words names_before_equals(const Rows& rows) {
  Words names;
  for (const auto& row : rows) names.push_back(cat(row.name, "="));
  return names;
}

Words parameter_names(const Family& family) {
  Words names;
  for (const Step& step : family.steps) {
    for (const Parameter& parameter : step.parameters)
      names.push_back(cat(step.name, *step.name == '\0' ? "" : ".", parameter.name, "="));
  }
  return names;
}

Words operand_names(const Family& family, bool inputs) {
  Words names;
  for (const Operand& operand : family.operands) {
    if (is_file_role(operand.role, inputs)) names.push_back(cat(entry_name(operand, 0), "="));
  }
  return names;
}

Words field_values(const Field& field) {
  Words values = names_of_values(field);
  if (field.may_be_open) values.emplace_back("open");
  return values;
}

void add_family(const Family& family, Table& table) {
  table.add(cat("fields ", family.name), names_before_equals(family.fields));
  for (const Field& field : family.fields) table.add(cat("values ", family.name, " ", field.name), field_values(field));
  table.add(cat("--in ", family.name), operand_names(family, true));
  table.add(cat("--out ", family.name), operand_names(family, false));
  table.add(cat("--set ", family.name), names_before_equals(family.scalars));
  for (const char* option : {"--config", "--copy-config"})
    table.add(cat(option, " ", family.name), parameter_names(family));
}

class Completion : public Command {
 public:
  void declare(Arguments& arguments) override {
    Arguments& bash = arguments.action("bash", "Prints a script that bash reads");
    bash.note(
        "An installed quern has it in share/bash-completion/completions already, where bash-completion finds it.");
    bash.example("quern completion bash >quern.bash", "Read it with `. ./quern.bash`, for example in ~/.bashrc");
  }

  int run(const Global& global) override {
    Table table;
    add_arguments({global.root}, table);
    const Runtime runtime(runtime_options(global));
    Words families;
    for (const Family* family : runtime.families()) {
      families.emplace_back(family->name);
      add_family(*family, table);
    }
    table.add("families", families);
    print(cat("# bash completion for quern ", QUERN_VERSION, ", made by `quern completion bash`.\n\n"));
    print(cat("# Sets REPLY to the lines of a row; fails where there is none.\n", table.text(), kScript));
    return kDone;
  }
  bool names_variables() const override { return true; }
};

const Registration<Completion> register_completion("completion",
                                                   "Completion of commands, options and problems for a shell");

}  // namespace
}  // namespace quern::tool
