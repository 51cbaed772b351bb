// What the handles of the C interface hold.
#ifndef QUERN_C_RUNTIME_H_
#define QUERN_C_RUNTIME_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "c/host_device.h"
#include "quern/c.h"
#include "quern/runtime.h"
#include "tensors/arguments.h"

struct quern_runtime {
  // `on_host`: QUERN_DEVICE is host.
  quern_runtime(quern::Options options, bool on_host);
  // The CPU as its device, opened at the first call and made current for the calling thread; null for a GPU.
  std::shared_ptr<quern::c::HostDevice> enter_host();
  bool is_on_host() const { return on_host_; }

 private:
  const bool on_host_;
  std::mutex mutex_;
  std::shared_ptr<quern::c::HostDevice> host_;

 public:
  quern::Runtime runtime;  // the last member: its kernels are unloaded before the device goes
};

struct quern_plan {
  quern_plan(quern::AnyPlan plan, std::shared_ptr<quern::c::HostDevice> host);
  quern_plan(const quern_plan&) = delete;
  quern_plan& operator=(const quern_plan&) = delete;

  const std::shared_ptr<quern::c::HostDevice> host;  // null for a GPU; the plan's kernels are unloaded before it
  const quern::AnyPlan plan;
  const quern::Arguments arguments;
  quern_plan_info info{};

 private:
  std::string why_;
  std::vector<quern_place> places_;
  std::vector<quern_image> images_;
};

namespace quern::c {

// A problem with its storage. Throws Error (bad_input).
AnyProblem read_problem(const Runtime& runtime, const quern_problem& problem);

// The places as C structs.
std::vector<quern_place> describe(const Places& places);

// The options that a caller sets by the names of environment variables, over the environment. `on_host`: QUERN_DEVICE.
// Throws Error (bad_input).
Options read_options(const quern_options* given, bool* on_host);

}  // namespace quern::c

#endif  // QUERN_C_RUNTIME_H_
