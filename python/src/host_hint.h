// What to type where tensors lie in CPU memory and the runtime is a GPU's.
#ifndef QUERN_PYTHON_HOST_HINT_H_
#define QUERN_PYTHON_HOST_HINT_H_

#include <cstring>
#include <string>

#include "quern/c.h"

namespace quern::python {

constexpr const char* kHostHint =
    "; for the CPU: quern.set_device(\"host\"), Runtime(device=\"host\") or QUERN_DEVICE=host";

// Whether the sentence refuses a tensor in CPU memory for a plan of a GPU.
inline bool refuses_cpu_memory(const quern_error& error) {
  return std::strstr(error.sentence, "is in CPU memory; this plan is for cuda:") != nullptr;
}

// The hint as the end of the sentence, which is a part of the message.
inline std::string with_host_hint(std::string text, const std::string& sentence) {
  const std::size_t at = text.find(sentence);
  return at == std::string::npos ? text + kHostHint : text.insert(at + sentence.size(), kHostHint);
}

inline bool is_without_gpu(quern_code code) { return code == QUERN_NO_DRIVER || code == QUERN_NO_DEVICE; }

}  // namespace quern::python

#endif  // QUERN_PYTHON_HOST_HINT_H_
