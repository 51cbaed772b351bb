#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "compiler/nvrtc.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kSonames = {"libnvrtc.so.13", "libnvrtc.so.12"};

class Search {
 public:
  std::vector<NvrtcCandidate> candidates;

  // Each soname in `folder`, if the folder is there at all.
  void folder(const fs::path& folder, const std::string& why) {
    std::error_code ignored;
    if (folder.empty() || !fs::is_directory(folder, ignored)) return;
    for (const char* soname : kSonames) file(folder / soname, why);
  }

  void file(const fs::path& path, const std::string& why) {
    for (const NvrtcCandidate& known : candidates) {
      if (known.path == path.string()) return;
    }
    std::error_code error;
    const bool there = fs::is_regular_file(path, error);
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
  static std::vector<fs::path> pythons(const fs::path& lib) {
    std::vector<fs::path> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(lib, error)) {
      if (entry.path().filename().string().rfind("python3", 0) == 0) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end(), std::greater<>());
    return found;
  }
};

// The file that a handle came from.
std::string path_of(void* handle) {
  Dl_info info{};
  void* symbol = dlsym(handle, "nvrtcVersion");
  const bool known = symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : "";
}

void already_loaded(Search& search) {
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
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/local", error)) {
    if (entry.path().filename().string().rfind("cuda-", 0) == 0) versions.push_back(entry.path().string());
  }
  std::sort(versions.begin(), versions.end(), std::greater<>());
  for (const std::string& home : versions) toolkit(search, home, "usual toolkit folder");
  toolkit(search, "/opt/cuda", "usual toolkit folder");
}

// Last, since only the loader knows what a bare name means and asking it means loading.
void by_name(Search& search) {
  const bool any = std::any_of(search.candidates.begin(), search.candidates.end(), [](auto& c) { return c.found; });
  if (any) return;
  for (const char* soname : kSonames) {
    if (void* handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL)) {
      search.file(path_of(handle), "by name");
    } else {
      search.candidates.push_back({soname, "by name", dlerror(), false});  // NOLINT(concurrency-mt-unsafe)
    }
  }
}

}  // namespace

std::vector<NvrtcCandidate> find_nvrtc(const std::string& explicit_path, const Environment& environment) {
  Search search;
  if (!explicit_path.empty()) {
    search.file(explicit_path, "given by option or QUERN_NVRTC");
    return search.candidates;
  }
  already_loaded(search);
  search.python_prefix(environment[Variable::virtual_env], "NVIDIA wheel in VIRTUAL_ENV");
  search.python_prefix(environment[Variable::conda_prefix], "NVIDIA wheel in CONDA_PREFIX");
  if (!environment[Variable::home].empty())
    search.python_prefix(environment[Variable::home] + "/.local", "NVIDIA wheel of the user");
  search.python_prefix("/usr/local", "NVIDIA wheel of the system");
  search.packages("/usr/lib/python3/dist-packages", "NVIDIA wheel of the system");
  toolkit(search, environment[Variable::conda_prefix], "CONDA_PREFIX");
  loader_path(search, environment[Variable::ld_library_path]);
  toolkit(search, environment[Variable::cuda_home], "CUDA_HOME");
  toolkit(search, environment[Variable::cuda_path], "CUDA_PATH");
  usual_toolkits(search);
  by_name(search);
  return search.candidates;
}

}  // namespace quern
