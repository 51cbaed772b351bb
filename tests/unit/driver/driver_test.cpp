#include "driver/driver.h"
#include "driver/capture_mode.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/find_host_driver.h"
#include "driver/library.h"
#include "driver/stream.h"
#include "unit/cache/support.h"
#include "unit/driver/support.h"

namespace quern {
namespace {

class NullDriverTest : public ::testing::Test {
 protected:
  void SetUp() override { test::reset_null_driver(); }
  void TearDown() override { test::reset_null_driver(); }
  const std::shared_ptr<Driver> driver_ = std::make_shared<Driver>(null_driver_table());
};

TEST_F(NullDriverTest, EveryEntryPointIsThere) {
  const DriverTable table = null_driver_table();
#define QUERN_EXPECT_SET(member, symbol) EXPECT_NE(table.member, nullptr) << #symbol;
  QUERN_DRIVER_FUNCTIONS(QUERN_EXPECT_SET)
#undef QUERN_EXPECT_SET
}

TEST_F(NullDriverTest, AFailedCallNamesItselfAndTheDriversWords) {
  driver_->check(CUDA_SUCCESS, Stage::load, "cuInit");
  try {
    driver_->check(CUDA_ERROR_OUT_OF_MEMORY, Stage::launch, "cuMemAlloc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::driver);
    EXPECT_EQ(error.stage, Stage::launch);
    EXPECT_EQ(error.driver_code, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(error.sentence, "cuMemAlloc failed: CUDA_ERROR (made up)");
  }
}

TEST_F(NullDriverTest, ALibraryIsUnloadedOnce) {
  { const Library library(driver_, "image", "kernel"); }
  EXPECT_EQ(null_driver().loads, 1);
  EXPECT_EQ(null_driver().unloads, 1);
}

TEST_F(NullDriverTest, ALibraryWithoutTheKernelIsUnloadedAgain) {
  DriverTable table = null_driver_table();
  table.LibraryGetKernel = [](CUkernel*, CUlibrary, const char*) { return CUDA_ERROR_NOT_FOUND; };
  EXPECT_THROW(Library(std::make_shared<Driver>(table), "image", "kernel"), Error);
  EXPECT_EQ(null_driver().loads, 1);
  EXPECT_EQ(null_driver().unloads, 1);
}

TEST_F(NullDriverTest, AForkedChildLeavesTheDriverAlone) {
  EXPECT_TRUE(driver_->survived_fork());
  auto library = std::make_unique<Library>(driver_, "image", "kernel");
  const pid_t child = fork();
  if (child == 0) {
    const bool alive = driver_->survived_fork();
    library.reset();
    _exit(alive || null_driver().unloads != 0 ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ImageRejected, TellsImagesFromEverythingElse) {
  for (const CUresult result : {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_SOURCE,
                                CUDA_ERROR_NOT_FOUND, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION})
    EXPECT_TRUE(image_rejected(result)) << result;
  for (const CUresult result : {CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                                CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_UNKNOWN})
    EXPECT_FALSE(image_rejected(result)) << result;
}

std::string driver_refusal(const std::string& path) {
  try {
    Driver::open(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::no_driver);
    return error.sentence;
  }
  return "opened";
}

TEST(NoDriver, EachPlaceIsListed) {
  const cache::Scratch scratch;
  const std::string missing = scratch / "libcuda.so.1";
  std::string sentence = driver_refusal(missing);
  EXPECT_NE(sentence.find(missing + ": "), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("QUERN_LIBCUDA"), std::string::npos) << sentence;
  cache::overwrite(missing, "no library");
  sentence = driver_refusal(missing);
  EXPECT_NE(sentence.find(missing + ": "), std::string::npos) << sentence;
}

TEST(NoDriver, ALibraryThatIsNoDriverIsNamedWithWhatItLacks) {
  const std::string sentence = driver_refusal("libm.so.6");
  EXPECT_NE(sentence.find("libm.so.6 has no cuInit"), std::string::npos) << sentence;
}

TEST(NoHostDriver, EachPlaceIsListedWithItsReason) {
  const cache::Scratch scratch;
  Environment environment;
  environment[Variable::hostdriver] = scratch / "libquern_hostdriver.so";
  const auto words = [&]() -> std::string {
    try {
      open_host_driver(environment);
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::no_driver);
      return error.sentence;
    }
    return "opened";
  };
  EXPECT_NE(words().find(": no such file"), std::string::npos) << words();
  cache::overwrite(environment[Variable::hostdriver], "no library");
  EXPECT_NE(words().find("libquern_hostdriver.so: "), std::string::npos) << words();
  EXPECT_NE(words().find("file too short"), std::string::npos) << words();  // the loader's message
}

// A thread whose mode was not changed must not get another one afterwards.
TEST(RelaxedCaptureMode, LeavesTheThreadItsOwnWhereTheDriverCannotChangeIt) {
  static int calls = 0;
  DriverTable table = null_driver_table();
  table.ThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return ++calls, CUDA_ERROR_OUT_OF_MEMORY; };
  const Driver driver(table);
  { const RelaxedCaptureMode relaxed(driver); }
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace quern
