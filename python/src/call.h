// A call of a family's function, quern.gather(x, index, width=7168): its arguments sorted by what they are.
#ifndef QUERN_PYTHON_CALL_H_
#define QUERN_PYTHON_CALL_H_

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "objects.h"
#include "tensor.h"

namespace quern::python {

// What the keywords of a family's function are.
class Keywords {
 public:
  enum Kind { operand, number, setting, stream, runtime, config };
  struct Meaning {
    Kind kind;
    int index;  // of the operand
  };
  explicit Keywords(const quern_family& family);
  // Throws Raised for a name that is none.
  Meaning find(PyObject* name) const;

 private:
  void add(const char* name, Kind kind, std::size_t index = 0);
  const quern_family& family_;
  Ref names_;  // a dict of str and int: kind + 16 * index
};

struct GivenTensor {
  int operand;
  int entry;
  Ref object;
  Tensor tensor;
};

struct GivenSetting {
  PyObject* name;  // borrowed, as long as the call
  PyObject* value;
};

// A number by name; `integer` is INT64_MIN if the value is not an integer.
quern_number number_of(PyObject* name, PyObject* value);

class Call {
 public:
  Call(const quern_family& family, const Keywords& keywords, PyObject* const* args, Py_ssize_t count, PyObject* names);

  const std::pmr::vector<GivenTensor>& tensors() const { return tensors_; }
  const std::vector<GivenSetting>& settings() const { return settings_; }
  const std::vector<quern_number>& numbers() const { return numbers_; }
  RuntimeObject* runtime() const { return runtime_.get(); }
  const char* config() const { return config_; }
  // Null: not given.
  const GivenTensor* find(int operand, int entry) const;
  quern_stream stream() const;
  // The problem: the family's name and the settings; with `whole`, and the extents among the numbers.
  std::string text(bool whole) const;

 private:
  void add_operand(int operand, PyObject* value);
  void add_tensor(int operand, int entry, PyObject* value);
  void add_number(PyObject* name, PyObject* value);
  void add(PyObject* name, const Keywords::Meaning& meaning, PyObject* value);

  const quern_family& family_;
  // A few tensors are in the call itself: memory for three from the heap costs up to 600 instructions.
  alignas(GivenTensor) std::byte memory_[4 * sizeof(GivenTensor)];
  std::pmr::monotonic_buffer_resource resource_{memory_, sizeof memory_};
  std::pmr::vector<GivenTensor> tensors_{&resource_};
  std::vector<GivenSetting> settings_;
  std::vector<quern_number> numbers_;
  RuntimeRef runtime_;
  PyObject* stream_ = nullptr;
  const char* config_ = nullptr;
};

}  // namespace quern::python

#endif  // QUERN_PYTHON_CALL_H_
