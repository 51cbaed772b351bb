#include "torch_call.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "setting.h"

namespace quern::python {
namespace {

using Argument = TorchSignature::Argument;

template <class T>
T bytes_of(StableValue value) {
  T result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

std::size_t size_of(TorchList* list) {
  std::size_t size = 0;
  require(torch_abi().list_size(list, &size), "read a list");
  return size;
}

StableValue item_of(TorchList* list, std::size_t i) {
  StableValue item = 0;
  require(torch_abi().list_item(list, i, &item), "read a list");
  return item;
}

void free_value(TorchSignature::Type type, StableValue value) {
  const TorchAbi& abi = torch_abi();
  if (type == TorchSignature::tensor) abi.delete_tensor(handle_of<TorchTensor>(value));
  if (type == TorchSignature::text) abi.delete_string(handle_of<TorchString>(value));
  if (type != TorchSignature::tensors && type != TorchSignature::integers) return;
  auto* const list = handle_of<TorchList>(value);
  std::size_t size = 0;
  if (type == TorchSignature::tensors) abi.list_size(list, &size);
  for (std::size_t i = 0; i < size; ++i) {
    StableValue item = 0;
    if (abi.list_item(list, i, &item) == 0) abi.delete_tensor(handle_of<TorchTensor>(item));
  }
  abi.delete_list(list);
}

void free_argument(const Argument& argument, StableValue value) {
  if (!argument.is_optional) {
    free_value(argument.type, value);
  } else if (auto* const inner = handle_of<StableValue>(value); inner != nullptr) {
    free_value(argument.type, *inner);
    torch_abi().delete_value == nullptr ? delete inner : void(torch_abi().delete_value(inner));
  }
}

// In digits that give the number again; a problem's text has it as the library writes it.
std::string real_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string setting_text(TorchSignature::Type type, const TorchSetting& setting) {
  if (type == TorchSignature::text) return quoted(std::string(setting.text, setting.length));
  if (type == TorchSignature::integer) return std::to_string(setting.integer);
  if (type == TorchSignature::real) return real_text(setting.real());
  std::string all;
  for (const std::int64_t number : numbers_of(setting.list)) all += (all.empty() ? "" : ",") + std::to_string(number);
  return all.empty() ? "none" : all;
}

}  // namespace

TorchCall::~TorchCall() {
  for (std::size_t i = 0; i < signature_.arguments.size(); ++i) free_argument(signature_.arguments[i], stack_[i]);
}

void TorchCall::read() {
  for (std::size_t i = 0; i < signature_.arguments.size(); ++i) {
    const Argument& argument = signature_.arguments[i];
    const StableValue* const value = argument.is_optional ? handle_of<StableValue>(stack_[i]) : &stack_[i];
    if (argument.use == TorchSignature::setting) {
      read_setting(argument, value);
    } else if (value != nullptr && argument.use == TorchSignature::number) {
      read_number(argument, *value);
    } else if (value != nullptr && !ignores(argument)) {
      read_tensors(argument, *value);
    }
  }
  if (tensors_.size() == 0) throw std::runtime_error(std::string(family().name) + " takes at least one tensor");
}

bool TorchCall::ignores(const Argument& argument) const {
  if (argument.operand != signature_.ignored_operand) return false;
  const auto* const pass = handle_of<StableValue>(stack_[signature_.pass]);
  const char* text = nullptr;
  if (pass != nullptr) require(torch_abi().string_data(handle_of<TorchString>(*pass), &text), "read a string");
  return text == nullptr || std::strcmp(text, "forward") == 0;
}

void TorchCall::read_tensors(const Argument& argument, StableValue value) {
  if (argument.type == TorchSignature::tensor) {
    add_tensor(argument, 0, handle_of<TorchTensor>(value));
    return;
  }
  auto* const list = handle_of<TorchList>(value);
  for (std::size_t i = 0, size = size_of(list); i < size; ++i)
    add_tensor(argument, static_cast<int>(i), handle_of<TorchTensor>(item_of(list, i)));
}

void TorchCall::add_tensor(const Argument& argument, int entry, TorchTensor* handle) {
  TorchGiven given{argument.operand, entry, handle, {}};
  view(handle, argument.name.c_str(), given.view);
  tensors_.add(given);
}

void TorchCall::read_setting(const Argument& argument, const StableValue* value) {
  TorchSetting setting{value != nullptr, 0, nullptr, 0, nullptr};
  if (value != nullptr && argument.type == TorchSignature::text) {
    auto* const string = handle_of<TorchString>(*value);
    require(torch_abi().string_data(string, &setting.text), "read a string");
    require(torch_abi().string_length(string, &setting.length), "read a string");
    if (std::strlen(setting.text) != setting.length) throw std::runtime_error(argument.name + " holds a zero");
  } else if (value != nullptr && argument.type == TorchSignature::integers) {
    setting.list = handle_of<TorchList>(*value);
  } else if (value != nullptr) {
    setting.integer = bytes_of<std::int64_t>(*value);
  }
  settings_.add(setting);
}

void TorchCall::read_number(const Argument& argument, StableValue value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  quern_number number{argument.name.c_str(), 0, INT64_MIN};
  if (argument.type == TorchSignature::real) {
    number.real = bytes_of<double>(value);
    if (std::fabs(number.real) <= kExact && std::trunc(number.real) == number.real)
      number.integer = static_cast<std::int64_t>(number.real);
  } else {
    number.integer = bytes_of<std::int64_t>(value);
    number.real = static_cast<double>(number.integer);
  }
  numbers_.add(number);
}

const TorchGiven* TorchCall::find(int operand, int entry) const {
  for (const TorchGiven& given : tensors_) {
    if (given.operand == operand && given.entry == entry) return &given;
  }
  return nullptr;
}

std::string TorchCall::text() const {
  std::string text = family().name;
  std::size_t i = 0;
  for (const Argument& argument : signature_.arguments) {
    if (argument.use != TorchSignature::setting) continue;
    const TorchSetting& setting = settings_[i++];
    if (setting.is_given) text += " " + argument.name + "=" + setting_text(argument.type, setting);
  }
  for (const quern_number& number : numbers_) {
    for (std::size_t f = 0; f < family().field_count; ++f) {
      if (std::strcmp(family().fields[f].name, number.name) == 0)
        text += std::string(" ") + number.name + "=" + std::to_string(number.integer);
    }
  }
  return text;
}

bool TorchCall::pack() {
  bool packed = false;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    TorchGiven& given = tensors_[i];
    bool contiguous = true;
    if (std::strcmp(family().operands[given.operand].role, "input") == 0)
      require(torch_abi().is_contiguous(given.handle, &contiguous), "read a tensor");
    if (contiguous) continue;
    std::vector<std::int64_t> strides(given.view.ndim, 1);
    for (int d = given.view.ndim - 1; d > 0; --d)
      strides[d - 1] = strides[d] * std::max<std::int64_t>(given.view.shape[d], 1);
    std::int32_t dtype = 0;
    require(torch_abi().get_dtype(given.handle, &dtype), "read a tensor");
    copies_.push_back(new_torch_tensor(given.view, dtype, given.view.ndim, given.view.shape, strides.data()));
    require(torch_abi().copy(copies_.back().get(), given.handle, 0), "copy a tensor");
    given.handle = copies_.back().get();
    view(given.handle, family().operands[given.operand].name, given.view);
    packed = true;
  }
  return packed;
}

TorchOwner<TorchTensor> new_torch_tensor(const quern_tensor& like, std::int32_t dtype, int rank,
                                         const std::int64_t* sizes, const std::int64_t* strides) {
  const TorchAbi& abi = torch_abi();
  const bool on_cuda = like.device_type == kCuda;
  TorchTensor* made = nullptr;
  const std::int32_t code =
      abi.empty_strided(rank, sizes, strides, dtype, on_cuda ? abi.cuda : abi.cpu, like.device_id, &made);
  // PyTorch drops its exception, which is mostly this.
  require(code, on_cuda ? "make a tensor (CUDA out of memory, or an earlier error)" : "make a tensor");
  return TorchOwner<TorchTensor>(made);
}

void view(TorchTensor* tensor, const char* name, quern_tensor& view) {
  const TorchAbi& abi = torch_abi();
  std::int64_t rank = 0;
  std::int32_t dtype = 0, device_type = 0;
  view.byte_offset = 0;  // `data` is the first element
  const bool read = abi.get_dim(tensor, &rank) == 0 && abi.get_sizes(tensor, &view.shape) == 0 &&
                    abi.get_strides(tensor, &view.strides) == 0 && abi.get_dtype(tensor, &dtype) == 0 &&
                    abi.get_device_type(tensor, &device_type) == 0 &&
                    abi.get_device_index(tensor, &view.device_id) == 0 && abi.get_data(tensor, &view.data) == 0;
  if (!read) throw std::runtime_error(std::string(name) + " is a tensor without memory of its own");
  if (rank > kMaxDimensions) throw std::runtime_error(std::string(name) + " has more than 16 dimensions");
  if (!set_element(dtype, view))
    throw std::runtime_error(std::string(name) + " has elements of PyTorch's type " + std::to_string(dtype) +
                             ", which quern does not read");
  view.ndim = static_cast<std::int32_t>(rank);
  view.device_type = device_type == abi.cuda ? kCuda : kCpu;
  if (view.device_type == kCpu) view.device_id = 0;
}

std::vector<std::int64_t> numbers_of(TorchList* list) {
  std::vector<std::int64_t> numbers(size_of(list));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = bytes_of<std::int64_t>(item_of(list, i));
  return numbers;
}

}  // namespace quern::python
