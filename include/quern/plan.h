// A plan: loaded kernels and launch geometry for one problem, one step or several. What `launch` is called on.
#ifndef QUERN_PLAN_H_
#define QUERN_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "quern/export.h"
#include "quern/family.h"

// The driver's and the CUDA runtime's stream: CUstream and cudaStream_t are both this.
struct CUstream_st;

namespace quern {

using Stream = CUstream_st*;

// Registers and memory of one image, as the assembler reported them.
struct Resources {
  int registers = 0;
  int shared_bytes = 0;  // static
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
};

// Where an image came from.
enum class ImageOrigin : std::uint8_t { memory, disk, compiled };
QUERN_API const char* name(ImageOrigin origin);

// One image of a plan, for people and tools.
struct ImageInfo {
  std::string step;             // "" in a plan of one
  std::string variant;          // "vector", "ragged", …
  std::string config;           // "threads=256 vector=16 …"
  std::uint32_t alignment = 1;  // the largest that it demands of an operand
  std::string key;              // WHAT/WHO, the entry's path in the store
  ImageOrigin origin = ImageOrigin::memory;
  Resources resources;
  double compile_ms = 0;  // 0 unless compiled
};

struct PlanState;

// Immutable and cheap to copy; usable from any thread; may outlive the Runtime. A plan belongs to the context that was
// current at `prepare`; launch it with that context current. With Tuning::background a plan launches a faster kernel
// once one is found: same results, other `why` and `images`.
//
// LIFETIME. Kernels stay loaded as long as a plan with them or the Runtime that loaded them lives, but for
// Runtime::trim and forget. Queued work and graphs do not keep them: hold the plan or the Runtime until what was
// launched has run and every graph that captured a launch is destroyed. (On an H200 with driver 580 unloading waits for
// queued kernels, and a graph whose kernel was unloaded crashes the process when it is launched.)
class QUERN_API AnyPlan {
 public:
  AnyPlan() = default;
  explicit AnyPlan(std::shared_ptr<const PlanState> state) : state_(std::move(state)) {}

  // Enqueues the kernels on `stream` (null: the context's legacy default stream, if that is what the caller wants).
  // `args` points at the family's arguments. Never compiles, allocates, locks or waits; can be captured in a graph.
  // An empty problem launches nothing. Once the process ends and the driver has shut down, nothing is launched either,
  // in silence. In a child forked since the driver was opened it is refused. Throws Error.
  // COST: under 100 ns besides cuLaunchKernelEx.
  void launch(Stream stream, const void* args) const;
  // The same, with the error returned, that of a driver which has shut down too (driver_code 4,
  // CUDA_ERROR_DEINITIALIZED). Result holds whether a kernel was launched.
  Result<bool> try_launch(Stream stream, const void* args) const;

  // The rest REQUIRES that the plan is not empty.

  // Bytes that the operand `workspace` takes in a launch with these arguments, of which the extents that the problem
  // left open are read; 0 where the problem has no such operand. Throws Error where the extents are refused.
  std::int64_t workspace_bytes(const void* args) const;

  const Family& family() const;
  // The problem text: "gather width=8192 dtype=bf16 …".
  const std::string& problem() const;
  // Which config each image has and where it came from.
  std::string why() const;
  // What was compiled: step by step, the most wanted image of each first. Strings live as long as the plan, those of an
  // older kernel too.
  const std::vector<ImageInfo>& images() const;
  // Of image `i`: the generated spec and the template; PTX. Empty where the store had only the cubin. Throws Error for
  // an image that it does not have, as do the next two.
  const std::string& source(int i = 0) const;
  const std::string& ptx(int i = 0) const;
  const Resources& resources(int i = 0) const;
  // Blocks of `threads` that fit on one multiprocessor at a time. Asks the driver. Throws Error.
  int blocks_per_multiprocessor(int i, int threads, int shared_bytes = 0) const;

  explicit operator bool() const { return state_ != nullptr; }
  const PlanState* state() const { return state_.get(); }

 protected:
  void require_family(const Family& wanted) const;

 private:
  std::shared_ptr<const PlanState> state_;
};

// A plan of the family whose problem is P; the arguments are typed.
template <class P>
class Plan : public AnyPlan {
 public:
  using Args = typename P::Args;
  Plan() = default;
  // Throws Error (bad_input) for a plan of another family, whose arguments are others.
  explicit Plan(AnyPlan plan) : AnyPlan(std::move(plan)) {
    if (state() != nullptr) require_family(P::family());
  }
  void launch(Stream stream, const Args& args) const { AnyPlan::launch(stream, &args); }
  Result<bool> try_launch(Stream stream, const Args& args) const { return AnyPlan::try_launch(stream, &args); }
  std::int64_t workspace_bytes(const Args& args) const { return AnyPlan::workspace_bytes(&args); }

 private:
  friend class Runtime;
  // What the Runtime found under P's family is of that family. Looking would read the plan, which a look-up among very
  // many does not otherwise do.
  struct OfItsFamily {};
  Plan(AnyPlan plan, OfItsFamily) : AnyPlan(std::move(plan)) {}
};

}  // namespace quern

#endif  // QUERN_PLAN_H_
