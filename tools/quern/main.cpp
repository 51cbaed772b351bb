// The command line of quern. Subcommands are in the files of their names.
#include <exception>
#include <new>

#include "arguments.h"
#include "base/text.h"
#include "output.h"

int main(int argc, char** argv) {
  try {
    return quern::tool::run_command_line(argc, argv);
  } catch (const quern::Error& error) {
    quern::tool::print_error(error);
    return quern::tool::exit_code(error.code);
  } catch (const std::bad_alloc&) {
    quern::tool::note("quern: there is not enough memory for the operands; make the problem smaller");
  } catch (const std::exception& error) {
    quern::tool::note(quern::cat("quern: ", error.what()));
  }
  return quern::tool::kFailed;
}
