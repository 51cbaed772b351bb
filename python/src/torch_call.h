// A call of torch.ops.quern.*: the arguments that PyTorch's dispatcher gives, sorted by what they are.
#ifndef QUERN_PYTHON_TORCH_CALL_H_
#define QUERN_PYTHON_TORCH_CALL_H_

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "place.h"
#include "small.h"
#include "torch_abi.h"

namespace quern::python {

// A family's operator: what its arguments are, in the schema's order.
class TorchSignature {
 public:
  enum Type { tensor, tensors, text, integer, integers, real };
  enum Use { operand, setting, number };
  struct Argument {
    std::string name;  // the operand's, the field's or the number's
    Type type;
    Use use;
    bool is_optional;
    int operand;
  };
  // arguments: names and types of the schema, {"rows", "SymInt?"}. for_gradients: an input that a forward ignores, or
  // "". Throws std::runtime_error for what the family has not.
  TorchSignature(const quern_family& family, const std::vector<std::pair<std::string, std::string>>& arguments,
                 const std::string& for_gradients);

  const quern_family& family;
  std::vector<Argument> arguments;
  int ignored_operand = -1;  // by a forward
  int pass = -1;             // the argument that says whether it is one

 private:
  Argument read(const std::string& name, const std::string& type) const;
};

// The value of a setting, borrowed from the call.
struct TorchSetting {
  bool is_given;
  std::int64_t integer;  // of a real one its bytes
  const char* text;
  std::size_t length;
  TorchList* list;
  double real() const {
    double value = 0;
    std::memcpy(&value, &integer, sizeof(value));
    return value;
  }
};

struct TorchGiven {
  int operand;
  int entry;
  TorchTensor* handle;  // borrowed
  quern_tensor view;
};

// Owns what is on the stack, whose entries are then free for results.
class TorchCall {
 public:
  TorchCall(const TorchSignature& signature, StableValue* stack) : signature_(signature), stack_(stack) {}
  TorchCall(const TorchCall&) = delete;
  TorchCall& operator=(const TorchCall&) = delete;
  ~TorchCall();
  // Throws std::runtime_error.
  void read();
  // Puts packed copies in the place of inputs that are not. Returns false if there are none.
  bool pack();

  const TorchSignature& signature() const { return signature_; }
  const quern_family& family() const { return signature_.family; }
  const Small<TorchGiven, 12>& tensors() const { return tensors_; }
  // One for each argument that is a setting, in their order.
  const Small<TorchSetting, 24>& settings() const { return settings_; }
  const Small<quern_number, 12>& numbers() const { return numbers_; }
  // Null: not given.
  const TorchGiven* find(int operand, int entry) const;
  // The first tensor, which says where the call runs.
  const quern_tensor& first() const { return tensors_[0].view; }
  // The family's name with the settings, and with the extents among the numbers.
  std::string text() const;

 private:
  void read_tensors(const TorchSignature::Argument& argument, StableValue value);
  void read_setting(const TorchSignature::Argument& argument, const StableValue* value);
  void read_number(const TorchSignature::Argument& argument, StableValue value);
  void add_tensor(const TorchSignature::Argument& argument, int entry, TorchTensor* handle);
  bool ignores(const TorchSignature::Argument& argument) const;

  const TorchSignature& signature_;
  StableValue* stack_;
  Small<TorchGiven, 12> tensors_;
  Small<TorchSetting, 24> settings_;
  Small<quern_number, 12> numbers_;
  std::vector<TorchOwner<TorchTensor>> copies_;
};

// A new tensor with these strides, on the device of `like`.
TorchOwner<TorchTensor> new_torch_tensor(const quern_tensor& like, std::int32_t dtype, int rank,
                                         const std::int64_t* sizes, const std::int64_t* strides);
// Fills the view of a tensor. `name`: the operand's, for messages.
void view(TorchTensor* tensor, const char* name, quern_tensor& view);
std::vector<std::int64_t> numbers_of(TorchList* list);

}  // namespace quern::python

#endif  // QUERN_PYTHON_TORCH_CALL_H_
