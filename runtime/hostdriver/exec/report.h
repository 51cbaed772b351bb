// The message of the last fault or refusal.
#ifndef QUERN_HOSTDRIVER_EXEC_REPORT_H_
#define QUERN_HOSTDRIVER_EXEC_REPORT_H_

#include <cuda.h>

#include <string>

namespace quern::host {

// Thread-safe; each replaces the previous message.
void report(std::string words);
std::string last_report();

// "CUDA_ERROR_OUT_OF_MEMORY", and its description; both stay valid. Codes without a row in the table get their number.
const char* error_name(CUresult code);
const char* error_words(CUresult code);

// Thrown by an entry point to refuse a call: `guarded` reports the message and returns the code.
struct Refusal {
  CUresult code;
  std::string words;
};

[[noreturn]] void refuse(CUresult code, std::string words);
inline void require(bool holds, CUresult code, const char* words) {
  if (!holds) refuse(code, words);
}
// Refuses a null pointer; `what` is the argument's name.
inline void need(const void* pointer, const char* what) {
  if (pointer == nullptr) refuse(CUDA_ERROR_INVALID_VALUE, std::string(what) + " is null");
}
template <class T>
T& needed(T* pointer, const char* what) {
  need(pointer, what);
  return *pointer;
}

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_REPORT_H_
