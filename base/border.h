// The boundary of the library: every exception that leaves it is an Error.
#ifndef QUERN_BASE_BORDER_H_
#define QUERN_BASE_BORDER_H_

#include <exception>
#include <new>
#include <system_error>

#include "quern/error.h"

namespace quern {

// Calls `work` and converts other exceptions to Errors with the same message. The message for a lack of memory is short
// enough to need no allocation.
template <class Work>
decltype(auto) with_errors(Stage stage, const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(Code::resources, stage, "out of memory");
  } catch (const std::system_error& error) {
    throw Error(Code::resources, stage, error.what());
  } catch (const std::exception& error) {
    throw Error(Code::internal, stage, error.what());
  }
}

}  // namespace quern

#endif  // QUERN_BASE_BORDER_H_
