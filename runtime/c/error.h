// The boundary of the C interface: C++ errors become quern_error, and no exception leaves.
#ifndef QUERN_C_ERROR_H_
#define QUERN_C_ERROR_H_

#include "base/border.h"
#include "quern/c.h"
#include "quern/error.h"

namespace quern::c {

// Fills `*out` unless it is null, or memory ran out. Returns the error's code.
quern_code report(const Error& error, quern_error** out) noexcept;

// Runs `work` and reports what it throws.
template <class Work>
quern_code guarded(Stage stage, quern_error** out, const Work& work) noexcept {
  try {
    with_errors(stage, work);
    return QUERN_OK;
  } catch (const Error& error) {
    return report(error, out);
  } catch (...) {
    if (out != nullptr) *out = nullptr;
    return QUERN_RESOURCES;  // with_errors had no memory for an Error
  }
}

// Throws Error (bad_input) if an argument that must be given is null.
void require(const void* argument, const char* name);

}  // namespace quern::c

#endif  // QUERN_C_ERROR_H_
