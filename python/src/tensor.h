// Tensors of any package as quern_tensor.
#ifndef QUERN_PYTHON_TENSOR_H_
#define QUERN_PYTHON_TENSOR_H_

#include <utility>

#include "dlpack.h"
#include "place.h"
#include "python.h"

namespace quern::python {

// What a producer gave and takes back.
class Kept {
 public:
  Kept() = default;
  Kept(void* managed, void (*release)(void*)) : managed_(managed), release_(release) {}
  Kept(Kept&& other) noexcept : managed_(std::exchange(other.managed_, nullptr)), release_(other.release_) {}
  Kept& operator=(Kept&& other) noexcept {
    std::swap(managed_, other.managed_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Kept() {
    if (managed_ != nullptr) release_(managed_);
  }

 private:
  void* managed_ = nullptr;
  void (*release_)(void*) = nullptr;
};

// A view of an object's memory, valid as long as the object and itself. Not initialized but for `kept`: a launch has
// several on its stack.
struct Tensor {
  Kept kept;
  quern_tensor view;
  const ExchangeTable* table;  // of the object's type; null: it has none
  bool read_only;
  std::int64_t numbers[2 * kMaxDimensions];  // shape and strides, where the object has none in memory
};

// Fills `tensor` from an object with DLPack's exchange table, NumPy's __array_interface__, __dlpack__ or
// __cuda_array_interface__. `name` is the operand's, for messages. Throws Raised.
void view(PyObject* object, const char* name, Tensor& tensor);

// That of a type of tensors, which is remembered; null: it has none.
const ExchangeTable* exchange_table_of(PyTypeObject* type);

// The stream of a launch: `given` (null: not given) may be an int, or have __cuda_stream__; otherwise the current
// stream of the package of the first tensor with an exchange table, else the legacy default stream.
quern_stream stream_of(PyObject* given, const Tensor* tensors, std::size_t count);

// Sets code, bits and lanes from quern's name of a type.
void set_dtype(quern_tensor& view, const char* dtype);

struct Shape {
  const char* dtype;  // quern's name of it
  int rank;
  const std::int64_t* extents;
};
// A new tensor of the package that `like` is of, with packed rows. `like_dtype`: what the elements of `like` are.
// `fill`: what each element is; null: not initialized. `short_way`: PyTorch's of the current device.
Ref make(PyObject* like, const Tensor& like_view, const char* like_dtype, const Shape& shape, const int* fill,
         bool short_way);

}  // namespace quern::python

#endif  // QUERN_PYTHON_TENSOR_H_
