// The little of the driver API that an application would bring itself: a context, memory, a stream.
#ifndef APP_DEVICE_H_
#define APP_DEVICE_H_

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace app {

class Device {
 public:
  // Makes the first device's primary context current; false without a driver or device.
  bool open() {
    const char* given = std::getenv("QUERN_LIBCUDA");  // the same as quern's: a context belongs to one library
    library_ = dlopen(given != nullptr ? given : "libcuda.so.1", RTLD_NOW);
    if (library_ == nullptr || call<unsigned>("cuInit", 0u) != 0) return false;
    int device = 0, count = 0;
    if (call<int*>("cuDeviceGetCount", &count) != 0 || count == 0) return false;
    check("cuDeviceGet", call<int*, int>("cuDeviceGet", &device, 0));
    void* context = nullptr;
    check("cuDevicePrimaryCtxRetain", call<void**, int>("cuDevicePrimaryCtxRetain", &context, device));
    check("cuCtxSetCurrent", call<void*>("cuCtxSetCurrent", context));
    return true;
  }
  void* allocate(std::size_t bytes) const {
    unsigned long long address = 0;
    check("cuMemAlloc", call<unsigned long long*, std::size_t>("cuMemAlloc_v2", &address, bytes));
    return reinterpret_cast<void*>(address);
  }
  void upload(void* to, const void* from, std::size_t bytes) const {
    check("cuMemcpyHtoD", call<unsigned long long, const void*, std::size_t>(
                              "cuMemcpyHtoD_v2", reinterpret_cast<unsigned long long>(to), from, bytes));
  }
  // Waits for the default stream.
  void download(void* to, const void* from, std::size_t bytes) const {
    check("cuMemcpyDtoH", call<void*, unsigned long long, std::size_t>(
                              "cuMemcpyDtoH_v2", to, reinterpret_cast<unsigned long long>(from), bytes));
  }

 private:
  template <class... Args>
  int call(const char* name, Args... args) const {
    auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library_, name));
    return function == nullptr ? -1 : function(args...);
  }
  static void check(const char* name, int code) {
    if (code != 0) throw std::runtime_error(std::string(name) + " failed: " + std::to_string(code));
  }

  void* library_ = nullptr;
};

}  // namespace app

#endif  // APP_DEVICE_H_
