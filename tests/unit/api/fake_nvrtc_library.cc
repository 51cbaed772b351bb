// A libnvrtc that does not compile: images are texts made from its arguments. Built by the tests that use it.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "fake_control.h"

extern "C" {
__attribute__((visibility("default"))) quern::test::FakeControl quern_fake_control;
}

namespace {

struct Program {
  std::string name, text, options, architecture, log;
  bool done = false;
};

std::mutex writing;

// Initial state: CUDA 13.0 and the architectures that it knows.
__attribute__((constructor)) void begin() {
  constexpr int kArchitectures[] = {75, 80, 86, 89, 90, 100, 103, 120};
  for (const int arch : kArchitectures)
    quern_fake_control.architectures[quern_fake_control.architecture_count++] = arch;
  quern_fake_control.version = 13000;
}

// NVRTC holds locks while it compiles. A child that was forked meanwhile does not have the thread that would release
// them, and its next compile deadlocks.
class Running {
 public:
  Running() {
    while (running() > 0 && process() != getpid()) pause();
    process() = getpid();
    ++running();
  }
  ~Running() { --running(); }

 private:
  static std::atomic<int>& running() {
    static std::atomic<int> count{0};
    return count;
  }
  static std::atomic<pid_t>& process() {
    static std::atomic<pid_t> id{0};
    return id;
  }
};

// NVRTC's thread-local objects take its locks too when their thread exits.
struct ThreadState {
  bool used = false;
  ~ThreadState() {
    const Running running;
    std::this_thread::sleep_for(std::chrono::milliseconds(quern_fake_control.exit_ms));
  }
};
void use_thread() {
  thread_local ThreadState state;
  state.used = true;
}

// NVRTC needs a few hundred KiB of stack; in a thread with less it crashes the process.
__attribute__((noinline)) int use_stack() {
  volatile char stack[512 << 10];
  for (std::size_t i = 0; i < sizeof(stack); i += 1024) stack[i] = static_cast<char>(i);
  return stack[1024];
}

void wait_if_held(const Program& program) {
  auto& control = quern_fake_control;
  if (control.hold == 0 || program.text.find(control.held_text) == std::string::npos) return;
  ++control.held;
  while (control.hold != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  --control.held;
}

// NVRTC has a code for it, but returns NVRTC_ERROR_COMPILATION when a component of it runs out of memory.
int out_of_memory(Program& p, int way) {
  if (way == 1) return 1;  // NVRTC_ERROR_OUT_OF_MEMORY
  if (way == 2) p.log = p.name + "(151): catastrophic error: out of memory\n\n1 catastrophic error detected\n";
  if (way == 3) p.log = "ptxas fatal   : Ptx assembly aborted due to errors\n";
  return 6;
}

std::string text_of(const Program& p, const char* kind) {
  return std::string(kind) + " " + p.architecture + " " + std::to_string(std::hash<std::string>()(p.text + p.options)) + " by " +
         std::to_string(quern_fake_control.version);
}
std::string ptx_of(const Program& p) { return p.done ? text_of(p, "ptx") : ""; }
std::string cubin_of(const Program& p) {
  return p.done && p.architecture.rfind("sm_", 0) == 0 ? text_of(p, "cubin") : "";
}

const Program& of(void* program) { return *static_cast<Program*>(program); }
int size_of(const std::string& text, std::size_t* size) { return *size = text.size() + 1, 0; }
int copy(const std::string& text, char* to) { return std::memcpy(to, text.c_str(), text.size() + 1), 0; }

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvrtcVersion(int* major, int* minor) {
  use_thread();
  *major = quern_fake_control.version / 1000;
  *minor = quern_fake_control.version % 1000;
  return 0;
}
EXPORT int nvrtcGetNumSupportedArchs(int* count) { return *count = quern_fake_control.architecture_count, 0; }
EXPORT int nvrtcGetSupportedArchs(int* archs) {
  for (int i = 0; i < quern_fake_control.architecture_count; ++i) archs[i] = quern_fake_control.architectures[i];
  return 0;
}
EXPORT int nvrtcCreateProgram(void** program, const char* text, const char* name, int headers, const char* const* texts,
                              const char* const* names) {
  auto* p = new Program{name, text, {}, {}, {}};
  for (int i = 0; i < headers; ++i) p->text += std::string("\n// ") + names[i] + "\n" + texts[i];
  *program = p;
  return 0;
}
EXPORT int nvrtcDestroyProgram(void** program) { return delete static_cast<Program*>(*program), *program = nullptr, 0; }
EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  const Running running;
  use_thread();
  use_stack();
  Program& p = *static_cast<Program*>(program);
  auto& control = quern_fake_control;
  for (int i = 0; i < count; ++i) {
    p.options += std::string(options[i]) + "\n";
    if (std::strncmp(options[i], "--gpu-architecture=", 19) == 0) p.architecture = options[i] + 19;
  }
  ++control.compiles;
  {
    const std::lock_guard<std::mutex> lock(writing);
    std::snprintf(control.last_options, sizeof(control.last_options), "%s", p.options.c_str());
    std::snprintf(control.last_program, sizeof(control.last_program), "%s", p.name.c_str());
  }
  wait_if_held(p);
  std::this_thread::sleep_for(std::chrono::milliseconds(control.delay_ms));
  if (control.out_of_memory != 0) return out_of_memory(p, control.out_of_memory);
  if (control.refuse != 0) {
    p.log = p.name + "(12): error: made up\n";
    return 6;  // NVRTC_ERROR_COMPILATION
  }
  p.log = "ptxas info    : Used 32 registers, used 0 barriers\n";
  p.done = true;
  return 0;
}
EXPORT int nvrtcGetPTXSize(void* program, std::size_t* size) { return size_of(ptx_of(of(program)), size); }
EXPORT int nvrtcGetPTX(void* program, char* to) { return copy(ptx_of(of(program)), to); }
EXPORT int nvrtcGetCUBINSize(void* program, std::size_t* size) { return *size = cubin_of(of(program)).size(), 0; }
EXPORT int nvrtcGetCUBIN(void* program, char* to) {
  const std::string cubin = cubin_of(of(program));
  return std::memcpy(to, cubin.data(), cubin.size()), 0;
}
EXPORT int nvrtcGetProgramLogSize(void* program, std::size_t* size) { return size_of(of(program).log, size); }
EXPORT int nvrtcGetProgramLog(void* program, char* to) { return copy(of(program).log, to); }
EXPORT const char* nvrtcGetErrorString(int result) { return result == 0 ? "success" : "made-up error"; }
}
