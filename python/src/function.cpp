#include "function.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "context.h"
#include "known_plan.h"
#include "results.h"

namespace quern::python {
namespace {

constexpr std::size_t kMostPlans = 256;  // of a function; the ones used longest ago go first

struct Function {
  explicit Function(const quern_family& row)
      : family(row),
        keywords(row),
        doc(function_doc(row)),
        definition{row.name, nullptr, METH_FASTCALL | METH_KEYWORDS, doc.c_str()} {}

  // The plan of a call; the last one used is tried first. Other threads may change the list while settings are read.
  std::shared_ptr<KnownPlan> find(const Call& call, Placed& placed) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const std::shared_ptr<KnownPlan> plan = plans[i];
      if (!serves(*plan, call, placed)) continue;
      const auto now = std::find(plans.begin(), plans.end(), plan);
      if (now != plans.end()) std::rotate(plans.begin(), now, now + 1);
      return plan;
    }
    const std::shared_ptr<KnownPlan> made = make_plan(family, call);
    require_served(family, *made, call, placed);
    plans.insert(plans.begin(), made);
    if (plans.size() > kMostPlans) plans.pop_back();
    return made;
  }

  Ref run(PyObject* const* args, Py_ssize_t count, PyObject* names) {
    const Call call(family, keywords, args, count, names);
    return in_context(call.tensors().front().object.get(), [&] { return run(call); });
  }

  Ref run(const Call& call) {
    Placed placed;
    const std::shared_ptr<KnownPlan> plan = find(call, placed);
    const quern_stream stream = call.stream();
    Results results(family, *plan, call, placed, stream);
    launch(plan->object(), stream, placed.tensors.data(), placed.tensors.size(), call.numbers().data(),
           call.numbers().size());
    return results.take();
  }

  const quern_family& family;
  const Keywords keywords;
  const std::string doc;
  PyMethodDef definition;
  std::vector<std::shared_ptr<KnownPlan>> plans;
};

PyObject* call_function(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    auto* const function = static_cast<Function*>(PyCapsule_GetPointer(self, nullptr));
    return function->run(args, count, names);
  });
}

}  // namespace

// They live as long as the process, as the module does.
void add_functions(PyObject* module) {
  static auto* const functions = new std::deque<Function>;
  size_t count = 0;
  const quern_family* const families = quern_families(&count);
  const Ref name = owned(PyUnicode_FromString("quern"));
  for (size_t i = 0; i < count; ++i) {
    Function& function = functions->emplace_back(families[i]);
    function.definition.ml_meth = reinterpret_cast<PyCFunction>(&call_function);
    const Ref self = owned(PyCapsule_New(&function, nullptr, nullptr));
    const Ref object = owned(PyCFunction_NewEx(&function.definition, self.get(), name.get()));
    check(PyModule_AddObject(module, families[i].name, copy(object.get()).release()));
  }
}

}  // namespace quern::python
