#include "torch_abi.h"

#include <dlfcn.h>

#include <array>
#include <stdexcept>
#include <string>

namespace quern::python {
namespace {

TorchAbi the_abi{};

// ---- Finding functions ----

// `import torch` has loaded them, mostly without making their symbols global.
void* find_symbol(const char* name) {
  if (void* const symbol = dlsym(RTLD_DEFAULT, name)) return symbol;
  for (const char* const library : {"libtorch_cpu.so", "libtorch_cuda.so", "libtorch.so"}) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void* const symbol = handle == nullptr ? nullptr : dlsym(handle, name);
    if (handle != nullptr) dlclose(handle);  // PyTorch keeps it
    if (symbol != nullptr) return symbol;
  }
  return nullptr;
}

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(find_symbol(name));
}

template <class Function>
void need(Function& function, const char* name) {
  find(function, name);
  if (function == nullptr)
    throw std::runtime_error(std::string("quern.torch needs PyTorch 2.10 or newer; this one has no ") + name);
}

std::int32_t number_of(const char* name) {
  std::int32_t (*function)() = nullptr;
  need(function, name);
  return function();
}

void find_tensors(TorchAbi& abi) {
  need(abi.get_dim, "aoti_torch_get_dim");
  need(abi.get_sizes, "aoti_torch_get_sizes");
  need(abi.get_strides, "aoti_torch_get_strides");
  need(abi.get_dtype, "aoti_torch_get_dtype");
  need(abi.get_device_type, "aoti_torch_get_device_type");
  need(abi.get_device_index, "aoti_torch_get_device_index");
  need(abi.get_data, "aoti_torch_get_data_ptr");
  need(abi.is_contiguous, "aoti_torch_is_contiguous");
  need(abi.empty_strided, "aoti_torch_empty_strided");
  need(abi.copy, "aoti_torch_copy_");
  need(abi.zero, "aoti_torch_zero_");
  need(abi.scalar, "aoti_torch_scalar_to_tensor_int64");
  need(abi.new_handle, "aoti_torch_new_tensor_handle");
  need(abi.delete_tensor, "aoti_torch_delete_tensor_object");
}

void find_values(TorchAbi& abi) {
  need(abi.new_list, "torch_new_list_reserve_size");
  need(abi.list_size, "torch_list_size");
  need(abi.list_item, "torch_list_get_item");
  need(abi.list_push, "torch_list_push_back");
  need(abi.delete_list, "torch_delete_list");
  need(abi.string_data, "torch_string_c_str");
  need(abi.string_length, "torch_string_length");
  need(abi.delete_string, "torch_delete_string");
  find(abi.delete_value, "torch_delete_stable_ivalue");
}

void find_rest(TorchAbi& abi) {
  need(abi.new_library, "aoti_torch_library_init_impl");
  need(abi.add_kernel, "torch_library_impl");
  need(abi.call, "torch_call_dispatcher");
  need(abi.current_device, "aoti_torch_get_current_device_index");
  need(abi.new_guard, "aoti_torch_create_device_guard");
  need(abi.delete_guard, "aoti_torch_delete_device_guard");
  find(abi.current_stream, "aoti_torch_get_current_cuda_stream");
  find(abi.new_stream_guard, "aoti_torch_create_cuda_stream_guard");
  find(abi.delete_stream_guard, "aoti_torch_delete_cuda_stream_guard");
  abi.cpu = number_of("aoti_torch_device_type_cpu");
  abi.cuda = number_of("aoti_torch_device_type_cuda");
}

// ---- Types of elements ----

struct Element {
  const char* torch;  // the function that gives PyTorch's number of it
  std::uint8_t code;  // DLPack's
  std::uint8_t bits;
};
constexpr Element kElements[] = {
    {"aoti_torch_dtype_float64", 2, 64},       {"aoti_torch_dtype_float32", 2, 32},
    {"aoti_torch_dtype_float16", 2, 16},       {"aoti_torch_dtype_bfloat16", 4, 16},
    {"aoti_torch_dtype_float8_e4m3fn", 10, 8}, {"aoti_torch_dtype_float8_e5m2", 12, 8},
    {"torch_dtype_float8_e8m0fnu", 14, 8},     {"aoti_torch_dtype_int64", 0, 64},
    {"aoti_torch_dtype_int32", 0, 32},         {"aoti_torch_dtype_int16", 0, 16},
    {"aoti_torch_dtype_int8", 0, 8},           {"aoti_torch_dtype_uint8", 1, 8},
    {"aoti_torch_dtype_uint16", 1, 16},        {"aoti_torch_dtype_uint32", 1, 32},
    {"aoti_torch_dtype_uint64", 1, 64},        {"aoti_torch_dtype_bool", 6, 8},
    {"aoti_torch_dtype_complex64", 5, 64},     {"aoti_torch_dtype_complex128", 5, 128},
};
constexpr std::size_t kElementCount = sizeof(kElements) / sizeof(kElements[0]);

// By PyTorch's number; a code and bits of 0: none of quern's.
struct Elements {
  std::array<Element, 128> of{};
  std::int32_t number[kElementCount] = {};
};
Elements the_elements;

void find_elements(Elements& elements) {
  for (std::size_t i = 0; i < kElementCount; ++i) {
    // PyTorch 2.10 has the type and no function for its number.
    const bool without = kElements[i].code == 14 && find_symbol(kElements[i].torch) == nullptr;
    const std::int32_t number = without ? 44 : number_of(kElements[i].torch);
    elements.number[i] = number;
    if (number >= 0 && static_cast<std::size_t>(number) < elements.of.size()) elements.of[number] = kElements[i];
  }
}

}  // namespace

void load_torch_abi() {
  if (the_abi.call != nullptr) return;
  TorchAbi abi{};
  find_tensors(abi);
  find_values(abi);
  find_rest(abi);
  find_elements(the_elements);
  the_abi = abi;
}

const TorchAbi& torch_abi() { return the_abi; }

void require(std::int32_t code, const char* what) {
  if (code != 0) throw std::runtime_error(std::string("PyTorch could not ") + what + "; it says why on stderr");
}

bool set_element(std::int32_t torch_dtype, quern_tensor& view) {
  const bool known = torch_dtype >= 0 && static_cast<std::size_t>(torch_dtype) < the_elements.of.size();
  if (!known || the_elements.of[torch_dtype].bits == 0) return false;
  view.dtype_code = the_elements.of[torch_dtype].code;
  view.dtype_bits = the_elements.of[torch_dtype].bits;
  view.dtype_lanes = 1;
  return true;
}

std::int32_t torch_dtype_of(const quern_place& place) {
  for (std::size_t i = 0; i < kElementCount; ++i) {
    if (kElements[i].code == place.dtype_code && kElements[i].bits == place.dtype_bits) return the_elements.number[i];
  }
  throw std::runtime_error(std::string(place.name) + " is of a type that PyTorch has not: " + place.dtype);
}

}  // namespace quern::python
