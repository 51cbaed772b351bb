#include "unit/api/fake_nvrtc.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "compiler/build_id.h"
#include "unit/cache/support.h"

namespace quern::test {
namespace {

FakeNvrtc build(const cache::Scratch& folder) {
  FakeNvrtc fake;
  fake.path = folder / "libnvrtc.so.13";
  const std::string source = QUERN_TESTS "/unit/api/fake_nvrtc_library.cc";
  if (!run_compiler(cat("-std=c++17 -shared -fPIC -fvisibility=hidden -Wl,--build-id=0xfaceb00c -pthread -o ",
                        fake.path, " ", source),
                    &fake.why_not))
    return {"", fake.why_not, nullptr};
  void* handle = dlopen(fake.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) fake.control = static_cast<FakeControl*>(dlsym(handle, "quern_fake_control"));
  if (fake.control == nullptr) return {"", cat("could not open ", fake.path), nullptr};
  fake.reset();
  return fake;
}

}  // namespace

bool run_compiler(const std::string& arguments, std::string* words) {
  const cache::Scratch folder;
  const char* compiler = ::getenv("CXX");
  const std::string log = folder / "log";
  const std::string command = cat(compiler != nullptr ? compiler : "c++", " ", arguments, " >", log, " 2>&1");
  if (std::system(command.c_str()) == 0) return true;
  *words = cat("no C++ compiler here to build it with: ", read_file(log).value_or(""));
  return false;
}

void FakeNvrtc::reset() const {
  control->version = 13000;
  control->compiles = control->refuse = control->out_of_memory = control->delay_ms = control->exit_ms = control->hold =
      0;
  control->last_options[0] = control->last_program[0] = control->held_text[0] = '\0';
  set_architectures({75, 80, 86, 89, 90, 100, 103, 120});
}

void FakeNvrtc::set_architectures(const std::vector<int>& architectures) const {
  control->architecture_count = static_cast<int>(architectures.size());
  for (std::size_t i = 0; i < architectures.size(); ++i) control->architectures[i] = architectures[i];
}

const FakeNvrtc& fake_nvrtc() {
  static const cache::Scratch folder;
  static const FakeNvrtc fake = build(folder);
  return fake;
}

FakeControl& control_of(const std::string& copy) {
  void* const control = dlsym(dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL), "quern_fake_control");
  EXPECT_NE(control, nullptr);
  return *static_cast<FakeControl*>(control);
}

std::string copy_of_compiler(const std::string& folder, bool another_build, int major) {
  std::string bytes = read_file(fake_nvrtc().path).value();
  const std::string id = elf_build_id(fake_nvrtc().path);
  std::string raw;
  for (std::size_t i = 0; i + 1 < id.size(); i += 2) raw += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  const std::size_t at = bytes.find(raw);
  EXPECT_NE(at, std::string::npos);
  if (another_build) bytes[at] ^= 1;
  std::filesystem::create_directories(folder);
  const std::string path = cat(folder, "/libnvrtc.so.", major);
  cache::overwrite(path, bytes);
  return path;
}

}  // namespace quern::test
