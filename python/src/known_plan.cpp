#include "known_plan.h"

#include <algorithm>
#include <cstring>

#include "error.h"
#include "setting.h"

namespace quern::python {

namespace {

bool is_immutable(PyObject* value) {
  return value == Py_None || PyUnicode_Check(value) != 0 || PyLong_Check(value) != 0 || PyType_Check(value) != 0;
}

bool is_same_name(PyObject* a, PyObject* b) {
  return a == b || std::strcmp(text_of(a), text_of(b)) == 0;  // mostly interned
}

bool is_same(const KnownPlan::Setting& known, const GivenSetting& given) {
  if (!is_same_name(known.name.get(), given.name)) return false;
  return (known.immutable && known.value.get() == given.value) || known.text == setting_text(given.value);
}

bool has_settings_of(const KnownPlan& entry, const Call& call) {
  if (entry.runtime != reinterpret_cast<PyObject*>(call.runtime())) return false;
  if (entry.config != (call.config() == nullptr ? "" : call.config())) return false;
  if (entry.settings.size() != call.settings().size()) return false;
  for (std::size_t i = 0; i < entry.settings.size(); ++i) {
    if (!is_same(entry.settings[i], call.settings()[i])) return false;
  }
  return true;
}

// Returns false if the call has a tensor that the plan has no place for.
bool place_tensors(const KnownPlan& entry, const Call& call, Placed& placed) {
  const std::size_t count = entry.places.size();
  placed.given.resize(count);
  placed.tensors.resize(count);
  placed.places.resize(count);
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    placed.given[i] = call.find(entry.places[i].operand, entry.places[i].entry);
    placed.tensors[i] = placed.given[i] == nullptr ? nullptr : &placed.given[i]->tensor.view;
    used += placed.given[i] == nullptr ? 0 : 1;
  }
  return used == call.tensors().size();
}

// An input that the plan needs and the call lacks.
const char* missing_input(const KnownPlan& entry, const Placed& placed) {
  const quern_plan_info& info = *entry.object()->info;
  for (std::size_t i = 0; i < info.place_count; ++i) {
    if (placed.given[i] == nullptr && is_role(info.places[i], "input")) return info.places[i].name;
  }
  return nullptr;
}

bool has_same_places(const KnownPlan& entry, const Placed& placed) {
  for (std::size_t i = 0; i < placed.given.size(); ++i) {
    if (entry.given[i] != (placed.given[i] != nullptr)) return false;
  }
  return true;
}

// ---- A new plan ----

std::string name_of(const quern_family& family, const GivenTensor& given) {
  return place_name(family, {given.operand, given.entry});
}

std::string infer(const quern_family& family, const Call& call) {
  std::vector<std::string> names;
  std::vector<const quern_tensor*> tensors;
  for (const GivenTensor& given : call.tensors()) {
    names.push_back(name_of(family, given));
    tensors.push_back(&given.tensor.view);
  }
  std::string problem;
  quern_error* error = nullptr;
  check(infer_problem(call.runtime()->runtime, call.text(true), names, tensors, call.numbers().data(),
                      call.numbers().size(), problem, &error),
        error);
  return problem;
}

bool has_cpu_tensors(const Call& call) {
  return std::any_of(call.tensors().begin(), call.tensors().end(),
                     [](const GivenTensor& given) { return given.tensor.view.device_type == kCpu; });
}

}  // namespace

bool serves(const KnownPlan& entry, const Call& call, Placed& placed) {
  if (!has_settings_of(entry, call) || !place_tensors(entry, call, placed) || !has_same_places(entry, placed))
    return false;
  return quern_plan_shapes(entry.object()->plan, placed.tensors.data(), placed.tensors.size(), call.numbers().data(),
                           call.numbers().size(), placed.places.data(), nullptr) == QUERN_OK &&
         can_make_results(placed.given, placed.places);
}

std::shared_ptr<KnownPlan> make_plan(const quern_family& family, const Call& call) {
  auto entry = std::make_shared<KnownPlan>();
  entry->plan = prepare(call.runtime(), infer(family, call), call.config(), has_cpu_tensors(call));
  entry->runtime = reinterpret_cast<PyObject*>(call.runtime());
  if (call.config() != nullptr) entry->config = call.config();
  for (const GivenSetting& setting : call.settings())
    entry->settings.push_back(
        {copy(setting.name), copy(setting.value), setting_text(setting.value), is_immutable(setting.value)});
  const quern_plan_info& info = *entry->object()->info;
  for (std::size_t i = 0; i < info.place_count; ++i) entry->places.push_back(where_is(family, info.places[i].name));
  for (const Where& where : entry->places) entry->given.push_back(call.find(where.operand, where.entry) != nullptr);
  return entry;
}

void require_served(const quern_family& family, const KnownPlan& entry, const Call& call, Placed& placed) {
  if (!place_tensors(entry, call, placed)) {
    for (const GivenTensor& given : call.tensors()) {
      const bool used = std::find(placed.given.begin(), placed.given.end(), &given) != placed.given.end();
      if (!used)
        raise(PyExc_TypeError,
              std::string("this problem has no ") + name_of(family, given) + ": " + entry.object()->info->problem);
    }
  }
  if (const char* const missing = missing_input(entry, placed))
    raise(PyExc_TypeError, std::string("this problem needs ") + missing + ": " + entry.object()->info->problem);
  quern_error* error = nullptr;
  check(quern_plan_shapes(entry.object()->plan, placed.tensors.data(), placed.tensors.size(), call.numbers().data(),
                          call.numbers().size(), placed.places.data(), &error),
        error);
}

}  // namespace quern::python
