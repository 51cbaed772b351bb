#include "unit/hostdriver/support.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/scratch.h"

namespace quern::host::test {
namespace {

constexpr const char* kSource = R"(
#include <unistd.h>
#include <atomic>
#include "common/twin_abi.cuh"
struct Act {
  unsigned* out; const unsigned* in; unsigned value; int what; int milliseconds; const std::atomic<bool>* open;
};
static void run(const void* parameter) {
  const Act& act = *static_cast<const Act*>(parameter);
  if (act.what == 1) usleep(1000 * act.milliseconds);
  while (act.what == 3 && !*act.open) usleep(100);
  *act.out = act.what == 2 ? *act.in : act.value;
}
extern "C" __attribute__((visibility("default"))) quern::twin::Image quern_image;
quern::twin::Image quern_image = {quern::twin::kAbiVersion, sizeof(Act), 128, 256, "act", run};
)";

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string build_image(const std::string& source) {
  const quern::test::Scratch scratch;
  const std::filesystem::path path = scratch.path();
  std::ofstream(path / "image.cpp") << source;
  const std::string command = "c++ -std=c++20 -shared -fPIC -fno-gnu-unique -I" QUERN_TESTS "/../templates -o " +
                              (path / "image.so").string() + " " + (path / "image.cpp").string();
  const int status = std::system(command.c_str());
  EXPECT_EQ(status, 0) << command;
  return contents(path / "image.so");
}

const std::string& test_image() {
  static const std::string image = build_image(kSource);
  return image;
}

std::string last_report_text() {
  std::string text(quernHostReport(nullptr, 0) + 1, '\0');
  quernHostReport(text.data(), text.size());
  text.pop_back();
  return text;
}

void HostDriver::SetUp() {
  ASSERT_FALSE(test_image().empty());
  ASSERT_OK(cuInit(0));
  ASSERT_OK(quernHostInject("clear"));
  ASSERT_OK(quernHostConfigure("defaults"));
  CUcontext context = nullptr;
  ASSERT_OK(cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_OK(cuCtxSetCurrent(context));
}

void HostDriver::TearDown() {
  quernHostInject("clear");
  if (library_ != nullptr) cuLibraryUnload(library_);
  EXPECT_OK(cuCtxSetCurrent(nullptr));
  while (cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS) continue;
  EXPECT_EQ(quernHostAlive(nullptr), 0u);
}

CUdeviceptr HostDriver::allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_OK(cuMemAlloc_v2(&address, bytes));
  return address;
}

CUfunction HostDriver::load() {
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  EXPECT_OK(cuLibraryLoadData(&library_, test_image().data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  EXPECT_OK(cuLibraryGetKernel(&kernel, library_, "act"));
  EXPECT_OK(cuKernelGetFunction(&function, kernel));
  return function;
}

CUlaunchConfig HostDriver::one_thread() {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  return config;
}

CUresult HostDriver::launch(CUfunction function, CUstream stream, Act act, CUlaunchConfig config) {
  config.hStream = stream;
  void* parameters[] = {&act};
  return cuLaunchKernelEx(&config, function, parameters, nullptr);
}

Act HostDriver::store(CUdeviceptr out, unsigned value) { return {reinterpret_cast<unsigned*>(out), nullptr, value}; }

Act HostDriver::store_late(CUdeviceptr out, unsigned value, int milliseconds) {
  return {reinterpret_cast<unsigned*>(out), nullptr, value, Act::sleep_then_store, milliseconds, nullptr};
}

Act HostDriver::copy(CUdeviceptr out, CUdeviceptr in) {
  return {reinterpret_cast<unsigned*>(out), reinterpret_cast<const unsigned*>(in), 0, Act::copy};
}

unsigned HostDriver::read(CUdeviceptr from) {
  unsigned value = 0;
  EXPECT_OK(cuMemcpyDtoH_v2(&value, from, sizeof value));
  return value;
}

}  // namespace quern::host::test
