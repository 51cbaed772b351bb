// A plan: loaded kernels and launch geometry for one problem, with one step or several. `launch` runs it.
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

// One image of a plan, for display and tools.
struct ImageInfo {
  std::string step;             // "" in a plan of one step
  std::string variant;          // "vector", "ragged", …
  std::string config;           // "threads=256 vector=16 …"
  std::uint32_t alignment = 1;  // the largest that it requires of an operand
  std::string key;              // WHAT/WHO, the entry's path in the store
  ImageOrigin origin = ImageOrigin::memory;
  Resources resources;
  double compile_ms = 0;  // 0 unless compiled
};

struct PlanState;

// Immutable and cheap to copy; usable from any thread; may outlive the Runtime. A plan belongs to the context that was
// current at `prepare`; launch it with that context current. With Tuning::background a plan launches a faster kernel
// once one is found: same results, different `why` and `images`.
//
// LIFETIME. Kernels stay loaded as long as a plan that uses them or the Runtime that loaded them lives, except after
// Runtime::trim and forget. Queued work and graphs do not keep them loaded: hold the plan or the Runtime until all
// launched work has run and every graph that captured a launch is destroyed. (On an H200 with driver 580 unloading
// waits for queued kernels, and a graph whose kernel was unloaded crashes the process when it is launched.)
class QUERN_API AnyPlan {
 public:
  AnyPlan() = default;
  explicit AnyPlan(std::shared_ptr<const PlanState> state) : state_(std::move(state)) {}

  // Enqueues the kernels on `stream` (null: the context's legacy default stream). `args` points at the family's
  // arguments. Never compiles, allocates, locks or waits; can be captured in a graph. An empty problem launches
  // nothing. When the process is exiting and the driver has shut down, the call does nothing and reports no error. In a
  // child forked after the driver was opened, launching is refused. Throws Error.
  // COST: under 100 ns in addition to cuLaunchKernelEx.
  void launch(Stream stream, const void* args) const;
  // The same, but returns the error, also that of a driver which has shut down (driver_code 4,
  // CUDA_ERROR_DEINITIALIZED). The result says whether a kernel was launched.
  Result<bool> try_launch(Stream stream, const void* args) const;

  // REQUIRES for the functions below: the plan is not empty.

  // Bytes that the workspace operand needs in a launch with these arguments; 0 if the problem has no such operand.
  // Reads only the extents that the problem left open. Throws Error if these extents are refused.
  std::int64_t workspace_bytes(const void* args) const;

  const Family& family() const;
  // The problem text: "gather width=8192 dtype=bf16 …".
  const std::string& problem() const;
  // The config of each image, and where it came from.
  std::string why() const;
  // The plan's images: step by step, in order of preference. Strings live as long as the plan, also those of a kernel
  // that was replaced.
  const std::vector<ImageInfo>& images() const;
  // For image `i`: the generated spec and the template; the PTX. Empty if the store had only the cubin. Throws Error
  // for an index that the plan does not have, as do the next two.
  const std::string& source(int i = 0) const;
  const std::string& ptx(int i = 0) const;
  const Resources& resources(int i = 0) const;
  // The number of blocks of `threads` threads that fit on one multiprocessor at a time. Asks the driver. Throws Error.
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
  // Throws Error (bad_input) for a plan of another family, which takes other arguments.
  explicit Plan(AnyPlan plan) : AnyPlan(std::move(plan)) {
    if (state() != nullptr) require_family(P::family());
  }
  void launch(Stream stream, const Args& args) const { AnyPlan::launch(stream, &args); }
  Result<bool> try_launch(Stream stream, const Args& args) const { return AnyPlan::try_launch(stream, &args); }
  std::int64_t workspace_bytes(const Args& args) const { return AnyPlan::workspace_bytes(&args); }

 private:
  friend class Runtime;
  // A plan that the Runtime found under P's family is of that family, so it is not checked. A check would read the
  // plan: an extra cache miss in a look-up among very many plans.
  struct OfItsFamily {};
  Plan(AnyPlan plan, OfItsFamily) : AnyPlan(std::move(plan)) {}
};

}  // namespace quern

#endif  // QUERN_PLAN_H_
