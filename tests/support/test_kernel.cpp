#include "support/test_kernel.h"

#include "base/text.h"
#include "plan/unit.h"

namespace quern::embedded {
Table<SourceFile> common_sources();  // generated with the library
}

namespace quern::test {
namespace {

constexpr const char* kHead = R"(#include "common/bulk.cuh"
#include "common/copy_async.cuh"
#include "common/mma.cuh"
#include "common/numbers.cuh"
#include "common/reduce.cuh"
#include "common/shared.cuh"
#include "common/slots.cuh"
#include "common/sync.cuh"
using namespace quern::common;
namespace quern::spec { constexpr int max_threads = 1024; }
struct Params { int* out; long long n; };
)";

Unit unit_of(const std::string& body, const std::string& before, const std::vector<SourceText>& instead,
             const Target& target) {
  Unit unit;
  unit.main = {"test.cu", cat(kHead, "#line 1 \"before\"\n", before,
                              "\nextern \"C\" __global__ void __launch_bounds__(1024) quern_test(const "
                              "__grid_constant__ Params p) {\n  int* const out = p.out; const long long n = p.n; "
                              "(void)out; (void)n;\n#line 1 \"test.cu\"\n",
                              body, "\n}\n")};
  for (const SourceFile& file : embedded::common_sources()) unit.headers.push_back({file.path, file.text});
  for (const SourceText& other : instead) {
    for (SourceText& header : unit.headers) {
      if (header.name == other.name) header.text = other.text;
    }
  }
  unit.prelude = Compiler::prelude(target);
  return unit;
}

Image compile(Compiler& compiler, const Driver& driver, const std::string& body, const std::string& before,
              const std::vector<SourceText>& instead) {
  const Target target = describe_device(driver, 0).target;
  try {
    return compiler.compile(unit_of(body, before, instead, target), "quern_test", target, false);
  } catch (Error& error) {
    error.sentence += "\n" + error.log;
    throw error;
  }
}

}  // namespace

TestKernel::TestKernel(Compiler& compiler, std::shared_ptr<const Driver> driver, const std::string& body,
                       const std::string& before, const std::vector<SourceText>& instead)
    : driver_(driver),
      image_(compile(compiler, *driver, body, before, instead)),
      library_(driver, image_.cubin, image_.kernel) {}

CUresult TestKernel::launch(const Shape& shape, CUdeviceptr out, int n) const {
  struct {
    CUdeviceptr out;
    long long n;
  } parameter{out, n};
  void* params[] = {&parameter};
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config{};
  config.gridDimX = shape.blocks;
  config.gridDimY = shape.parts;
  config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = shape.threads;
  config.sharedMemBytes = shape.shared_bytes;
  config.attrs = attributes;
  if (shape.cluster > 1) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {shape.cluster, 1, 1};
  }
  if (shape.cooperative) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  const CUresult result = (*driver_)->LaunchKernelEx(&config, library_.function(), params, nullptr);
  return result != CUDA_SUCCESS ? result : (*driver_)->CtxSynchronize();
}

std::vector<int> TestKernel::run(const Shape& shape, int count, int n, int before) const {
  const Driver& d = *driver_;
  std::vector<int> numbers(static_cast<std::size_t>(count), before);
  const std::size_t bytes = numbers.size() * sizeof(int);
  const DeviceMemory out(d, bytes);
  d.name_memory(out.get(), "out");
  d.check(d->MemcpyHtoD(out.get(), numbers.data(), bytes), Stage::tool, "cuMemcpyHtoD");
  d.check(launch(shape, out.get(), n), Stage::launch, "the test's kernel");
  d.check(d->MemcpyDtoH(numbers.data(), out.get(), bytes), Stage::tool, "cuMemcpyDtoH");
  return numbers;
}

CUresult TestKernel::outcome(const Shape& shape, int count, int n) const {
  const DeviceMemory out(*driver_, static_cast<std::size_t>(count) * sizeof(int));
  driver_->name_memory(out.get(), "out");
  return launch(shape, out.get(), n);
}

}  // namespace quern::test
