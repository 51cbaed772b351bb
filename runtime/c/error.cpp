#include "c/error.h"

#include <memory>
#include <string>

#include "base/text.h"

namespace quern::c {
namespace {

// The struct that the caller sees, and the strings that it points at.
struct OwnedError : quern_error {
  explicit OwnedError(const Error& error) : quern_error{}, copy(error), what(error.what()) {
    code = static_cast<quern_code>(static_cast<int>(error.code) + 1);
    driver_code = error.driver_code;
    lasting = error.lasting ? 1 : 0;
    remembered = error.remembered ? 1 : 0;
    message = what.c_str();
    stage = name(error.stage);
    sentence = copy.sentence.c_str();
    family = copy.family.c_str();
    problem = copy.problem.c_str();
    key = copy.key.c_str();
    log = copy.log.c_str();
  }
  const Error copy;
  const std::string what;
};

static_assert(static_cast<int>(Code::bad_input) + 1 == QUERN_BAD_INPUT, "the codes are in the same order");
static_assert(static_cast<int>(Code::internal) + 1 == QUERN_INTERNAL, "the codes are in the same order");

}  // namespace

quern_code report(const Error& error, quern_error** out) noexcept {
  const auto code = static_cast<quern_code>(static_cast<int>(error.code) + 1);
  if (out == nullptr) return code;
  try {
    *out = std::make_unique<OwnedError>(error).release();
  } catch (...) {
    *out = nullptr;
  }
  return code;
}

void require(const void* argument, const char* name) {
  if (argument == nullptr) throw Error(Code::bad_input, Stage::problem, cat(name, " is NULL"));
}

}  // namespace quern::c

extern "C" void quern_error_free(quern_error* error) {
  const std::unique_ptr<quern::c::OwnedError> owned(static_cast<quern::c::OwnedError*>(error));
}
