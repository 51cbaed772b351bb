// Every exception from the library is an Error, and a host application survives faults of its environment.
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <new>
#include <stdexcept>

#include "base/sanitizers.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

using Border = ApiTest;

template <class Thrown>
Error refusal_of_a_driver_that_throws(Options given) {
  DriverTable table = null_driver_table();
  table.DeviceGetCount = [](int*) -> CUresult {
    if constexpr (std::is_constructible_v<Thrown, const char*>)
      throw Thrown("made up");
    else
      throw Thrown();
  };
  given.driver = std::make_shared<Driver>(table);
  Runtime runtime(given);
  const auto refused = runtime.try_prepare(Gather{});
  return refused ? Error(Code::bad_input, Stage::tool, "prepared") : refused.error();
}

TEST_F(Border, TryPrepareReturnsWhateverIsThrownInside) {
  const Error memory = refusal_of_a_driver_that_throws<std::bad_alloc>(options());
  EXPECT_EQ(memory.code, Code::resources);
  EXPECT_EQ(memory.sentence, "out of memory");
  const Error mistake = refusal_of_a_driver_that_throws<std::runtime_error>(options());
  EXPECT_EQ(mistake.code, Code::internal);
  EXPECT_EQ(mistake.sentence, "made up");
  EXPECT_STREQ(name(mistake.code), "internal");
}

TEST_F(Border, WhatAFamilyThrowsLeavesAsAnError) {
  static Family mine = Gather::family();
  mine.name = "mine";
  static Step step = mine.steps[0];
  step.specialize = [](const void*, const Target&, const Config&, Spec&) { throw std::runtime_error("made up"); };
  mine.steps.rows = &step;
  Runtime runtime(options());
  const Gather problem;
  EXPECT_EQ(refusal([&] { runtime.prepare_any(mine, &problem); }).sentence, "made up");
  EXPECT_EQ(refusal([&] { runtime.prewarm(mine, &problem, "sm_90a"); }).sentence, "made up");
}

TEST_F(Border, ASinkThatThrowsLosesItsLineAndNothingElse) {
  Options given = options(scratch_ / "cache");
  given.log.sink = [](LogLevel, std::string_view) { throw std::runtime_error("a sink's"); };
  given.log.level = LogLevel::debug;
  given.compiler.warm = true;
  Runtime runtime(given);
  EXPECT_TRUE(static_cast<bool>(runtime.try_prepare(Gather{})));
  given.compiler.nvrtc = scratch_ / "missing";  // the warming thread fails, and logs it
  const Runtime other(given);
}

// Without memory for another thread's stack, images are made one after the other, and NVRTC is not warmed.
TEST_F(Border, WithoutThreadsPrepareTakesLongerAndWorks) {
  if (QUERN_ADDRESS_SANITIZER || QUERN_THREAD_SANITIZER) GTEST_SKIP() << "sanitizers need the address space";
  options();  // makes the fake compiler before the fork
  const pid_t child = fork();
  if (child == 0) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGE_SIZE)) + (6 << 20);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    pthread_attr_t attributes;  // larger than the stacks that threads which have ended left
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{256} << 20);
    pthread_setattr_default_np(&attributes);
    Options given = options(scratch_ / "cache");
    given.compiler.warm = true;
    Runtime runtime(given);
    const auto prepared = runtime.try_prepare(Gather{});
    if (!prepared) std::fprintf(stderr, "%s\n", prepared.error().what());
    _exit(prepared && compiles() == 2 ? 0 : 1);  // and no warming compile
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Border, ATypingErrorInTheEnvironmentIsAWarning) {
  Options given = options();
  given.cache.mode.reset();
  given.log.level.reset();
  ::setenv("QUERN_LOG", "verbose", 1);
  ::setenv("QUERN_CACHE", "ro", 1);
  ::setenv("QUERN_CACHE_TRUST", "everyone", 1);
  ::setenv("QUERN_CACHE_DIR", (scratch_ / "cache").c_str(), 1);
  EXPECT_NO_THROW(Runtime{given});
  for (const char* variable : {"QUERN_LOG", "QUERN_CACHE", "QUERN_CACHE_TRUST", "QUERN_CACHE_DIR"})
    ::unsetenv(variable);
  for (const char* words : {"QUERN_LOG=verbose", "QUERN_CACHE=ro", "QUERN_CACHE_TRUST"})
    EXPECT_EQ(log_.count(LogLevel::warning, words), 1) << log_.all();
  given.cache.trust = "everyone";
  EXPECT_THROW(Runtime{given}, Error) << "in the options it is the program's mistake";
}

TEST_F(Border, AnImageThatAPlanDoesNotHaveIsNamed) {
  Runtime runtime(options());
  const auto plan = runtime.prepare(Gather{});
  for (const int i : {-1, 2}) {
    EXPECT_TRUE(has(refusal([&] { (void)plan.source(i); }).sentence, "has 2 images")) << i;
    EXPECT_EQ(refusal([&] { (void)plan.ptx(i); }).code, Code::bad_input);
    EXPECT_EQ(refusal([&] { (void)plan.resources(i); }).code, Code::bad_input);
    EXPECT_EQ(refusal([&] { (void)plan.blocks_per_multiprocessor(i, 32); }).code, Code::bad_input);
  }
}

}  // namespace
}  // namespace quern::test
