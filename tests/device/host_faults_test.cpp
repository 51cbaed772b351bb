// Every driver call that prepare and launch make is failed once: the right error comes out, nothing leaks, and the
// Runtime still works where the driver's semantics allow it.
#include <gtest/gtest.h>

#include "base/text.h"
#include "driver/stream.h"
#include "quern/families.h"
#include "support/device.h"
#include "support/test_kernel.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

constexpr const char* kCalls[] = {
#define QUERN_CALL(member, symbol) #symbol,
    QUERN_DRIVER_FUNCTIONS(QUERN_CALL)
#undef QUERN_CALL
};

class HostFaults : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    if (!on_host()) return;
    problem_.rows = 50;
    problem_.count = 60;
    problem_.width = 72;
    host_ = std::make_unique<HostOperands>(Gather::family(), &problem_);
    host_->generate(3, false);
    data_ = std::make_unique<DeviceOperands>(driver(), *host_);
    args_ = std::make_unique<AnyArgs>(data_->args(AnyArgs(Gather::family())));
    runtime().prepare(problem_);  // into the store, so that nothing is compiled later
  }

  // A host application with its own Runtime.
  void prepare_and_launch() {
    Runtime own(options());
    launch(own);
  }
  void launch(Runtime& own) {
    data_->upload(*host_);
    own.prepare(problem_).AnyPlan::launch(nullptr, args_->data());
    synchronize();
    HostOperands got = *host_;
    data_->download(got);
    EXPECT_EQ(compare(got, host_->reference(AnyArgs(Gather::family()))).difference, "");
  }

  Gather problem_;
  std::unique_ptr<HostOperands> host_;
  std::unique_ptr<DeviceOperands> data_;
  std::unique_ptr<AnyArgs> args_;
};

// A Runtime that was asked for no plan yet looks none up, so its first question is that of the plan to be made, which
// must not survive. The later ids are asked for to see which contexts are gone. A thread whose capture mode does not
// change keeps its own.
bool may_be_survived(const std::string& call, unsigned long long nth) {
  return call == "cuThreadExchangeStreamCaptureMode" || (call == "cuCtxGetId" && nth != 1);
}

TEST_F(HostFaults, EachCallOfPrepareAndLaunchFailsOnce) {
  const auto& host = driver().host();
  std::vector<std::pair<std::string, unsigned long long>> made;
  for (const char* call : kCalls) made.emplace_back(call, host.Calls(call));
  {
    Runtime own(options());
    own.prepare(problem_).AnyPlan::launch(nullptr, args_->data());
  }
  synchronize();
  for (auto& [call, count] : made) count = host.Calls(call.c_str()) - count;
  int failed = 0;
  for (const auto& [call, count] : made) {
    if (call == "cuCtxSynchronize" || call.rfind("cuGetError", 0) == 0 || call == "cuLibraryUnload") continue;
    for (unsigned long long nth = 1; nth <= count; ++nth) {
      inject(cat("fail ", call, " nth=", nth, " code=", static_cast<int>(CUDA_ERROR_OUT_OF_MEMORY)));
      Runtime own(options());
      std::optional<Error> error;
      try {
        own.prepare(problem_).AnyPlan::launch(nullptr, args_->data());
      } catch (const Error& thrown) {
        error.emplace(thrown);
      }
      inject("clear");
      EXPECT_TRUE(error || may_be_survived(call, nth)) << call << " " << nth;
      if (error) {
        EXPECT_EQ(error->driver_code, CUDA_ERROR_OUT_OF_MEMORY) << call << ": " << error->what();
        EXPECT_NE(error->sentence.find(call.substr(0, call.find("_v"))), std::string::npos) << error->sentence;
        ++failed;
      }
      synchronize();
      launch(own);
    }
  }
  EXPECT_GT(failed, 10);
}

TEST_F(HostFaults, NothingLeaks) {
  const auto& host = driver().host();
  const auto alive = host.Alive("libraries");
  for (const char* call : {"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction", "cuLaunchKernelEx"}) {
    inject(cat("fail ", call, " nth=1 code=2"));
    EXPECT_THROW(prepare_and_launch(), Error) << call;
    inject("clear");
    EXPECT_EQ(host.Alive("libraries"), alive) << call;
  }
}

TEST_F(HostFaults, AnImageThatTheDriverRejectsIsBuiltOnceMore) {
  Runtime own(options());
  inject(cat("fail cuLibraryLoadData nth=1 code=", static_cast<int>(CUDA_ERROR_INVALID_IMAGE)));
  launch(own);
  EXPECT_EQ(own.statistics().compiles.count, 1u);
}

TEST_F(HostFaults, AnImageThatIsAlwaysRejectedIsAnError) {
  Runtime own(options());
  for (int nth = 1; nth <= 2; ++nth)
    inject(cat("fail cuLibraryLoadData nth=", nth, " code=", static_cast<int>(CUDA_ERROR_INVALID_IMAGE)));
  const auto refused = own.try_prepare(problem_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().driver_code, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_FALSE(refused.error().key.empty());
  inject("clear");
  launch(own);
}

TEST_F(HostFaults, AKilledKernelIsToldByTheNextCallAndTheContextIsGone) {
  Runtime own(options());
  const auto plan = own.prepare(problem_);
  inject("kill kernel nth=1");
  plan.AnyPlan::launch(nullptr, args_->data());
  EXPECT_EQ(driver()->CtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  const auto again = plan.AnyPlan::try_launch(nullptr, args_->data());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().driver_code, CUDA_ERROR_LAUNCH_FAILED);
  data_.reset();
  renew_context();
  data_ = std::make_unique<DeviceOperands>(driver(), *host_);
  args_ = std::make_unique<AnyArgs>(data_->args(AnyArgs(Gather::family())));
  launch(own);  // a plan of the new context
}

TEST_F(HostFaults, ALostDeviceIsAnErrorOfEveryCall) {
  Runtime own(options());
  const auto plan = own.prepare(problem_);
  inject("lose device=0");
  EXPECT_FALSE(plan.AnyPlan::try_launch(nullptr, args_->data()));
  EXPECT_FALSE(own.try_prepare(Gather{}));
  inject("clear");
}

TEST_F(HostFaults, MemoryRunsOutAtTheLimitAndIsThereAgainWhenItIsFreed) {
  std::size_t free = 0, total = 0;
  ASSERT_EQ(driver()->MemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_THROW(DeviceMemory(driver(), free + 1), Error);
  CUdeviceptr first = 0, second = 0;
  ASSERT_EQ(driver()->MemAlloc(&first, 1 << 20), CUDA_SUCCESS);
  EXPECT_EQ(driver()->MemAlloc(&second, free - (1 << 19)), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver()->MemFree(first), CUDA_SUCCESS);
  std::size_t again = 0;
  ASSERT_EQ(driver()->MemGetInfo(&again, &total), CUDA_SUCCESS);
  EXPECT_EQ(again, free);
}

// Each waiting thread has a stack, and the number of mappings is limited.
TEST_F(HostFaults, TooManyWorkersAreAnErrorAndNotTheEnd) {
  const TestKernel kernel(runtime().state().compiler, options().driver, "__syncthreads();");
  configure("workers=100");
  const CUresult result = kernel.outcome({5000, 1024}, 1);
  EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY) << result;
  data_.reset();
  renew_context();
}

TEST_F(HostFaults, ADelayedCallTakesThatLong) {
  inject("delay cuCtxSynchronize nth=1 us=30000");
  const auto start = std::chrono::steady_clock::now();
  synchronize();
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(30));
}

TEST_F(HostFaults, WhatItDoesNotKnowIsRefused) {
  const auto& host = driver().host();
  EXPECT_EQ(host.Inject("fail cuNothing nth=1 code=2"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(report().find("cuNothing"), std::string::npos) << report();
  EXPECT_EQ(host.Configure("colour=green"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(report().find("colour"), std::string::npos) << report();
  EXPECT_EQ(host.Configure("arch=80"), CUDA_ERROR_ILLEGAL_STATE) << "a context is alive";
}

}  // namespace
}  // namespace quern::test
