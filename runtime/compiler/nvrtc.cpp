#include "compiler/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "compiler/build_id.h"
#include "quern/error.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// The builtins stand beside libnvrtc under a name with major and minor version: libnvrtc-builtins.so.13.0. Where the
// library's own name tells its major version, that one counts; else all of them do.
std::vector<std::string> builtins_beside(const std::string& library) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  const std::string filename = real.filename();  // `parts` look into it
  const std::vector<std::string_view> parts = split(filename, '.');
  const std::string major = parts.size() > 2 ? cat(parts[2], ".") : "";
  const std::string prefix = cat("libnvrtc-builtins.so.", major);
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(real.parent_path(), error)) {
    const std::string& path = entry.path().native();
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (name.substr(0, prefix.size()) == prefix && split(name, '.').size() == 4) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

template <class F>
void bind(void* handle, const std::string& path, const char* symbol, F& member) {
  member = reinterpret_cast<F>(dlsym(handle, symbol));
  if (member == nullptr)
    throw Error(Code::no_compiler, Stage::compile, cat(path, " has no ", symbol, ": it is no NVRTC of CUDA 12 or 13"));
}

std::vector<int> supported_architectures(const Nvrtc& nvrtc) {
  int count = 0;
  if (nvrtc.GetNumSupportedArchs(&count) != NVRTC_SUCCESS) return {};
  std::vector<int> architectures(static_cast<std::size_t>(count));
  nvrtc.GetSupportedArchs(architectures.data());
  return architectures;
}

}  // namespace

std::string nvrtc_identity(const std::string& path) {
  std::string identity = cat("nvrtc ", file_identity(path), " builtins");
  const std::vector<std::string> builtins = builtins_beside(path);
  for (const std::string& library : builtins) identity += cat(" ", file_identity(library));
  return builtins.empty() ? cat(identity, " none") : identity;
}

Nvrtc open_nvrtc(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(Code::no_compiler, Stage::compile,
                cat(path, " could not be opened: ", dlerror()));  // NOLINT(concurrency-mt-unsafe)
  Nvrtc nvrtc;
  nvrtc.path = path;
#define QUERN_BIND(member, symbol) bind(handle, path, #symbol, nvrtc.member);
  QUERN_NVRTC_FUNCTIONS(QUERN_BIND)
#undef QUERN_BIND
  int major = 0;
  int minor = 0;
  nvrtc.Version(&major, &minor);
  nvrtc.version = 1000 * major + minor;
  nvrtc.architectures = supported_architectures(nvrtc);
  return nvrtc;
}

}  // namespace quern
