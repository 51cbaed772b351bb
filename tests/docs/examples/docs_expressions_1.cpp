// A program of C++ objects, and its gradient.
#include <quern/expression.h>
#include <quern/quern.h>

quern::ProgramInfo example() {
#include QUERN_PAGE_EXAMPLE
  return slope;
}
