#include "hints.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

namespace quern::python {
namespace {

constexpr const char* kOnHost =
    "; for the CPU: quern.set_device(\"host\"), Runtime(device=\"host\") or QUERN_DEVICE=host";
constexpr const char* kForked =
    "; this process was forked after quern was used, and a driver does not work on in a child: use quern in children "
    "only, or start them by multiprocessing.get_context(\"spawn\")";

std::atomic<pid_t> first_user{0};

bool is_forked() {
  const pid_t first = first_user.load();
  return first != 0 && first != getpid();
}

}  // namespace

void note_first_use() {
  pid_t none = 0;
  first_user.compare_exchange_strong(none, getpid());
}

std::string hint_of(const quern_error& error, bool of_cpu_tensors) {
  const bool refused = std::strstr(error.sentence, "is in CPU memory; this plan is for cuda:") != nullptr;
  if (refused || (of_cpu_tensors && is_without_gpu(error.code))) return kOnHost;
  return error.code == QUERN_DRIVER && is_forked() ? kForked : "";
}

std::string message_with(const quern_error& error, const std::string& hint) {
  std::string message = error.message;
  const std::size_t at = message.find(error.sentence);
  if (at == std::string::npos) return message + hint;
  return message.insert(at + std::strlen(error.sentence), hint);
}

}  // namespace quern::python
