// The words behind a command. Only arguments.cpp knows the library that reads them.
#ifndef QUERN_TOOLS_ARGUMENTS_H_
#define QUERN_TOOLS_ARGUMENTS_H_

#include <string>
#include <vector>

#include "command.h"

namespace CLI {
class App;
}

namespace quern::tool {

// Declares what a command takes; the variables are filled when the command line has been read.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}
  void flag(const char* name, bool& value, const char* sentence);
  void option(const char* name, std::string& value, const char* sentence);
  void option(const char* name, int& value, const char* sentence);
  // May be given several times, one value each time.
  void option(const char* name, std::vector<std::string>& values, const char* sentence);
  // The words that belong to no option.
  void words(const char* name, std::vector<std::string>& values, const char* sentence);

 private:
  CLI::App& app_;
};

// Reads the command line and runs what it asks for. Returns the exit code; throws Error.
int run_command_line(int argc, char** argv);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_ARGUMENTS_H_
