// Compilers that change, break or cannot be examined while a process runs.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "api/runtime_state.h"
#include "compiler/nvrtc_compiler.h"
#include "support/no_descriptors.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

using Replaced = ApiTest;

const Unit kUnit = {{"made/made.cu", "// a kernel\n"}, {}, {}};

Image compile(NvrtcCompiler& compiler) { return compiler.compile(kUnit, "made", {90, "a"}, false); }

Log quiet() { return {LogLevel::off, {}}; }

TEST_F(Replaced, AMomentWithoutDescriptorsLeavesNoIdentityBehind) {
  const Log log = quiet();
  NvrtcCompiler compiler(fake_nvrtc().path, {}, log);
  {
    const NoDescriptors none;
    const Error error = refusal([&] { compiler.identity(); });
    EXPECT_EQ(error.code, Code::io);
    EXPECT_TRUE(has(error.sentence, "Too many open files")) << error.sentence;
  }
  EXPECT_EQ(compiler.identity(), "nvrtc faceb00c builtins none");
  EXPECT_EQ(compile(compiler).identity, "nvrtc faceb00c builtins none");
}

TEST_F(Replaced, AMomentWithoutDescriptorsPassesOverNoWheel) {
  Environment environment;
  environment[Variable::virtual_env] = scratch_ / "venv";
  const std::string wheel = copy_of_compiler(scratch_ / "venv/lib/python3.12/site-packages/nvidia/cu13/lib", false);
  const Log log = quiet();
  NvrtcCompiler compiler("", environment, log);
  {
    const NoDescriptors none;
    EXPECT_EQ(refusal([&] { compiler.path(); }).code, Code::io);
  }
  EXPECT_EQ(compiler.path(), wheel);
}

TEST_F(Replaced, AMomentWithoutDescriptorsDoesNotMakeAnNvrtcABrokenOne) {
  Environment environment;
  environment[Variable::virtual_env] = scratch_ / "venv";
  const std::string wheel = copy_of_compiler(scratch_ / "venv/lib/python3.12/site-packages/nvidia/cu13/lib", false);
  const Log log(LogLevel::warning, log_.sink());
  NvrtcCompiler compiler("", environment, log);
  EXPECT_EQ(compiler.path(), wheel);
  {
    const NoDescriptors none;
    EXPECT_EQ(refusal([&] { compiler.nvrtc(); }).code, Code::io);
  }
  EXPECT_EQ(compiler.nvrtc().path, wheel);
  EXPECT_EQ(log_.count(LogLevel::warning), 0) << log_.all();
}

TEST_F(Replaced, AMomentWithoutDescriptorsLeavesTheCacheRight) {
  Runtime runtime(options(scratch_ / "cache"));
  {
    const NoDescriptors none;
    EXPECT_EQ(refusal([&] { runtime.prepare(Gather{}); }).code, Code::io);
  }
  const auto plan = runtime.prepare(Gather{});
  Runtime other(options(scratch_ / "cache"));
  EXPECT_EQ(plan.images()[0].key, other.prepare(Gather{}).images()[0].key);
  EXPECT_EQ(other.statistics().hits.disk, 2u);
}

// The opened library compiles, so its identity is used for the images.
TEST_F(Replaced, AnNvrtcThatIsReplacedBeforeItIsOpenedNamesItsOwnImages) {
  Options given = options(scratch_ / "cache");
  given.cache.match = CacheMatch::exact;
  Runtime(given).prepare(Gather{});
  given.compiler.nvrtc = copy_of_compiler(scratch_ / "lib", false);
  Runtime running(given);
  EXPECT_EQ(running.prepare(Gather{}).images()[0].origin, ImageOrigin::disk) << "the same build, not opened yet";
  std::filesystem::remove(given.compiler.nvrtc);
  copy_of_compiler(scratch_ / "lib", true);
  const auto plan = running.prepare(Gather{.dtype = f32});
  EXPECT_EQ(log_.count(LogLevel::warning, "was replaced"), 1) << log_.all();
  running.flush();
  Runtime later(given);
  EXPECT_EQ(later.prepare(Gather{.dtype = f32}).images()[0].key, plan.images()[0].key);
  EXPECT_EQ(later.statistics().hits.disk, 2u) << "under the new build's name";
  given.compiler.nvrtc = fake_nvrtc().path;
  Runtime back(given);
  back.prepare(Gather{.dtype = f32});
  EXPECT_EQ(back.statistics().hits.disk, 0u) << "and not under the old one's";
}

// Its failures are not remembered under the other identity either.
TEST_F(Replaced, AnNvrtcThatIsReplacedBeforeItIsOpenedRefusesForItselfOnly) {
  Options given = options(scratch_ / "cache");
  given.cache.match = CacheMatch::exact;
  Runtime(given).prepare(Gather{});
  given.compiler.nvrtc = copy_of_compiler(scratch_ / "lib", false);
  Runtime running(given);
  running.prepare(Gather{});
  std::filesystem::remove(given.compiler.nvrtc);
  copy_of_compiler(scratch_ / "lib", true);
  control_of(given.compiler.nvrtc).refuse = 1;
  EXPECT_EQ(refusal([&] { running.prepare(Gather{.dtype = f32}); }).code, Code::compile);
  running.flush();
  given.compiler.nvrtc = fake_nvrtc().path;
  EXPECT_NO_THROW(Runtime(given).prepare(Gather{.dtype = f32}));
}

// NVRTC opens its builtins at the first compile, whatever files were there during the search.
TEST_F(Replaced, BuiltinsThatAreReplacedBeforeTheFirstCompileAreItsImages) {
  const std::string path = copy_of_compiler(scratch_ / "lib", false);
  control_of(path).version = 13077;  // not those of another test's builtins
  const std::string builtins = scratch_ / "lib/libnvrtc-builtins.so.13.77";
  std::filesystem::copy(path, builtins);
  const Log log(LogLevel::warning, log_.sink());
  NvrtcCompiler compiler(path, {}, log);
  compiler.nvrtc();
  EXPECT_EQ(compiler.identity(), "nvrtc faceb00c builtins faceb00c");
  std::filesystem::remove(builtins);
  std::filesystem::rename(copy_of_compiler(scratch_ / "other", true), builtins);
  ASSERT_NE(dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr);
  EXPECT_EQ(compile(compiler).identity, "nvrtc faceb00c builtins fbceb00c");
  EXPECT_EQ(log_.count(LogLevel::warning, "was replaced"), 1) << log_.all();
}

TEST_F(Replaced, TheIdentityOfALoadedLibraryIsNotThatOfTheFileThatReplacedIt) {
  const std::string path = copy_of_compiler(scratch_ / "lib", false);
  const Log log = quiet();
  NvrtcCompiler first(path, {}, log);
  const std::string before = compile(first).identity;
  std::filesystem::remove(path);
  copy_of_compiler(scratch_ / "lib", true);
  NvrtcCompiler second(path, {}, log);
  EXPECT_EQ(second.identity(), before) << "this process continues with the loaded library";
  EXPECT_EQ(compile(second).identity, before);
}

TEST_F(Replaced, ABrokenNvrtcDoesNotHideAGoodOne) {
  std::filesystem::create_directories(scratch_ / "bad1");
  std::filesystem::create_directories(scratch_ / "bad2");
  cache::overwrite(scratch_ / "bad1/libnvrtc.so.13", "no library");
  std::string why_not;
  ASSERT_TRUE(run_compiler(cat("-shared -fPIC -x c++ /dev/null -o ", scratch_ / "bad2/libnvrtc.so.13"), &why_not))
      << why_not;
  const std::string good = copy_of_compiler(scratch_ / "good", true);
  Environment environment;
  environment[Variable::ld_library_path] = cat(scratch_ / "bad1", ":", scratch_ / "bad2", ":", scratch_ / "good");
  const Log log(LogLevel::warning, log_.sink());
  NvrtcCompiler compiler("", environment, log);
  EXPECT_NE(compile(compiler).cubin, "");
  EXPECT_EQ(compiler.path(), good);
  EXPECT_EQ(log_.count(LogLevel::warning, "bad1/libnvrtc.so.13 could not be opened"), 1) << log_.all();
  EXPECT_EQ(log_.count(LogLevel::warning, "bad2/libnvrtc.so.13 lacks nvrtc"), 1) << log_.all();
}

TEST_F(Replaced, ADriverOfAnOlderCudaGetsTheNvrtcThatSuitsIt) {
  Environment environment;
  environment[Variable::ld_library_path] = scratch_ / "lib";
  const std::string newer = copy_of_compiler(scratch_ / "lib", true, 13);
  const std::string older = copy_of_compiler(scratch_ / "lib", false, 12);
  const Log log(LogLevel::warning, log_.sink());
  NvrtcCompiler both("", environment, log);
  EXPECT_EQ(both.path(), newer);
  both.suit_driver(12080);
  EXPECT_EQ(both.path(), older);
  EXPECT_EQ(compile(both).identity, "nvrtc faceb00c builtins none");
  std::filesystem::remove(older);
  NvrtcCompiler alone("", environment, log);
  alone.suit_driver(12080);
  EXPECT_EQ(alone.path(), newer) << "rather that one than none";
  EXPECT_EQ(log_.count(LogLevel::warning, "newer CUDA than the driver"), 1) << log_.all();
}

TEST_F(Replaced, ADriverThatTakesTheChosenNvrtcCostsNoOtherSearch) {
  Environment environment;
  environment[Variable::ld_library_path] = scratch_ / "lib";
  const std::string first = copy_of_compiler(scratch_ / "lib", false, 12);
  const Log log = quiet();
  NvrtcCompiler compiler("", environment, log);
  EXPECT_EQ(compiler.path(), first);
  const std::string later = copy_of_compiler(scratch_ / "lib", true, 13);
  compiler.suit_driver(13000);
  EXPECT_EQ(compiler.path(), first) << "chosen when no driver was known";
  compiler.suit_driver(12080);
  EXPECT_EQ(compiler.path(), first) << "an older driver takes it too";
  compiler.suit_driver(13000);
  EXPECT_EQ(compiler.path(), later) << "a newer driver may take a better one";
}

// A driver that cannot report its CUDA version is asked again later.
TEST_F(Replaced, TheRuntimeAsksTheDriverOfWhichCudaItIs) {
  const std::string packages = scratch_ / "venv/lib/python3.12/site-packages/nvidia/";
  copy_of_compiler(packages + "cu13/lib", true, 13);
  const std::string older = copy_of_compiler(packages + "cuda_nvrtc/lib", false, 12);
  Options given = options();
  given.compiler.nvrtc.clear();
  DriverTable table = null_driver_table();
  static CUresult answer = CUDA_ERROR_OUT_OF_MEMORY;
  table.DriverGetVersion = [](int* version) { return *version = 12080, answer; };
  given.driver = std::make_shared<Driver>(table);
  ::setenv("VIRTUAL_ENV", (scratch_ / "venv").c_str(), 1);
  Runtime runtime(given);
  ::unsetenv("VIRTUAL_ENV");
  EXPECT_EQ(refusal([&] { runtime.prepare(Gather{}); }).driver_code, CUDA_ERROR_OUT_OF_MEMORY);
  answer = CUDA_SUCCESS;
  runtime.prepare(Gather{});
  EXPECT_EQ(runtime.state().compiler.nvrtc().path(), older);
  runtime.prepare(Gather{});
  EXPECT_EQ(runtime.statistics().hits.plan, 1u);
}

// An NVRTC that was warmed, or used by prewarm, before the driver was known.
TEST_F(Replaced, ADriverOfAnOlderCudaGetsTheNvrtcThatSuitsItAfterAnotherWasOpened) {
  Environment environment;
  environment[Variable::ld_library_path] = scratch_ / "lib";
  const std::string newer = copy_of_compiler(scratch_ / "lib", true, 13);
  const std::string older = copy_of_compiler(scratch_ / "lib", false, 12);
  const Log log(LogLevel::warning, log_.sink());
  NvrtcCompiler compiler("", environment, log);
  compiler.warm();
  const std::string before = compiler.identity();
  compiler.suit_driver(13010);
  EXPECT_EQ(compiler.nvrtc().path, newer);
  compiler.suit_driver(12080);
  EXPECT_EQ(compiler.nvrtc().path, older);
  EXPECT_EQ(compile(compiler).identity, "nvrtc faceb00c builtins none");
  std::filesystem::remove(older);
  NvrtcCompiler alone("", environment, log);
  EXPECT_EQ(compile(alone).identity, before);
  alone.suit_driver(12080);
  EXPECT_EQ(compile(alone).identity, before);
  EXPECT_EQ(log_.count(LogLevel::warning), 1) << log_.all();
  EXPECT_EQ(log_.count(LogLevel::warning, "newer CUDA than the driver"), 1) << log_.all();
}

TEST_F(Replaced, ACompileThatADriverOfAnOlderCudaComesInTheMiddleOfIsMadeAgain) {
  Environment environment;
  environment[Variable::ld_library_path] = scratch_ / "lib";
  const std::string newer = copy_of_compiler(scratch_ / "lib", true, 13);
  copy_of_compiler(scratch_ / "lib", false, 12);
  FakeControl& held = control_of(newer);
  const Log log = quiet();
  NvrtcCompiler compiler("", environment, log);
  std::strcpy(held.held_text, "a kernel");
  held.hold = 1;
  Image image;
  std::thread compiling([&] { image = compile(compiler); });
  for (int i = 0; i < 2000 && held.held == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(held.held, 1);
  compiler.suit_driver(12080);
  held.hold = 0;
  compiling.join();
  EXPECT_EQ(image.identity, "nvrtc faceb00c builtins none");
}

}  // namespace
}  // namespace quern::test
