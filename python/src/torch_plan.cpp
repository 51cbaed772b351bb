#include "torch_plan.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "objects.h"

namespace quern::python {
namespace {

constexpr std::size_t kMostPlans = 256;  // of an operator; the ones used longest ago go first

std::string infer(quern_runtime* runtime, const TorchCall& call) {
  std::vector<std::string> names;
  std::vector<const quern_tensor*> tensors;
  for (const TorchGiven& given : call.tensors()) {
    names.push_back(place_name(call.family(), {given.operand, given.entry}));
    tensors.push_back(&given.view);
  }
  std::string problem;
  quern_error* error = nullptr;
  const quern_code code = infer_problem(runtime, call.text(), names, tensors, call.numbers().data(),
                                        call.numbers().size(), problem, &error);
  require_ok(code, error);
  return problem;
}

bool is_same_list(const std::vector<std::int64_t>& known, TorchList* list) {
  std::size_t size = 0;
  require(torch_abi().list_size(list, &size), "read a list");
  if (size != known.size()) return false;
  for (std::size_t i = 0; i < size; ++i) {
    StableValue item = 0;
    require(torch_abi().list_item(list, i, &item), "read a list");
    if (static_cast<std::int64_t>(item) != known[i]) return false;
  }
  return true;
}

}  // namespace

void require_ok(quern_code code, quern_error* error) {
  if (code == QUERN_OK) return;
  if (error == nullptr) throw std::bad_alloc();
  const std::unique_ptr<quern_error, void (*)(quern_error*)> owned_error(error, &quern_error_free);
  throw Refused(*error);
}

// ---- A plan ----

TorchPlan::TorchPlan(std::shared_ptr<quern_runtime> runtime, const TorchCall& call)
    : runtime_(std::move(runtime)), device_type_(call.first().device_type), device_id_(call.first().device_id) {
  const std::string problem = infer(runtime_.get(), call);
  remember(call);
  quern_error* error = nullptr;
  const quern_code code = quern_prepare(runtime_.get(), quern_text(problem.c_str()), nullptr, &plan_, &error);
  if (device_type_ == kCpu && is_without_gpu(code) && error != nullptr) {
    const std::unique_ptr<quern_error, void (*)(quern_error*)> owned_error(error, &quern_error_free);
    throw Refused(*error, true);
  }
  require_ok(code, error);
  info_ = quern_plan_describe(plan_);
  places_.reserve(info_->place_count);
  for (std::size_t i = 0; i < info_->place_count; ++i) {
    places_.push_back(where_is(call.family(), info_->places[i].name));
    given_.push_back(call.find(places_[i].operand, places_[i].entry) != nullptr ? 1 : 0);
  }
}

void TorchPlan::remember(const TorchCall& call) {
  for (const TorchSetting& setting : call.settings()) {
    const bool is_list = setting.list != nullptr;
    settings_.push_back({setting.is_given, setting.integer,
                         setting.text == nullptr ? "" : std::string(setting.text, setting.length), is_list,
                         is_list ? numbers_of(setting.list) : std::vector<std::int64_t>()});
  }
}

bool TorchPlan::has_settings_of(const TorchCall& call) const {
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    const Setting& known = settings_[i];
    const TorchSetting& setting = call.settings()[i];
    if (known.is_given != setting.is_given) return false;
    if (!known.is_given) continue;
    if (known.integer != setting.integer) return false;
    if (setting.text != nullptr && known.text != std::string_view(setting.text, setting.length)) return false;
    if (setting.list != nullptr && !is_same_list(known.list, setting.list)) return false;
  }
  return true;
}

// Returns false if the call has a tensor that the plan has no place for.
bool TorchPlan::place_tensors(const TorchCall& call, TorchPlaced& placed) const {
  const std::size_t count = places_.size();
  placed.given.resize(count);
  placed.tensors.resize(count);
  placed.places.resize(count);
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    placed.given[i] = call.find(places_[i].operand, places_[i].entry);
    placed.tensors[i] = placed.given[i] == nullptr ? nullptr : &placed.given[i]->view;
    used += placed.given[i] == nullptr ? 0 : 1;
  }
  return used == call.tensors().size();
}

quern_code TorchPlan::find_shapes(const TorchCall& call, TorchPlaced& placed, quern_error** error) const {
  return quern_plan_shapes(plan_, placed.tensors.data(), placed.tensors.size(), call.numbers().data(),
                           call.numbers().size(), placed.places.data(), error);
}

bool TorchPlan::serves(const quern_runtime* runtime, const TorchCall& call, TorchPlaced& placed) const {
  if (runtime_.get() != runtime || device_type_ != call.first().device_type || device_id_ != call.first().device_id)
    return false;
  if (!has_settings_of(call) || !place_tensors(call, placed)) return false;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if ((given_[i] != 0) != (placed.given[i] != nullptr)) return false;
  }
  return find_shapes(call, placed, nullptr) == QUERN_OK && can_make_results(placed.given, placed.places);
}

void TorchPlan::require_served(const TorchCall& call, TorchPlaced& placed) const {
  if (!place_tensors(call, placed)) {
    for (const TorchGiven& given : call.tensors()) {
      if (std::find(placed.given.begin(), placed.given.end(), &given) != placed.given.end()) continue;
      const std::string name = place_name(call.family(), {given.operand, given.entry});
      throw std::runtime_error("this problem has no " + name + ": " + info_->problem);
    }
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (placed.given[i] == nullptr && is_role(info_->places[i], "input"))
      throw std::runtime_error(std::string("this problem needs ") + info_->places[i].name + ": " + info_->problem);
  }
  quern_error* error = nullptr;
  const quern_code code = find_shapes(call, placed, &error);
  require_ok(code, error);
}

void TorchPlan::launch(const TorchCall& call, const TorchPlaced& placed, quern_stream stream) const {
  quern_error* error = nullptr;
  const quern_code code = quern_launch(plan_, stream, placed.tensors.data(), placed.tensors.size(),
                                       call.numbers().data(), call.numbers().size(), &error);
  require_ok(code, error);
}

// ---- Workspaces ----

static TorchOwner<TorchTensor> another_handle(TorchTensor* tensor) {
  TorchTensor* made = nullptr;
  require(torch_abi().new_handle(tensor, &made), "share a tensor");
  return TorchOwner<TorchTensor>(made);
}

TorchOwner<TorchTensor> TorchPlan::find_workspace(std::size_t place, quern_stream stream, std::int64_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Workspace& known : workspaces_) {
    if (known.place == place && known.stream == stream && known.size >= size) return another_handle(known.memory.get());
  }
  return nullptr;
}

void TorchPlan::keep_workspace(std::size_t place, quern_stream stream, std::int64_t size, TorchTensor* memory) {
  Workspace made{place, stream, size, another_handle(memory)};
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Workspace& known : workspaces_) {
    if (known.place != place || known.stream != stream) continue;
    std::swap(known, made);  // the smaller one goes
    return;
  }
  workspaces_.push_back(std::move(made));
}

// ---- The plans of an operator ----

std::shared_ptr<TorchPlan> TorchPlans::find_known(const quern_runtime* runtime, const TorchCall& call,
                                                  TorchPlaced& placed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (!plans_[i]->serves(runtime, call, placed)) continue;
    std::rotate(plans_.begin(), plans_.begin() + static_cast<std::ptrdiff_t>(i),
                plans_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return plans_.front();
  }
  return nullptr;
}

std::shared_ptr<TorchPlan> TorchPlans::find(const TorchCall& call, TorchPlaced& placed) {
  const quern_runtime* const current = current_default_runtime();
  if (current != nullptr) {
    if (std::shared_ptr<TorchPlan> known = find_known(current, call, placed)) return known;
  }
  auto made = std::make_shared<TorchPlan>(shared_default_runtime(), call);
  made->require_served(call, placed);
  // Plans of a replaced runtime stay: their kernels may be running, or be in a graph.
  std::shared_ptr<TorchPlan> dropped;  // goes without the mutex
  const std::lock_guard<std::mutex> lock(mutex_);
  plans_.insert(plans_.begin(), made);
  if (plans_.size() > kMostPlans) {
    dropped = std::move(plans_.back());
    plans_.pop_back();
  }
  return made;
}

}  // namespace quern::python
