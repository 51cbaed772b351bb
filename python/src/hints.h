// What to do about a refusal that the library cannot know: where tensors lie in CPU memory, and after a fork.
#ifndef QUERN_PYTHON_HINTS_H_
#define QUERN_PYTHON_HINTS_H_

#include <string>

#include "quern/c.h"

namespace quern::python {

// A runtime was made in this process, or in one that it was forked from.
void note_first_use();

inline bool is_without_gpu(quern_code code) { return code == QUERN_NO_DRIVER || code == QUERN_NO_DEVICE; }

// The end of the sentence of an error, or "". of_cpu_tensors: of a call with tensors in CPU memory.
std::string hint_of(const quern_error& error, bool of_cpu_tensors);

// The message of an error with a hint at the end of its sentence.
std::string message_with(const quern_error& error, const std::string& hint);

}  // namespace quern::python

#endif  // QUERN_PYTHON_HINTS_H_
