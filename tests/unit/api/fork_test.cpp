// Processes that fork while another of their threads compiles: pre-fork servers, Python's multiprocessing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <list>
#include <optional>
#include <thread>

#include "base/fork_barrier.h"
#include "base/sanitizers.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

class Fork : public ApiTest {
 protected:
  // AddressSanitizer's malloc has locks that fork() does not take, so a child that allocates may deadlock on one that
  // another thread of the parent held; ThreadSanitizer terminates the child of a multi-threaded process if it starts a
  // thread.
  void SetUp() override {
    if (QUERN_ADDRESS_SANITIZER || QUERN_THREAD_SANITIZER)
      GTEST_SKIP() << "sanitizers do not support fork in a multi-threaded process";
    ApiTest::SetUp();
  }
};

// 0 if `runtime` compiles something new.
int compile(Runtime& runtime, std::int64_t width, DType dtype) {
  const Gather problem{.width = width, .dtype = dtype};
  return runtime.prewarm(Gather::family(), &problem, "sm_90a").images.empty() ? 1 : 0;
}

// Calls `f` repeatedly during its lifetime, with an increasing number.
template <class F>
class InAnotherThread {
 public:
  explicit InAnotherThread(F f)
      : thread_([this, f] {
          for (int i = 0; !done_; ++i) f(i);
        }) {}
  ~InAnotherThread() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST_F(Fork, AChildCompilesThatWasForkedWhileAnotherThreadCompiled) {
  Runtime runtime(options());
  control().delay_ms = 5;
  const InAnotherThread prewarming([&](int i) { compile(runtime, 100 + i, f16); });
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * i));
    EXPECT_EQ(in_child([&] { return compile(runtime, 8, f32); }), 0) << "with the parent's Runtime";
    EXPECT_EQ(in_child([&] {
                Runtime own(options());
                return compile(own, 8, f32);
              }),
              0)
        << "with a Runtime of its own";
  }
}

TEST_F(Fork, AChildCompilesThatWasForkedWhileTheCompilerWasWarmed) {
  Options warming = options();
  warming.compiler.warm = true;
  control().delay_ms = 20;
  for (int i = 0; i < 6; ++i) {
    Runtime runtime(warming);
    std::this_thread::sleep_for(std::chrono::milliseconds(4 * i));
    EXPECT_EQ(in_child([&] { return compile(runtime, 8, f32); }), 0) << 4 * i << " ms";
  }
}

// NVRTC's locks are taken again when a thread that called it exits: one child in 100 had inherited a locked one.
TEST_F(Fork, AForkWaitsUntilTheThreadsThatCalledNvrtcHaveExited) {
  Options warming = options();
  warming.compiler.warm = true;
  control().exit_ms = 10;
  Runtime runtime(warming);
  const InAnotherThread prewarming([&](int i) { compile(runtime, 100 + i, f16); });
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * i));
    EXPECT_EQ(in_child([&] { return compile(runtime, 8, f32); }), 0) << i;
  }
}

TEST_F(Fork, AChildSaysAnErrorThoughAnotherThreadWasSayingOne) {
  const std::string log(16 << 20, 'x');  // slow to log
  const InAnotherThread saying([&](int) {
    Error error(Code::compile, Stage::compile, "made up");
    error.log = log;
    EXPECT_GT(std::strlen(error.what()), log.size());
  });
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + i));
    EXPECT_EQ(in_child([] { return has(Error(Code::io, Stage::store, "a sentence").what(), "a sentence") ? 0 : 1; }),
              0);
  }
}

TEST_F(Fork, AForkWaitsForACompileAndTheNextCompileForTheFork) {
  std::atomic<bool> inside{false};
  std::atomic<bool> over{false};
  std::thread compiling([&] {
    const ForkSection section;
    const ForkSection nested;
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    over = true;
  });
  while (!inside) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              const ForkSection section;
              return over ? 0 : 1;
            }),
            0);
  compiling.join();
  const ForkSection section;  // and the parent may continue
}

// Returns 0 if a thread may compile here.
int enter() {
  const ForkSection section;
  return 0;
}

// Otherwise alternating threads would make it wait for the full time.
TEST_F(Fork, AForkIsNotOvertakenByNewCompiles) {
  const auto was = exchange_longest_fork_wait(std::chrono::milliseconds(500));
  {
    const auto compile_again_and_again = [](int) {
      const ForkSection section;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    };
    using Compiling = InAnotherThread<decltype(compile_again_and_again)>;
    std::list<Compiling> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(compile_again_and_again);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(in_child(enter), 0);
  }
  exchange_longest_fork_wait(was);
}

// A log sink may fork.
TEST_F(Fork, AForkDoesNotWaitForTheThreadThatForks) {
  const auto was = exchange_longest_fork_wait(std::chrono::milliseconds(500));
  const ForkSection section;
  EXPECT_EQ(in_child(enter), 0);
  exchange_longest_fork_wait(was);
}

TEST_F(Fork, AForkInAThreadThatInheritedASectionDoesNotWaitForIt) {
  const auto was = exchange_longest_fork_wait(std::chrono::milliseconds(500));
  const ForkSection section;
  std::thread([] {
    std::optional<InheritedForkSection> inherited(std::in_place);
    EXPECT_EQ(in_child([&] {
                inherited.reset();  // no thread of the child is inside a section now
                return enter() + in_child(enter);
              }),
              0);
  }).join();
  exchange_longest_fork_wait(was);
}

TEST_F(Fork, AChildOfAForkThatDidNotWaitForksWithoutWaiting) {
  const auto was = exchange_longest_fork_wait(std::chrono::milliseconds(20));
  std::atomic<bool> inside{false};
  std::atomic<bool> done{false};
  std::thread compiling([&] {
    const ForkSection section;
    inside = true;
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!inside) std::this_thread::yield();
  EXPECT_EQ(in_child([] {
              exchange_longest_fork_wait(std::chrono::hours(1));  // for threads that are not here
              return in_child([] { return 0; });
            }),
            0);
  done = true;
  compiling.join();
  exchange_longest_fork_wait(was);
}

TEST_F(Fork, AChildOfAForkThatDidNotWaitGetsANamedError) {
  Runtime runtime(options());
  const auto was = exchange_longest_fork_wait(std::chrono::milliseconds(20));
  hold("quern::spec");
  std::thread compiling([&] { compile(runtime, 100, f16); });
  ASSERT_TRUE(wait_for_held(1));
  EXPECT_EQ(in_child([&] {
              const Error error = refusal([&] { compile(runtime, 8, f32); });
              return error.code == Code::compile && has(error.what(), "forked while another thread") ? 0 : 1;
            }),
            0);
  release();
  compiling.join();
  exchange_longest_fork_wait(was);
  EXPECT_EQ(in_child([&] { return compile(runtime, 8, f32); }), 0) << "an idle parent";
}

// Such a child cannot lock anything; the objects that it inherited must still be destroyed there without error, at
// exit() at the latest.
TEST_F(Fork, AChildOfAForkThatDidNotWaitMayEndItsPlansAndRuntime) {
  std::optional<Runtime> runtime(options(scratch_ / "cache"));
  std::optional<AnyPlan> plan(runtime->prepare(Gather{}));
  const auto was = exchange_longest_fork_wait(std::chrono::milliseconds(20));
  hold("quern::spec");
  std::thread compiling([&] { compile(*runtime, 100, f16); });
  ASSERT_TRUE(wait_for_held(1));
  EXPECT_EQ(in_child([&] {
              const Error error = refusal([&] { runtime->flush(); });
              Runtime own(options(scratch_ / "cache"));
              runtime.reset();
              plan.reset();
              return has(error.sentence, "forked while another thread") ? 0 : 1;
            }),
            0);
  release();
  compiling.join();
  exchange_longest_fork_wait(was);
}

TEST_F(Fork, AChildMayEndTheRuntimeWhoseCompilerWasBeingWarmed) {
  Options warming = options(scratch_ / "cache");
  warming.compiler.warm = true;
  control().delay_ms = 20;
  for (int i = 0; i < 6; ++i) {
    std::optional<Runtime> runtime(warming);
    std::this_thread::sleep_for(std::chrono::milliseconds(4 * i));
    EXPECT_EQ(in_child([&] {
                runtime.reset();
                return 0;
              }),
              0)
        << 4 * i << " ms";
  }
}

}  // namespace
}  // namespace quern::test
