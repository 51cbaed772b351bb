// A host with a quern of its own that opens a plugin with another: each calls its own, and a closed plugin leaves no
// kernels behind. Arguments: the plugin, libquern_hostdriver.so, a folder for the cache.
#include <dlfcn.h>
#include <quern/quern.h>

#include <cstdio>
#include <cstring>

namespace {

template <class F>
F find(void* library, const char* name) {
  return reinterpret_cast<F>(dlsym(library, name));
}

bool is_in(const void* address, const char* file) {
  Dl_info info{};
  const bool known = dladdr(address, &info) != 0 && info.dli_fname != nullptr;
  std::printf("%s is called from %s\n", known ? info.dli_fname : "?", file);
  return known && std::strcmp(info.dli_fname, file) == 0;
}

bool make_context_current(void* driver) {
  int device = 0;
  void* context = nullptr;
  return find<int (*)(unsigned)>(driver, "cuInit")(0) == 0 &&
         find<int (*)(int*, int)>(driver, "cuDeviceGet")(&device, 0) == 0 &&
         find<int (*)(void**, int)>(driver, "cuDevicePrimaryCtxRetain")(&context, device) == 0 &&
         find<int (*)(void*)>(driver, "cuCtxSetCurrent")(context) == 0;
}

}  // namespace

int main(int, char** arguments) {
  const char* const plugin = arguments[1];
  const quern::Runtime own;  // the host's quern is in use
  void* const driver = dlopen(arguments[2], RTLD_NOW);
  if (driver == nullptr || !make_context_current(driver)) return 2;
  for (int round = 0; round < 3; ++round) {
    void* const library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::puts(dlerror()), 3;
    if (!is_in(find<const void* (*)()>(library, "quern_of_plugin")(), plugin)) return 4;
    find<void (*)(const char*, const char*)>(library, "prepare_in_plugin")(arguments[2], arguments[3]);
    const auto alive = find<unsigned long long (*)(const char*)>(driver, "quernHostAlive");
    if (alive("libraries") != 2) return 5;
    dlclose(library);
    std::printf("libraries alive after the plugin was closed: %llu\n", alive("libraries"));
    if (alive("libraries") != 0) return 6;
    if (dlopen(plugin, RTLD_NOW | RTLD_NOLOAD) != nullptr) return std::puts("the plugin is still mapped"), 7;
  }
  return 0;
}
