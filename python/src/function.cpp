#include "function.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "call.h"
#include "error.h"
#include "objects.h"
#include "setting.h"

namespace quern::python {
namespace {

constexpr std::size_t kMostPlans = 256;  // of a function; the ones used longest ago go first

// A plan that a function made, and the calls that it serves: those with these settings, whose tensors fit it.
struct Entry {
  struct Setting {
    Ref name;
    Ref value;
    std::string text;
    bool immutable;  // the same object is then the same value
  };
  // The operand of a place, for a look-up in a call.
  struct Where {
    int operand;
    int entry;
  };
  Ref plan;
  PyObject* runtime;  // compared only
  std::string config;
  std::vector<Setting> settings;
  std::vector<Where> places;
  struct Workspace {
    quern_stream stream;
    Ref memory;
  };
  std::vector<Workspace> workspaces;  // zeros, which each launch restores; launches of one stream follow each other

  const PlanObject* object() const { return reinterpret_cast<const PlanObject*>(plan.get()); }
};

bool is_immutable(PyObject* value) {
  return value == Py_None || PyUnicode_Check(value) != 0 || PyLong_Check(value) != 0 || PyType_Check(value) != 0;
}

bool is_same_name(PyObject* a, PyObject* b) {
  return a == b || std::strcmp(text_of(a), text_of(b)) == 0;  // mostly interned
}

bool is_same(const Entry::Setting& known, const GivenSetting& given) {
  if (!is_same_name(known.name.get(), given.name)) return false;
  return (known.immutable && known.value.get() == given.value) || known.text == setting_text(given.value);
}

bool has_settings_of(const Entry& entry, const Call& call) {
  if (entry.runtime != reinterpret_cast<PyObject*>(call.runtime())) return false;
  if (entry.config != (call.config() == nullptr ? "" : call.config())) return false;
  if (entry.settings.size() != call.settings().size()) return false;
  for (std::size_t i = 0; i < entry.settings.size(); ++i) {
    if (!is_same(entry.settings[i], call.settings()[i])) return false;
  }
  return true;
}

// The tensors of a call at the places of a plan, with the shapes of those to be made.
struct Placed {
  std::vector<const GivenTensor*> given;
  std::vector<const quern_tensor*> tensors;
  std::vector<quern_place> places;
};

// Returns false if the call has a tensor that the plan has no place for.
bool place_tensors(const Entry& entry, const Call& call, Placed& placed) {
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

bool is_role(const quern_place& place, const char* role) { return std::strcmp(place.role, role) == 0; }

// An input that the plan needs and the call lacks.
const char* missing_input(const Entry& entry, const Placed& placed) {
  const quern_plan_info& info = *entry.object()->info;
  for (std::size_t i = 0; i < info.place_count; ++i) {
    if (placed.given[i] == nullptr && is_role(info.places[i], "input")) return info.places[i].name;
  }
  return nullptr;
}

// A place's dimensions in the order of memory, outermost first. Returns false if there are gaps between the elements.
bool find_order(const quern_place& place, int* order) {
  bool empty = false;
  for (int d = 0; d < place.rank; ++d) {
    order[d] = d;
    empty = empty || place.shape[d] == 0;
  }
  if (empty) return true;
  const auto is_outer = [&](int a, int b) {
    return place.shape[a] != 1 && place.shape[b] != 1 && place.strides[a] > place.strides[b];
  };
  std::stable_sort(order, order + place.rank, is_outer);
  std::int64_t stride = 1;
  for (int i = place.rank - 1; i >= 0; --i) {
    const int d = order[i];
    if (place.shape[d] != 1 && place.strides[d] != stride) return false;
    stride *= place.shape[d];
  }
  return true;
}

// A plan of an earlier call may be for given results with gaps between their rows, which are not made.
bool can_make_results(const Placed& placed) {
  int order[5];
  for (std::size_t i = 0; i < placed.places.size(); ++i) {
    if (placed.given[i] == nullptr && !find_order(placed.places[i], order)) return false;
  }
  return true;
}

bool serves(const Entry& entry, const Call& call, Placed& placed) {
  if (!has_settings_of(entry, call) || !place_tensors(entry, call, placed) || missing_input(entry, placed) != nullptr)
    return false;
  return quern_plan_shapes(entry.object()->plan, placed.tensors.data(), placed.tensors.size(), call.numbers().data(),
                           call.numbers().size(), placed.places.data(), nullptr) == QUERN_OK &&
         can_make_results(placed);
}

// ---- A new plan ----

std::string name_of(const quern_family& family, const GivenTensor& given) {
  const quern_operand& operand = family.operands[given.operand];
  return operand.is_list == 0 ? operand.name : std::string(operand.name) + "." + std::to_string(given.entry);
}

// Extents that a call gives as numbers stay open in the problem.
std::string without_extents(const std::string& text, const Call& call) {
  std::string result = text + " ";
  for (const quern_number& number : call.numbers()) {
    const std::string word = std::string(" ") + number.name + "=";
    const std::size_t begin = result.find(word);
    if (begin != std::string::npos) result.erase(begin, result.find(' ', begin + 1) - begin);
  }
  result.pop_back();
  return result;
}

std::string infer(const quern_family& family, const Call& call) {
  std::vector<std::string> names;
  std::vector<const char*> pointers;
  std::vector<const quern_tensor*> tensors;
  for (const GivenTensor& given : call.tensors()) names.push_back(name_of(family, given));
  for (std::size_t i = 0; i < names.size(); ++i) {
    pointers.push_back(names[i].c_str());
    tensors.push_back(&call.tensors()[i].tensor.view);
  }
  const std::string settings = call.text(true);
  std::string text(8192, '\0');
  size_t length = 0;
  quern_error* error = nullptr;
  check(quern_problem_of(call.runtime()->runtime, settings.c_str(), pointers.data(), tensors.data(), tensors.size(),
                         text.data(), text.size(), &length, &error),
        error);
  text.resize(std::min(length, text.size() - 1));
  return without_extents(text, call);
}

Entry::Where where_is(const quern_family& family, const char* place) {
  const std::string name = place;
  const std::size_t dot = name.find('.');
  for (std::size_t i = 0; i < family.operand_count; ++i) {
    if (name.substr(0, dot) == family.operands[i].name)
      return {static_cast<int>(i),
              dot == std::string::npos ? 0 : static_cast<int>(std::strtol(name.c_str() + dot + 1, nullptr, 10))};
  }
  return {-1, 0};
}

std::shared_ptr<Entry> make_entry(const quern_family& family, const Call& call) {
  auto entry = std::make_shared<Entry>();
  entry->plan = prepare(call.runtime(), infer(family, call), call.config());
  entry->runtime = reinterpret_cast<PyObject*>(call.runtime());
  if (call.config() != nullptr) entry->config = call.config();
  for (const GivenSetting& setting : call.settings())
    entry->settings.push_back(
        {copy(setting.name), copy(setting.value), setting_text(setting.value), is_immutable(setting.value)});
  const quern_plan_info& info = *entry->object()->info;
  for (std::size_t i = 0; i < info.place_count; ++i) entry->places.push_back(where_is(family, info.places[i].name));
  return entry;
}

// Says what does not fit.
void require_served(const quern_family& family, const Entry& entry, const Call& call, Placed& placed) {
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

// ---- Results ----

// Makes what the call did not give.
class Results {
 public:
  Results(const quern_family& family, Entry& entry, const Call& call, Placed& placed, quern_stream stream)
      : family_(family), entry_(entry), call_(call), placed_(placed), made_(placed.places.size()) {
    tensors_.resize(placed.places.size());
    for (std::size_t i = 0; i < placed.places.size(); ++i) {
      if (placed.given[i] == nullptr) make_at(i, stream);
    }
  }

  // By operand: a tensor, or a list of them.
  Ref take() {
    std::vector<Ref> all;
    for (std::size_t i = 0; i < placed_.places.size();) {
      const int operand = entry_.places[i].operand;
      std::size_t end = i + 1;
      while (end < placed_.places.size() && entry_.places[end].operand == operand) ++end;
      if (is_result(i)) all.push_back(operand_of(i, end));
      i = end;
    }
    if (all.size() == 1) return std::move(all.front());
    Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
    for (std::size_t i = 0; i < all.size(); ++i)
      check(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), all[i].release()));
    return tuple;
  }

 private:
  bool is_result(std::size_t i) const {
    const quern_place& place = placed_.places[i];
    const bool number = place.rank == 1 && place.shape[0] == 1;  // that says how a launch went: for who gives it
    return is_role(place, "output") || (is_role(place, "update") && placed_.given[i] == nullptr && !number);
  }

  Ref object_of(std::size_t i) {
    return placed_.given[i] != nullptr ? copy(placed_.given[i]->object.get()) : std::move(made_[i]);
  }

  Ref operand_of(std::size_t begin, std::size_t end) {
    if (family_.operands[entry_.places[begin].operand].is_list == 0) return object_of(begin);
    Ref list = owned(PyList_New(0));
    for (std::size_t i = begin; i < end; ++i) check(PyList_Append(list.get(), object_of(i).get()));
    return list;
  }

  // A tensor of the same elements, if there is one, else the first.
  const GivenTensor& like(const quern_place& place, const char** dtype) const {
    for (std::size_t i = 0; i < placed_.given.size(); ++i) {
      if (placed_.given[i] == nullptr || std::strcmp(placed_.places[i].dtype, place.dtype) != 0) continue;
      *dtype = place.dtype;
      return *placed_.given[i];
    }
    *dtype = nullptr;
    return call_.tensors().front();
  }

  void make_at(std::size_t i, quern_stream stream) {
    const quern_place& place = placed_.places[i];
    const bool workspace = is_role(place, "workspace");
    made_[i] = workspace ? workspace_of(place, stream) : new_tensor(place);
    view(made_[i].get(), place.name, tensors_[i]);
    placed_.tensors[i] = &tensors_[i].view;
  }

  // A result is not initialized, a workspace is zeros. Where the dimensions lie in another order in memory, it is a
  // view.
  Ref new_tensor(const quern_place& place) const {
    int order[5];
    if (!find_order(place, order))
      raise(PyExc_TypeError, std::string(place.name) + " has gaps between its rows; give it by name");
    if (std::is_sorted(order, order + place.rank)) {
      std::int64_t extents[kMaxDimensions + 5];
      const int rank = with_leading_dimensions(place, extents);
      return new_packed(place, rank, extents);
    }
    std::int64_t extents[5];
    for (int i = 0; i < place.rank; ++i) extents[i] = place.shape[order[i]];
    return permuted(new_packed(place, place.rank, extents), order, place.rank);
  }

  Ref new_packed(const quern_place& place, int rank, const std::int64_t* extents) const {
    const char* dtype = nullptr;
    const GivenTensor& model = like(place, &dtype);
    return make(model.object.get(), model.tensor, dtype, {place.dtype, rank, extents},
                is_role(place, "output") ? nullptr : &place.initial);
  }

  // The view whose dimension order[i] is the tensor's i.
  Ref permuted(Ref tensor, const int* order, int rank) const {
    Ref axes = owned(PyTuple_New(rank));
    for (int i = 0; i < rank; ++i) check(PyTuple_SetItem(axes.get(), order[i], owned(PyLong_FromLong(i)).release()));
    const char* const method = call_.tensors().front().tensor.table != nullptr ? "permute" : "transpose";
    return owned(PyObject_CallMethod(tensor.get(), method, "O", axes.get()));
  }

  // A result's dimensions as the first tensor has its own: split in the same way where it has more than its operand,
  // and without those of 1 that it lacks. Returns their number.
  int with_leading_dimensions(const quern_place& place, std::int64_t* extents) const {
    std::copy_n(place.shape, place.rank, extents);
    std::size_t first = 0;
    while (first + 1 < placed_.given.size() && placed_.given[first] == nullptr) ++first;
    if (placed_.given[first] == nullptr) return place.rank;
    const quern_tensor& given = placed_.given[first]->tensor.view;
    const int extra = given.ndim - placed_.places[first].rank;
    if (extra > 0 && place.rank > 0 && place.shape[0] == placed_.places[first].shape[0] && extra < kMaxDimensions) {
      std::copy_n(given.shape, extra + 1, extents);
      std::copy_n(place.shape + 1, place.rank - 1, extents + extra + 1);
      return place.rank + extra;
    }
    int missing = 0;
    while (missing < -extra && missing + 1 < place.rank && place.shape[missing] == 1) ++missing;
    std::copy_n(place.shape + missing, place.rank - missing, extents);
    return place.rank - missing;
  }

  // The host's launches run without the interpreter lock, side by side, and so may graphs: each has its own.
  Ref workspace_of(const quern_place& place, quern_stream stream) {
    if (entry_.object()->on_host || quern_is_capturing(call_.runtime()->runtime, stream) != 0) return new_tensor(place);
    for (Entry::Workspace& workspace : entry_.workspaces) {
      if (workspace.stream != stream) continue;
      Tensor tensor;
      view(workspace.memory.get(), place.name, tensor);
      if (tensor.view.shape[0] < place.shape[0]) workspace.memory = new_tensor(place);
      return copy(workspace.memory.get());
    }
    entry_.workspaces.push_back({stream, new_tensor(place)});
    return copy(entry_.workspaces.back().memory.get());
  }

  const quern_family& family_;
  Entry& entry_;
  const Call& call_;
  Placed& placed_;
  std::vector<Ref> made_;
  std::vector<Tensor> tensors_;
};

// ---- The function ----

struct Function {
  explicit Function(const quern_family& row)
      : family(row),
        keywords(row),
        doc(function_doc(row)),
        definition{row.name, nullptr, METH_FASTCALL | METH_KEYWORDS, doc.c_str()} {}

  // The plan of a call; the last one used is tried first.
  std::shared_ptr<Entry> find(const Call& call, Placed& placed) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!serves(*entries[i], call, placed)) continue;
      std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i),
                  entries.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return entries.front();
    }
    const std::shared_ptr<Entry> made = make_entry(family, call);
    require_served(family, *made, call, placed);
    entries.insert(entries.begin(), made);
    if (entries.size() > kMostPlans) entries.pop_back();
    return made;
  }

  Ref run(PyObject* const* args, Py_ssize_t count, PyObject* names) {
    const Call call(family, keywords, args, count, names);
    Placed placed;
    const std::shared_ptr<Entry> entry = find(call, placed);
    const quern_stream stream = call.stream();
    Results results(family, *entry, call, placed, stream);
    launch(entry->object(), stream, placed.tensors.data(), placed.tensors.size(), call.numbers().data(),
           call.numbers().size());
    return results.take();
  }

  const quern_family& family;
  const Keywords keywords;
  const std::string doc;
  PyMethodDef definition;
  std::vector<std::shared_ptr<Entry>> entries;
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
