// As much of the CUDA driver API as the example needs, from the real driver or from quern's host driver.
#ifndef EXAMPLES_ROW_SOFTMAX_DEVICE_H_
#define EXAMPLES_ROW_SOFTMAX_DEVICE_H_

#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace examples {

class Device {
 public:
  // Makes the first device's primary context current, for which `prepare` then makes plans.
  explicit Device(const std::string& libcuda) : library_(dlopen(libcuda.c_str(), RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    int device = 0;
    void* context = nullptr;
    call<int(unsigned)>("cuInit", 0U);
    call<int(int*, int)>("cuDeviceGet", &device, 0);
    call<int(void**, int)>("cuDevicePrimaryCtxRetain", &context, device);
    call<int(void*)>("cuCtxSetCurrent", context);
  }

  // Memory lives as long as the process.
  void* allocate(std::size_t bytes) {
    unsigned long long address = 0;
    call<int(unsigned long long*, std::size_t)>("cuMemAlloc_v2", &address, bytes);
    return reinterpret_cast<void*>(address);
  }
  void to_device(void* to, const void* from, std::size_t bytes) {
    call<int(unsigned long long, const void*, std::size_t)>("cuMemcpyHtoD_v2", address(to), from, bytes);
  }
  void to_host(void* to, const void* from, std::size_t bytes) {
    call<int(void*, unsigned long long, std::size_t)>("cuMemcpyDtoH_v2", to, address(from), bytes);
  }
  void wait() { call<int()>("cuCtxSynchronize"); }

 private:
  static unsigned long long address(const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); }

  template <class F, class... A>
  void call(const char* name, A... arguments) {
    void* function = dlsym(library_, name);
    if (function == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
    if (const int code = reinterpret_cast<F*>(function)(arguments...); code != 0)
      throw std::runtime_error(std::string(name) + ": error " + std::to_string(code));
  }

  void* library_;
};

}  // namespace examples

#endif  // EXAMPLES_ROW_SOFTMAX_DEVICE_H_
