// The plans that an operator of PyTorch has made, and which calls they serve: as known_plan.h, without Python.
#ifndef QUERN_PYTHON_TORCH_PLAN_H_
#define QUERN_PYTHON_TORCH_PLAN_H_

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "hints.h"
#include "torch_call.h"

namespace quern::python {

// What quern refused, with its message; PyTorch makes a RuntimeError of it.
class Refused : public std::runtime_error {
 public:
  explicit Refused(const quern_error& error, bool of_cpu_tensors = false)
      : std::runtime_error(message_with(error, hint_of(error, of_cpu_tensors))),
        code(error.code),
        driver_code(error.driver_code) {}
  quern_code code;
  int driver_code;
};
// Throws `error` as Refused and frees it, unless `code` is QUERN_OK.
void require_ok(quern_code code, quern_error* error);

// The tensors of a call at the places of a plan, with the shapes of those to be made.
struct TorchPlaced {
  Small<const TorchGiven*, 16> given;
  Small<const quern_tensor*, 16> tensors;
  Small<quern_place, 10> places;
};

class TorchPlan {
 public:
  // A new one for a call. May compile. Throws Refused.
  TorchPlan(std::shared_ptr<quern_runtime> runtime, const TorchCall& call);
  TorchPlan(const TorchPlan&) = delete;
  TorchPlan& operator=(const TorchPlan&) = delete;
  ~TorchPlan() { quern_plan_destroy(plan_); }

  // Whether it serves a call; `placed` is then filled.
  bool serves(const quern_runtime* runtime, const TorchCall& call, TorchPlaced& placed) const;
  // Throws what does not fit where a call's own plan does not serve it.
  void require_served(const TorchCall& call, TorchPlaced& placed) const;
  void launch(const TorchCall& call, const TorchPlaced& placed, quern_stream stream) const;

  bool is_on_host() const { return info_->on_host != 0; }
  bool is_capturing(quern_stream stream) const { return quern_is_capturing(runtime_.get(), stream) != 0; }
  const std::vector<Where>& places() const { return places_; }

  // The zeros that launches on a stream share: each restores them, and they follow each other. Null: none that is large
  // enough.
  TorchOwner<TorchTensor> find_workspace(std::size_t place, quern_stream stream, std::int64_t size);
  void keep_workspace(std::size_t place, quern_stream stream, std::int64_t size, TorchTensor* memory);

 private:
  struct Setting {
    bool is_given;
    std::int64_t integer;
    std::string text;
    bool is_list;
    std::vector<std::int64_t> list;
  };
  struct Workspace {
    std::size_t place;
    quern_stream stream;
    std::int64_t size;
    TorchOwner<TorchTensor> memory;
  };
  void remember(const TorchCall& call);
  bool has_settings_of(const TorchCall& call) const;
  bool place_tensors(const TorchCall& call, TorchPlaced& placed) const;
  quern_code find_shapes(const TorchCall& call, TorchPlaced& placed, quern_error** error) const;

  std::shared_ptr<quern_runtime> runtime_;
  quern_plan* plan_ = nullptr;
  const quern_plan_info* info_ = nullptr;
  std::int32_t device_type_, device_id_;  // a plan is of one device
  std::vector<Setting> settings_;
  std::vector<Where> places_;
  std::vector<char> given_;  // of each place, whether the first call gave it: results say of which problem they are
  std::mutex mutex_;         // of the workspaces
  std::vector<Workspace> workspaces_;
};

// The plans of an operator.
class TorchPlans {
 public:
  // The plan of a call; the last one used is tried first.
  std::shared_ptr<TorchPlan> find(const TorchCall& call, TorchPlaced& placed);

 private:
  std::shared_ptr<TorchPlan> find_known(const quern_runtime* runtime, const TorchCall& call, TorchPlaced& placed);
  std::mutex mutex_;
  std::vector<std::shared_ptr<TorchPlan>> plans_;
};

}  // namespace quern::python

#endif  // QUERN_PYTHON_TORCH_PLAN_H_
