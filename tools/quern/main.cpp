// The command line of quern. Each subcommand is in the file of its name.
#include <algorithm>
#include <exception>
#include <new>
#include <string_view>

#include "base/text.h"
#include "io/arguments.h"
#include "io/output.h"

namespace quern::tool {
namespace {

// Set before the command line is parsed, as parsing may fail.
bool wants_json(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

int end_with(const Error& error, int argc, char** argv) {
  report_error(error, wants_json(argc, argv));
  return exit_code(error.code);
}

int run(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const Error& error) {
    return end_with(error, argc, argv);
  } catch (const std::bad_alloc&) {
    const char* const sentence = "out of memory; make the problem smaller, or free some memory";
    return end_with(Error(Code::io, Stage::tool, sentence), argc, argv);
  } catch (const std::exception& error) {
    return end_with(Error(Code::io, Stage::tool, error.what()), argc, argv);
  }
}

}  // namespace
}  // namespace quern::tool

int main(int argc, char** argv) {
  using namespace quern::tool;
  open_standard_files();
  const int code = run(argc, argv);
  const std::string why_not = finish_output();
  if (why_not.empty()) return code;
  note(quern::cat("quern: cannot write to stdout: ", why_not));
  return kFailed;
}
