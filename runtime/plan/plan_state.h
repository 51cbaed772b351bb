// The contents of a plan. Built once by prepare, then only read.
#ifndef QUERN_PLAN_PLAN_STATE_H_
#define QUERN_PLAN_PLAN_STATE_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cache/entry.h"
#include "driver/driver.h"
#include "driver/library.h"
#include "quern/family.h"
#include "quern/plan.h"

namespace quern {

struct PlanState;

// Holds the faster plan that tuning found. Set once, while other threads launch.
class BetterPlan {
 public:
  // Null until then.
  const PlanState* get() const { return now_.load(std::memory_order_acquire); }
  // REQUIRES: not called before.
  void set(std::shared_ptr<const PlanState> plan) {
    owner_ = std::move(plan);
    now_.store(owner_.get(), std::memory_order_release);
  }

 private:
  std::shared_ptr<const PlanState> owner_;
  std::atomic<const PlanState*> now_{nullptr};
};

struct PlanState {
  const Family* family = nullptr;
  std::vector<unsigned char> problem;  // the family's struct, open extents still open
  std::size_t problem_used = 0;        // the bytes of it that a launch with open extents copies
  std::string text;
  DeviceModel model{};  // the live device's figures
  int device = 0;
  std::shared_ptr<const Driver> driver;

  // A variant with its kernel.
  struct Loaded {
    Variant variant;
    std::shared_ptr<const Library> library;
  };
  std::vector<Loaded> variants;  // step by step, in order of preference

  struct PlannedStep {
    const Step* step;
    std::size_t begin;  // its variants, in `variants`
    std::size_t end;
    // For each of `operands`. Byte v: the bits that must be 0 in the last byte of its address for variant v.
    std::vector<std::uint32_t> masks;
  };
  std::vector<PlannedStep> steps;  // in execution order

  // The family's launch extents with their fields looked up.
  struct Extent {
    const Field* field;
    std::uint16_t offset;  // in the arguments
    bool needed;
  };
  std::vector<Extent> extents;

  // An operand that the problem has, or an entry of a list.
  struct BoundOperand {
    std::uint16_t offset;  // in the arguments; of a list: that of the list
    bool list;
    bool fixed;                 // its layout does not depend on open extents
    std::uint32_t masks = 0;    // what the variants of the first step demand of its address, see PlannedStep
    std::int64_t span;          // of a fixed one: its bytes, -1 where 64 bits do not hold them
    std::uintptr_t misaligned;  // bits that are 0 in its address
    const Operand* operand;
    int entry;  // of the list
  };
  std::vector<BoundOperand> operands;

  struct BoundList {
    const Operand* operand;
    int count;
  };
  std::vector<BoundList> lists;

  std::uint32_t alignment = 1;  // that divides the addresses of its launches, as Options::alignment says

  bool closed = false;  // no extent is open, so prepare has checked every rule of the problem

  // For display; one per image.
  std::vector<ImageInfo> images;
  std::vector<std::shared_ptr<const cache::Entry>> entries;
  std::string why;

  // A plan for the same problem and context. Once it is set, launches use it.
  mutable BetterPlan better;
  const PlanState& newest() const { return better.get() == nullptr ? *this : *better.get(); }
};

// Binds the extents and operands that launches read from the arguments. REQUIRES: family and problem are set.
void look_up_arguments(PlanState& plan);
// Adds a step with its variants, in order of preference. REQUIRES: look_up_arguments was called.
void add_step(PlanState& plan, const Step& step, std::vector<PlanState::Loaded> variants);

// The launch of one step, computed but not enqueued, for tests and `inspect`.
struct PreparedLaunch {
  const PlanState::Loaded* variant = nullptr;
  Launch launch;
};

// Closes the extents, checks the arguments and picks the variant of a step. Throws Error. Does not allocate unless it
// throws.
void prepare_launch(const PlanState& state, const void* args, PreparedLaunch& out, std::size_t step = 0);

// A launch in the driver's types. The configuration points at the attributes in the same struct.
struct DriverLaunch {
  DriverLaunch() = default;
  DriverLaunch(const DriverLaunch&) = delete;
  DriverLaunch& operator=(const DriverLaunch&) = delete;
  CUlaunchConfig config;
  CUlaunchAttribute attributes[3];
};
void for_driver(const Launch& launch, Stream stream, DriverLaunch& out);

// See AnyPlan::workspace_bytes.
std::int64_t workspace_bytes(const PlanState& state, const void* args);

// Checks the arguments and every step, then calls cuLaunchKernelEx for each. Returns whether a kernel was launched.
bool enqueue(const PlanState& state, Stream stream, const void* args);

}  // namespace quern

#endif  // QUERN_PLAN_PLAN_STATE_H_
