#include "compiler/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "compiler/build_id.h"
#include "quern/error.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// The builtins are next to libnvrtc, with major and minor version in their name: libnvrtc-builtins.so.13.0. If the
// library's own name has a major version, only builtins of that version count; else all do.
std::vector<std::string> builtins_next_to(const std::string& library) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  const std::string filename = real.filename();  // `parts` points into it
  const std::vector<std::string_view> parts = split(filename, '.');
  const std::string major = parts.size() > 2 ? cat(parts[2], ".") : "";
  const std::string prefix = cat("libnvrtc-builtins.so.", major);
  std::vector<std::string> found;
  for (const std::string& name : names_in(real.parent_path().string())) {
    if (name.starts_with(prefix) && split(name, '.').size() == 4) found.push_back((real.parent_path() / name).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// glibc's message for a failure ends with the text of errno.
bool may_pass(std::string_view words) {
  for (const int error : {EMFILE, ENFILE, ENOMEM, EAGAIN, EIO, ESTALE, EINTR}) {
    if (words.find(error_text(error)) != std::string_view::npos) return true;
  }
  return false;
}

void* open_library(const std::string& path) {
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const std::string words = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
  throw Error(may_pass(words) ? Code::io : Code::no_compiler, Stage::compile,
              cat(path, " could not be opened: ", words));
}

template <class F>
void bind(void* handle, const std::string& path, const char* symbol, F& member) {
  member = reinterpret_cast<F>(dlsym(handle, symbol));
  if (member != nullptr) return;
  dlclose(handle);
  throw Error(Code::no_compiler, Stage::compile,
              cat(path, " lacks ", symbol, ", so it is not an NVRTC of CUDA 12 or 13"));
}

std::vector<int> supported_architectures(const Nvrtc& nvrtc) {
  int count = 0;
  if (nvrtc.GetNumSupportedArchs(&count) != NVRTC_SUCCESS) return {};
  std::vector<int> architectures(static_cast<std::size_t>(count));
  nvrtc.GetSupportedArchs(architectures.data());
  return architectures;
}

}  // namespace

std::string NvrtcIdentity::text() const {
  if (library.empty()) return {};
  return cat("nvrtc ", library, " builtins ", builtins.empty() ? "none" : join(builtins, " "));
}

NvrtcIdentity nvrtc_identity(const std::string& path) {
  NvrtcIdentity identity;
  for (const LoadedLibrary& loaded : loaded_libraries(path)) {
    if (loaded.path == path) identity.library = loaded.build_id;
  }
  if (identity.library.empty()) identity.library = file_identity(path);
  for (const std::string& library : builtins_next_to(path)) identity.builtins.push_back(file_identity(library));
  return identity;
}

// NVRTC loads its builtins by a name with its version, so a process has one of each version.
bool correct_identity(const Nvrtc& opened, NvrtcIdentity& identity) {
  const std::string before = identity.text();
  const LoadedLibrary library = loaded_library(reinterpret_cast<const void*>(opened.Version));
  if (!library.build_id.empty()) identity.library = library.build_id;
  const std::string name = cat("libnvrtc-builtins.so.", opened.version / 1000, ".", opened.version % 1000);
  for (const LoadedLibrary& loaded : loaded_libraries(name)) {
    const bool known = std::count(identity.builtins.begin(), identity.builtins.end(), loaded.build_id) != 0;
    if (!loaded.build_id.empty() && !known) identity.builtins = {loaded.build_id};
  }
  return identity.text() != before;
}

Nvrtc open_nvrtc(const std::string& path) {
  void* const handle = open_library(path);
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
