// The command line of quern. Subcommands are in the files of their names.
#include <exception>
#include <new>

#include "arguments.h"
#include "base/text.h"
#include "output.h"

namespace quern::tool {
namespace {

int run(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const Error& error) {
    print_error(error);
    return exit_code(error.code);
  } catch (const std::bad_alloc&) {
    note("quern: there is not enough memory for the operands; make the problem smaller");
  } catch (const std::exception& error) {
    note(cat("quern: ", error.what()));
  }
  return kFailed;
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
