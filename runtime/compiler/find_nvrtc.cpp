#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "compiler/nvrtc.h"
#include "quern/error.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kSonames = {"libnvrtc.so.13", "libnvrtc.so.12"};

Error unseen(const std::string& path, int error) {
  return Error(
      Code::io, Stage::compile,
      cat("cannot search for NVRTC in ", path, ": ", error_text(error), "; try again, or give it by QUERN_NVRTC"));
}

class Search {
 public:
  std::vector<NvrtcCandidate> candidates;

  explicit Search(WantedNvrtc wanted) : wanted_(std::move(wanted)) {}

  bool done() const {
    return wanted_ && std::any_of(candidates.begin(), candidates.end(),
                                  [&](const NvrtcCandidate& c) { return c.found && wanted_(c); });
  }
  bool any() const {
    return std::any_of(candidates.begin(), candidates.end(), [](const NvrtcCandidate& c) { return c.found; });
  }

  // Each soname in `folder`, if the folder exists.
  void folder(const fs::path& folder, const std::string& why) {
    if (folder.empty() || !is(fs::file_type::directory, folder)) return;
    for (const char* soname : kSonames) file(folder / soname, why);
  }

  void file(const fs::path& path, const std::string& why) {
    for (const NvrtcCandidate& known : candidates) {
      if (known.path == path.string()) return;
    }
    const bool there = is(fs::file_type::regular, path);
    candidates.push_back({path.string(), why, there ? "found" : "no such file", there});
  }

  // NVIDIA's wheels below a Python prefix or packages folder.
  void packages(const fs::path& folder, const std::string& why) {
    this->folder(folder / "nvidia/cu13/lib", why);
    this->folder(folder / "nvidia/cuda_nvrtc/lib", why);
  }
  void python_prefix(const fs::path& prefix, const std::string& why) {
    if (prefix.empty()) return;  // else folders below the working directory would be searched
    for (const char* name : {"site-packages", "dist-packages"}) {
      for (const fs::path& python : pythons(prefix / "lib")) packages(python / name, why);
    }
  }

 private:
  static bool is(fs::file_type type, const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::none && may_pass(error.value())) throw unseen(path.string(), error.value());
    return status.type() == type;
  }

  static std::vector<fs::path> pythons(const fs::path& lib) {
    std::vector<fs::path> found;
    for (const std::string& name : names_in(lib.string())) {
      if (name.starts_with("python3")) found.push_back(lib / name);
    }
    std::sort(found.begin(), found.end(), std::greater<>());
    return found;
  }

  const WantedNvrtc wanted_;
};

// The file of a library handle.
std::string path_of(void* handle) {
  Dl_info info{};
  void* symbol = dlsym(handle, "nvrtcVersion");
  const bool known = symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : "";
}

// dlopen of a bare name that is not loaded would search the loader's whole path.
bool any_loaded() {
  const auto is_nvrtc = [](dl_phdr_info* module, std::size_t, void*) {
    return module->dlpi_name != nullptr && std::strstr(module->dlpi_name, "libnvrtc") != nullptr ? 1 : 0;
  };
  return dl_iterate_phdr(is_nvrtc, nullptr) != 0;
}

void already_loaded(Search& search) {
  if (!any_loaded()) return;
  for (const char* soname : kSonames) {
    void* handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    if (const std::string path = path_of(handle); !path.empty()) search.file(path, "loaded already");
    dlclose(handle);
  }
}

void loader_path(Search& search, const std::string& path) {
  for (std::string_view folder : split(path, ':')) search.folder(fs::path(folder), "LD_LIBRARY_PATH");
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"})
    search.folder(folder, "system library folder");
}

void toolkit(Search& search, const std::string& home, const std::string& why) {
  if (home.empty()) return;
  for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
    search.folder(fs::path(home) / lib, why);
}

// /usr/local/cuda, then /usr/local/cuda-N, the newest first.
void usual_toolkits(Search& search) {
  toolkit(search, "/usr/local/cuda", "usual toolkit folder");
  std::vector<std::string> versions;
  for (const std::string& name : names_in("/usr/local")) {
    if (name.starts_with("cuda-")) versions.push_back("/usr/local/" + name);
  }
  std::sort(versions.begin(), versions.end(), std::greater<>());
  for (const std::string& home : versions) toolkit(search, home, "usual toolkit folder");
  toolkit(search, "/opt/cuda", "usual toolkit folder");
}

// Last, because only the loader can resolve a bare name, and asking it loads the library.
void by_name(Search& search) {
  if (search.any()) return;
  for (const char* soname : kSonames) {
    if (void* handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL)) {
      search.file(path_of(handle), "by name");
    } else {
      search.candidates.push_back({soname, "by name", dlerror(), false});  // NOLINT(concurrency-mt-unsafe)
    }
  }
}

using SearchStep = void (*)(Search& search, const Environment& environment);
constexpr SearchStep kSteps[] = {
    [](Search& search, const Environment&) { already_loaded(search); },
    [](Search& search, const Environment& environment) {
      search.python_prefix(environment[Variable::virtual_env], "NVIDIA wheel in VIRTUAL_ENV");
    },
    [](Search& search, const Environment& environment) {
      search.python_prefix(environment[Variable::conda_prefix], "NVIDIA wheel in CONDA_PREFIX");
    },
    [](Search& search, const Environment& environment) {
      const std::string& home = environment[Variable::home];
      if (!home.empty()) search.python_prefix(home + "/.local", "NVIDIA wheel of the user");
    },
    [](Search& search, const Environment&) {
      search.python_prefix("/usr/local", "NVIDIA wheel of the system");
      search.packages("/usr/lib/python3/dist-packages", "NVIDIA wheel of the system");
    },
    [](Search& search, const Environment& environment) {
      toolkit(search, environment[Variable::conda_prefix], "CONDA_PREFIX");
    },
    [](Search& search, const Environment& environment) { loader_path(search, environment[Variable::ld_library_path]); },
    [](Search& search, const Environment& environment) {
      toolkit(search, environment[Variable::cuda_home], "CUDA_HOME");
    },
    [](Search& search, const Environment& environment) {
      toolkit(search, environment[Variable::cuda_path], "CUDA_PATH");
    },
    [](Search& search, const Environment&) { usual_toolkits(search); },
    [](Search& search, const Environment&) { by_name(search); },
};

}  // namespace

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const int error = error_of(real_file_system().list(folder, &names));
  if (error != 0 && may_pass(error)) throw unseen(folder, error);
  return names;
}

int major_version(const NvrtcCandidate& candidate) {
  const std::string_view path = candidate.path;
  const std::vector<std::string_view> parts = split(path.substr(path.rfind('/') + 1), '.');
  return parts.size() > 2 ? static_cast<int>(parse_integer(parts[2]).value_or(0)) : 0;
}

std::vector<NvrtcCandidate> find_nvrtc(const std::string& explicit_path, const Environment& environment,
                                       const WantedNvrtc& wanted) {
  Search search(wanted);
  if (!explicit_path.empty()) {
    search.file(explicit_path, "given by option or QUERN_NVRTC");
    return search.candidates;
  }
  for (const SearchStep step : kSteps) {
    step(search, environment);
    if (search.done()) break;
  }
  return search.candidates;
}

}  // namespace quern
