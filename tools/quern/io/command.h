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
  kFailed = 1,      // or the result disagrees with the reference
  kWrongInput = 2,  // bad arguments, or a bad input file
  kSomeFailed = 3,
  kNoCompiler = 4,
  kNoDevice = 5,
};
int exit_code(Code code);

class Arguments;

// Common arguments of all commands.
struct Global {
  std::string log;
  std::string cache_dir;
  std::string nvrtc;
  std::string action;                // of the command; "" if none was given
  std::vector<std::string> options;  // the command's own that were given, "--json"
  std::string typed;                 // the command line, for headers of tables
  const Arguments* root = nullptr;   // all declarations
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
  // Whether the command itself handles misspelt variables; otherwise they are reported on stderr before it runs.
  virtual bool names_variables() const { return false; }
};

struct CommandRow {
  const char* name;
  const char* sentence;
  std::unique_ptr<Command> (*make)();
};
// Sorted by name.
std::vector<CommandRow>& commands();

// At namespace scope of the command's file: const Registration<Doctor> register_doctor("doctor", "…");
template <class C>
struct Registration {
  Registration(const char* name, const char* sentence) {
    commands().push_back({name, sentence, [] { return std::unique_ptr<Command>(std::make_unique<C>()); }});
  }
};

// An error in the arguments.
Error wrong(std::string sentence);

// An error for images that cannot be read or written because of `why`: (bad_input) if --cache-dir named the directory,
// else (io).
Error store_error(const Global& global, const std::string& why);
// Throws store_error with `advice` where this process may not write images to a directory.
void require_store(Runtime& runtime, const Global& global, std::string_view advice);

// Prints an error for people, one line, then the compiler's log, to stderr; with `json` also as an object to stdout.
void report_error(const Error& error, bool json);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_COMMAND_H_
