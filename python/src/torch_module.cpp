// What quern.torch needs of the module: operators given to PyTorch.
#include <deque>
#include <stdexcept>

#include "objects.h"
#include "torch_operator.h"

namespace quern::python {
namespace {

const quern_family& family_of(const std::string& name) {
  size_t count = 0;
  const quern_family* const families = quern_families(&count);
  for (size_t i = 0; i < count; ++i) {
    if (name == families[i].name) return families[i];
  }
  throw std::runtime_error("quern has no family " + name);
}

// A list of pairs of str.
std::vector<std::pair<std::string, std::string>> pairs_of(PyObject* list) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (Py_ssize_t i = 0, size = PySequence_Size(list); i < size; ++i) {
    const Ref row = owned(PySequence_GetItem(list, i));
    const Ref name = owned(PySequence_GetItem(row.get(), 0)), type = owned(PySequence_GetItem(row.get(), 1));
    pairs.emplace_back(text_of(name.get()), text_of(type.get()));
  }
  return pairs;
}

void load_abi() {
  try {
    load_torch_abi();
  } catch (const std::runtime_error& error) {
    raise(PyExc_ImportError, error.what());
  }
}

PyObject* register_torch(PyObject*, PyObject* args, PyObject* words) {
  return guarded([&] {
    static const char* const kNames[] = {"family", "arguments", "returns_list", "operators", "for_gradients", nullptr};
    const char *family = nullptr, *for_gradients = "";
    PyObject *arguments = nullptr, *operators = nullptr;
    int returns_list = 0;
    if (PyArg_ParseTupleAndKeywords(args, words, "sOpO|s:register_torch", const_cast<char**>(kNames), &family,
                                    &arguments, &returns_list, &operators, &for_gradients) == 0)
      throw Raised();
    load_abi();
    // They live as long as the process, as PyTorch's dispatcher does.
    static auto* const all = new std::deque<TorchOperator>;
    TorchOperator& made =
        all->emplace_back(TorchSignature(family_of(family), pairs_of(arguments), for_gradients), returns_list != 0);
    for (Py_ssize_t i = 0, size = PySequence_Size(operators); i < size; ++i)
      register_kernels(made, text_of(owned(PySequence_GetItem(operators, i)).get()));
    return none();
  });
}

PyMethodDef methods[] = {
    {"_register_torch", reinterpret_cast<PyCFunction>(&register_torch), METH_VARARGS | METH_KEYWORDS,
     "_register_torch($module, /, family, arguments, returns_list, operators, for_gradients='')\n--\n\n"
     "Gives PyTorch kernels of a family for the CPU and CUDA.\n\n"
     "arguments      name and type of each argument of the schema\n"
     "operators      names of operators that are defined and share their plans\n"
     "for_gradients  an input that a forward ignores"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_torch(PyObject* module) { check(PyModule_AddFunctions(module, methods)); }

}  // namespace quern::python
