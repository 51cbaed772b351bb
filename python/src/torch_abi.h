// PyTorch's stable C interface: the functions that quern's operators call, found in the libraries that `import torch`
// loaded. Written from its documentation; nothing of PyTorch is needed to build this.
#ifndef QUERN_PYTHON_TORCH_ABI_H_
#define QUERN_PYTHON_TORCH_ABI_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "quern/c.h"

namespace quern::python {

// An argument or a result of an operator: a number's bytes, or an owned handle of a tensor, a list or a string. An
// optional one is the address of such a value, which who takes it frees, or 0.
using StableValue = std::uint64_t;
using TorchKernel = void (*)(StableValue* stack, std::uint64_t inputs, std::uint64_t outputs);

struct TorchTensor;
struct TorchList;
struct TorchString;
struct TorchLibrary;
struct TorchGuard;
struct TorchStreamGuard;

// Functions return 0, or an error that PyTorch has written to stderr. Null are those of newer versions and of CUDA,
// where they are missing.
struct TorchAbi {
  // Tensors. Sizes and strides are borrowed.
  std::int32_t (*get_dim)(TorchTensor*, std::int64_t*);
  std::int32_t (*get_sizes)(TorchTensor*, std::int64_t**);
  std::int32_t (*get_strides)(TorchTensor*, std::int64_t**);
  std::int32_t (*get_dtype)(TorchTensor*, std::int32_t*);
  std::int32_t (*get_device_type)(TorchTensor*, std::int32_t*);
  std::int32_t (*get_device_index)(TorchTensor*, std::int32_t*);
  std::int32_t (*get_data)(TorchTensor*, void**);
  std::int32_t (*is_contiguous)(TorchTensor*, bool*);
  std::int32_t (*empty_strided)(std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
                                std::int32_t dtype, std::int32_t device_type, std::int32_t device_index, TorchTensor**);
  std::int32_t (*copy)(TorchTensor* target, TorchTensor* source, std::int32_t non_blocking);
  std::int32_t (*zero)(TorchTensor*);
  std::int32_t (*scalar)(std::int64_t value, TorchTensor**);
  std::int32_t (*new_handle)(TorchTensor*, TorchTensor**);
  std::int32_t (*delete_tensor)(TorchTensor*);
  // Lists and strings.
  std::int32_t (*new_list)(std::size_t capacity, TorchList**);
  std::int32_t (*list_size)(TorchList*, std::size_t*);
  std::int32_t (*list_item)(TorchList*, std::size_t, StableValue*);
  std::int32_t (*list_push)(TorchList*, StableValue);
  std::int32_t (*delete_list)(TorchList*);
  std::int32_t (*string_data)(TorchString*, const char**);
  std::int32_t (*string_length)(TorchString*, std::size_t*);
  std::int32_t (*delete_string)(TorchString*);
  std::int32_t (*delete_value)(StableValue*);  // may be null: by `delete`
  // The dispatcher.
  std::int32_t (*new_library)(const char* name, const char* key, const char* file, std::uint32_t line, TorchLibrary**);
  std::int32_t (*add_kernel)(TorchLibrary*, const char* name, TorchKernel, std::uint64_t version);
  std::int32_t (*call)(const char* name, const char* overload, StableValue* stack, std::uint64_t version);
  // Devices; what streams need is null without CUDA.
  std::int32_t (*current_device)(std::int32_t*);
  std::int32_t (*new_guard)(std::int32_t device_index, TorchGuard**);
  std::int32_t (*delete_guard)(TorchGuard*);
  std::int32_t (*current_stream)(std::int32_t device_index, void**);
  std::int32_t (*new_stream_guard)(void* stream, std::int32_t device_index, TorchStreamGuard**);  // of this thread
  std::int32_t (*delete_stream_guard)(TorchStreamGuard*);

  std::int32_t cpu;  // types of devices
  std::int32_t cuda;
};

// Of PyTorch 2.10, whose conversions of values this uses.
inline constexpr std::uint64_t kTorchVersion = (std::uint64_t{2} << 56) | (std::uint64_t{10} << 48);

// Finds the functions. Throws std::runtime_error where one is missing.
void load_torch_abi();
// Those that were found.
const TorchAbi& torch_abi();

// Throws std::runtime_error unless `code` is 0. `what`: "make a tensor".
void require(std::int32_t code, const char* what);

// Types of elements. Sets code, bits and lanes; returns false for a type that quern does not read.
bool set_element(std::int32_t torch_dtype, quern_tensor& view);
// Throws std::runtime_error for a type that PyTorch has not.
std::int32_t torch_dtype_of(const quern_place& place);

struct DeleteTorch {
  void operator()(TorchTensor* tensor) const { torch_abi().delete_tensor(tensor); }
  void operator()(TorchGuard* guard) const { torch_abi().delete_guard(guard); }
  void operator()(TorchStreamGuard* guard) const { torch_abi().delete_stream_guard(guard); }
  void operator()(TorchList* list) const { torch_abi().delete_list(list); }
};
template <class T>
using TorchOwner = std::unique_ptr<T, DeleteTorch>;

template <class T>
T* handle_of(StableValue value) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(value));
}
inline StableValue value_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace quern::python

#endif  // QUERN_PYTHON_TORCH_ABI_H_
