#include "quern/error.h"

#include <mutex>

#include "base/fork_barrier.h"

namespace quern {

const char* name(Code code) {
  static constexpr const char* kNames[] = {"bad input", "unsupported", "no compiler", "no driver", "no device",
                                           "compile",   "driver",      "io",          "resources", "internal"};
  return kNames[static_cast<int>(code)];
}

const char* name(Stage stage) {
  static constexpr const char* kNames[] = {"problem", "specialize", "compile", "store", "load", "launch", "tool"};
  return kNames[static_cast<int>(stage)];
}

Error::Error(Code error_code, Stage error_stage, std::string error_sentence)
    : code(error_code), stage(error_stage), sentence(std::move(error_sentence)) {}
Error::Error(const Error&) = default;
Error& Error::operator=(const Error&) = default;
Error::~Error() = default;

// Composed at the first call, under a lock, since several threads may hold one exception. In a forked child that cannot
// take the lock it is composed without one: this is the message that the error has there.
const char* Error::what() const noexcept {
  static constinit ForkSafeMutex mutex;
  try {
    std::unique_lock lock(mutex, std::defer_lock);
    if (!forked_in_the_middle()) lock.lock();
    if (!what_.empty()) return what_.c_str();
    what_ = std::string(name(stage)) + ": " + sentence;
    if (!problem.empty()) what_ += " [" + problem + "]";
    if (remembered) what_ += " (an earlier compile failed and is not retried yet)";
    if (!log.empty()) what_ += "\n" + log;
    return what_.c_str();
  } catch (...) {
    return "quern: out of memory while describing an error";
  }
}

}  // namespace quern
