// quern.Plan.
#include <cstring>
#include <vector>

#include "call.h"
#include "context.h"
#include "error.h"
#include "objects.h"
#include "problem.h"
#include "tensor.h"

namespace quern::python {
namespace {

PyTypeObject* plan_type = nullptr;

constexpr std::size_t kInline = 24;  // tensors of a launch on the stack; more are on the heap
constexpr std::size_t kMaxNumbers = 16;

// ---- Launching ----

// The arguments of one launch.
class Launch {
 public:
  explicit Launch(const PlanObject* plan) : plan_(plan), count_(plan->info->place_count) {
    if (count_ > kInline) {
      more_tensors_.resize(count_);
      more_pointers_.resize(count_);
    }
    std::fill_n(pointers(), count_, nullptr);
  }

  void add(std::size_t place, PyObject* object) {
    if (place >= count_) refuse_count(place + 1);
    if (object == Py_None) return;
    const quern_place& wanted = plan_->info->places[place];
    if (pointers()[place] != nullptr) raise(PyExc_TypeError, std::string(wanted.name) + " is given twice");
    Tensor& tensor = tensors()[place];
    view(object, wanted.name, tensor);
    if (tensor.read_only && std::strcmp(wanted.role, "input") != 0)
      raise(PyExc_ValueError, std::string(wanted.name) + " is read-only");
    pointers()[place] = &tensor.view;
    if (first_ == nullptr && tensor.table != nullptr) {
      first_ = &tensor;
      first_object_ = object;
    }
  }

  void add(PyObject* name, PyObject* value) {
    const char* const text = text_of(name);
    if (std::strcmp(text, "stream") == 0) {
      stream_ = value;
      return;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (std::strcmp(plan_->info->places[i].name, text) == 0) {
        add(i, value);
        return;
      }
    }
    if (number_count_ == kMaxNumbers) raise(PyExc_TypeError, "too many numbers");
    numbers_[number_count_++] = number_of(name, value);
  }

  // The first tensor with an exchange table, or null.
  PyObject* first() const { return first_object_; }

  void run() {
    const quern_stream stream = plan_->on_host ? nullptr : stream_of(stream_, first_, first_ == nullptr ? 0 : 1);
    launch(plan_, stream, pointers(), count_, numbers_, number_count_);
  }

 private:
  Tensor* tensors() { return count_ > kInline ? more_tensors_.data() : tensors_; }
  const quern_tensor** pointers() { return count_ > kInline ? more_pointers_.data() : pointers_; }

  [[noreturn]] void refuse_count(std::size_t given) const {
    std::string names;
    for (std::size_t i = 0; i < count_; ++i) names += std::string(i == 0 ? "" : ", ") + plan_->info->places[i].name;
    raise(PyExc_TypeError, "launch takes " + std::to_string(count_) + " tensors (" + names + "), not " +
                               std::to_string(given) + " or more");
  }

  const PlanObject* plan_;
  const std::size_t count_;
  PyObject* stream_ = nullptr;
  const Tensor* first_ = nullptr;  // with an exchange table
  PyObject* first_object_ = nullptr;
  std::size_t number_count_ = 0;
  quern_number numbers_[kMaxNumbers];
  Tensor tensors_[kInline];
  const quern_tensor* pointers_[kInline];
  std::vector<Tensor> more_tensors_;
  std::vector<const quern_tensor*> more_pointers_;
};

PyObject* plan_launch(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    Launch launch(reinterpret_cast<PlanObject*>(self));
    for (Py_ssize_t i = 0; i < count; ++i) launch.add(static_cast<std::size_t>(i), args[i]);
    const Py_ssize_t words = names == nullptr ? 0 : PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < words; ++i) launch.add(PyTuple_GetItem(names, i), args[count + i]);
    in_context(launch.first(), [&] {
      launch.run();
      return 0;
    });
    return none();
  });
}

// ---- Attributes ----

const quern_plan_info& info_of(PyObject* self) { return *reinterpret_cast<PlanObject*>(self)->info; }

Ref image_row(const quern_image& image) {
  return owned(Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:d,s:i,s:i,s:i,s:I}", "step", image.step, "variant", image.variant,
                             "config", image.config, "key", image.key, "origin", image.origin, "compile_ms",
                             image.compile_ms, "registers", image.registers, "shared_bytes", image.shared_bytes,
                             "spill_bytes", image.spill_bytes, "alignment", image.alignment));
}

template <class T>
PyObject* rows_of(const T* rows, std::size_t count, Ref (*row)(const T&)) {
  return guarded([&] {
    Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; i < count; ++i)
      check(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), row(rows[i]).release()));
    return tuple;
  });
}

PyObject* get_problem(PyObject* self, void*) { return PyUnicode_FromString(info_of(self).problem); }
PyObject* get_family(PyObject* self, void*) { return PyUnicode_FromString(info_of(self).family); }
PyObject* get_why(PyObject* self, void*) { return PyUnicode_FromString(info_of(self).why); }
PyObject* get_operands(PyObject* self, void*) {
  return rows_of(info_of(self).places, info_of(self).place_count, &description_of);
}
PyObject* get_images(PyObject* self, void*) {
  return rows_of(info_of(self).images, info_of(self).image_count, &image_row);
}
PyObject* plan_repr(PyObject* self) { return PyUnicode_FromFormat("<quern.Plan '%s'>", info_of(self).problem); }

void plan_dealloc(PyObject* object) {
  auto* const self = reinterpret_cast<PlanObject*>(object);
  unlocked([&] {
    quern_plan_destroy(self->plan);
    return 0;
  });
  Py_XDECREF(reinterpret_cast<PyObject*>(self->runtime));
  PyTypeObject* const type = Py_TYPE(object);
  const auto release = reinterpret_cast<void (*)(void*)>(PyType_GetSlot(type, Py_tp_free));
  release(object);
  Py_DecRef(reinterpret_cast<PyObject*>(type));
}

PyMethodDef methods[] = {
    {"launch", reinterpret_cast<PyCFunction>(&plan_launch), METH_FASTCALL | METH_KEYWORDS,
     "launch($self, /, *tensors, stream=None, **numbers)\n--\n\n"
     "Enqueues the plan's kernels. tensors are those of `operands`, in that order or by name; None is an absent "
     "one.\n\n"
     "stream   an int, or an object with __cuda_stream__; default: the current stream of the tensors' package\n"
     "numbers  the family's run-time numbers (alpha=0.5), and open extents that no tensor has\n\n"
     "The tensors must live until the kernels have run. On the host the call returns when they have."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef attributes[] = {
    {"problem", &get_problem, nullptr, "The problem's text.", nullptr},
    {"family", &get_family, nullptr, "The family's name.", nullptr},
    {"why", &get_why, nullptr, "The config of each image, and where it came from.", nullptr},
    {"operands", &get_operands, nullptr,
     "The tensors that launch takes: dicts of name, role, dtype, shape and strides; None: known at the launch.",
     nullptr},
    {"images", &get_images, nullptr, "The plan's compiled kernels, with registers, key and origin.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

constexpr const char* kDoc = "Loaded kernels for one problem; quern.prepare makes it. launch() runs them.";
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&plan_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(&plan_repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, const_cast<char*>(kDoc)},
    {0, nullptr},
};
PyType_Spec spec = {"quern.Plan", sizeof(PlanObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

Ref prepare(RuntimeObject* runtime, const std::string& problem, const char* config, bool of_cpu_tensors) {
  quern_plan* plan = nullptr;
  quern_error* error = nullptr;
  const Ref held = copy(reinterpret_cast<PyObject*>(runtime));  // set_device may drop it meanwhile
  const quern_code code =
      unlocked([&] { return quern_prepare(runtime->runtime, quern_text(problem.c_str()), config, &plan, &error); });
  of_cpu_tensors ? check_of_cpu(code, error) : check(code, error);
  using New = PyObject* (*)(PyTypeObject*, Py_ssize_t);
  PyObject* const object = reinterpret_cast<New>(PyType_GetSlot(plan_type, Py_tp_alloc))(plan_type, 0);
  if (object == nullptr) quern_plan_destroy(plan);
  Ref result = owned(object);
  auto* const self = reinterpret_cast<PlanObject*>(object);
  self->plan = plan;
  self->info = quern_plan_describe(plan);
  self->on_host = self->info->on_host != 0;
  self->runtime = runtime;
  Py_IncRef(reinterpret_cast<PyObject*>(runtime));
  return result;
}

void launch(const PlanObject* plan, quern_stream stream, const quern_tensor* const* tensors, std::size_t count,
            const quern_number* numbers, std::size_t number_count) {
  quern_error* error = nullptr;
  const auto run = [&] { return quern_launch(plan->plan, stream, tensors, count, numbers, number_count, &error); };
  check(plan->on_host ? unlocked(run) : run(), error);
}

void add_plan(PyObject* module) {
  plan_type = reinterpret_cast<PyTypeObject*>(owned(PyType_FromSpec(&spec)).release());
  check(PyModule_AddObject(module, "Plan", copy(reinterpret_cast<PyObject*>(plan_type)).release()));
}

}  // namespace quern::python
