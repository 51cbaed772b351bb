// Subcommands register themselves: a new one is one new file.
#ifndef QUERN_TOOLS_IO_COMMAND_H_
#define QUERN_TOOLS_IO_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "quern/error.h"
#include "quern/runtime.h"

namespace quern::tool {

enum Exit {
  kDone = 0,
  kFailed = 1,      // also: the result disagrees with the reference
  kWrongInput = 2,  // what was typed, or a file that it names
  kSomeFailed = 3,
  kNoCompiler = 4,
  kNoDevice = 5,
};
int exit_code(Code code);

class Arguments;

// What every command is told of the command line.
struct Global {
  std::string log;
  std::string cache_dir;
  std::string nvrtc;
  std::string action;                // of the command, "" where none was typed
  std::vector<std::string> options;  // the command's own that were given, "--json"
  std::string typed;                 // the command line, for the heads of tables
  const Arguments* root = nullptr;   // all that was declared
};

Options runtime_options(const Global& global);
// As --log takes them.
std::vector<std::string> log_levels();

class Command {
 public:
  virtual ~Command() = default;
  virtual void declare(Arguments& arguments) = 0;
  // Returns the exit code; throws Error.
  virtual int run(const Global& global) = 0;
  // Whether it has its own say on variables that are mistyped, or none; else a line on stderr goes ahead of it.
  virtual bool names_variables() const { return false; }
};

struct CommandRow {
  const char* name;
  const char* sentence;
  std::unique_ptr<Command> (*make)();
};
// In the order of their names.
std::vector<CommandRow>& commands();

// At namespace scope of the command's file: const Registration<Doctor> registration("doctor", "…");
template <class C>
struct Registration {
  Registration(const char* name, const char* sentence) {
    commands().push_back({name, sentence, [] { return std::unique_ptr<Command>(std::make_unique<C>()); }});
  }
};

// What was typed is wrong.
Error wrong(std::string sentence);

// Why images can't be found or kept, `why`, as an error of its kind: (bad_input) where --cache-dir named the directory,
// else (io).
Error store_error(const Global& global, const std::string& why);
// Throws store_error with `advice` where this process may not write images to a directory.
void require_store(Runtime& runtime, const Global& global, std::string_view advice);

// Prints an error as people read it, one line, then the compiler's log, to stderr; with `json` also as an object to
// stdout.
void report_error(const Error& error, bool json);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_COMMAND_H_
