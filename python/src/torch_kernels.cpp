// Kernels of PyTorch's dispatcher. It calls a function without a context, so each operator has a function of its own.
#include <array>
#include <stdexcept>
#include <utility>

#include "torch_operator.h"

namespace quern::python {
namespace {

constexpr std::size_t kMostKernels = 128;

// Threads may use them while the process ends.
auto& the_operators = *new std::array<TorchOperator*, kMostKernels>;
std::size_t kernel_count = 0;  // guarded by the interpreter lock

template <std::size_t I>
void run_kernel(StableValue* stack, std::uint64_t /*inputs*/, std::uint64_t outputs) {
  the_operators[I]->run(stack, outputs);
}

template <std::size_t... I>
constexpr std::array<TorchKernel, sizeof...(I)> make_entries(std::index_sequence<I...>) {
  return {&run_kernel<I>...};
}
constexpr std::array<TorchKernel, kMostKernels> kEntries = make_entries(std::make_index_sequence<kMostKernels>());

TorchLibrary* new_library(const char* key) {
  TorchLibrary* made = nullptr;
  require(torch_abi().new_library("quern", key, "quern", 0, &made), "make a library");
  return made;
}

}  // namespace

void register_kernels(TorchOperator& run, const std::string& name) {
  // Never deleted: that would take the kernels back.
  static TorchLibrary* const cpu = new_library("CPU");
  static TorchLibrary* const cuda = new_library("CUDA");
  if (kernel_count == kMostKernels) throw std::runtime_error("quern has more operators than kernels for PyTorch");
  the_operators[kernel_count] = &run;
  for (TorchLibrary* const library : {cpu, cuda})
    require(torch_abi().add_kernel(library, name.c_str(), kEntries[kernel_count], kTorchVersion), "add a kernel");
  ++kernel_count;
}

}  // namespace quern::python
