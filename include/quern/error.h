// The one error type. C++ entry points throw it; the try_ forms return it in a Result.
#ifndef QUERN_ERROR_H_
#define QUERN_ERROR_H_

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "quern/export.h"

namespace quern {

enum class Code {
  bad_input,    // the request is wrong: an unknown name, a value out of range, a buffer that is too small
  unsupported,  // well formed, but this family, target or compiler does not support it
  no_compiler,  // NVRTC is needed and was not found
  no_driver,    // libcuda is needed and was not found
  no_device,    // the driver has no such device
  compile,      // the compiler refused the source; see `log`
  driver,       // a driver call failed
  io,           // a file could not be read or written
  resources,    // memory or threads ran out
  internal,     // a bug in quern: please report the message
};

enum class Stage { problem, specialize, compile, store, load, launch, tool };

QUERN_API const char* name(Code code);
QUERN_API const char* name(Stage stage);

// Immutable once thrown. `sentence` names the field, its value and what would be accepted, or what to do next.
class QUERN_API Error : public std::exception {
 public:
  Error(Code code, Stage stage, std::string sentence);
  Error(const Error&);
  Error& operator=(const Error&);
  ~Error() override;

  Code code = Code::bad_input;
  Stage stage = Stage::problem;
  std::string sentence;
  std::string family;       // empty if no family is involved
  std::string problem;      // problem text, can be passed to `quern run`
  std::string key;          // of the image being made, 32 hexadecimal digits per part
  std::string log;          // the compiler's log
  int driver_code = 0;      // CUresult where `code` is driver
  bool lasting = false;     // the compiler rejected the source: another try would fail the same way
  bool remembered = false;  // from an earlier compile that failed, which is not retried for a while

  // "STAGE: SENTENCE [PROBLEM]"; valid as long as the error.
  const char* what() const noexcept override;

 private:
  mutable std::string what_;
};

// A value, or the error that prevented it. Not thread-safe.
template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return value_.has_value(); }
  // REQUIRES: *this is true; else throws the error.
  T& value() {
    if (!value_) throw *error_;
    return *value_;
  }
  T& operator*() { return value(); }
  T* operator->() { return &value(); }
  // REQUIRES: *this is false.
  const Error& error() const { return *error_; }

 private:
  std::optional<T> value_;
  std::optional<Error> error_;
};

}  // namespace quern

#endif  // QUERN_ERROR_H_
