// A host application: compiles a built-in family's kernel and one of its own without a GPU, and launches its own where
// there is one. Argument: the folder of the cache; or `worker`, and then it measures for others, its own family too.
#include <quern/expression.h>
#include <quern/quern.h>
#include <quern/worker.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "device.h"
#include "scale_rows/scale_rows.h"

namespace {

void print(const quern::Prewarmed& made) {
  std::printf("%s on %s\n", made.problem.c_str(), made.arch.c_str());
  for (const quern::ImageInfo& image : made.images) {
    std::printf("  %s: key %s, %s, %d registers, %d bytes shared, %d bytes spilled\n", image.variant.c_str(),
                image.key.c_str(), quern::name(image.origin), image.resources.registers, image.resources.shared_bytes,
                image.resources.spill_store_bytes);
  }
}

// Scales rows on the device and compares with the reference.
bool launch(quern::Runtime& runtime, const app::Device& device) {
  app::ScaleRows problem;
  problem.width = 1000;
  const quern::Plan<app::ScaleRows> plan = runtime.prepare(problem);

  problem.rows = 77;
  const auto count = static_cast<std::size_t>(problem.rows * problem.width);
  std::vector<float> x(count), scale(77), out(count), expected(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 251) - 100.5f;
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = 0.1f * static_cast<float>(i);

  app::ScaleRowsArgs args;
  args.x = x.data();
  args.scale = scale.data();
  args.out = expected.data();
  runtime.family("scale_rows").reference(&problem, &args);

  void* device_x = device.allocate(count * sizeof(float));
  void* device_scale = device.allocate(scale.size() * sizeof(float));
  void* device_out = device.allocate(count * sizeof(float));
  device.upload(device_x, x.data(), count * sizeof(float));
  device.upload(device_scale, scale.data(), scale.size() * sizeof(float));
  args.x = device_x;
  args.scale = device_scale;
  args.out = device_out;
  args.rows = problem.rows;
  plan.launch(nullptr, args);
  device.download(out.data(), device_out, count * sizeof(float));
  return out == expected;
}

int run(const char* cache_dir) {
  quern::Options options;
  options.cache.directory = cache_dir;
  quern::Runtime runtime(options);
  runtime.add(app::ScaleRows::family());

  quern::Gather gather;
  gather.width = 8192;
  gather.dtype = quern::bf16;
  print(runtime.prewarm(quern::Gather::family(), &gather, "sm_90a"));
  const quern::Expression x("x"), b("b", "f32 row");
  quern::Pointwise formula;
  formula.width = 8192;
  formula.expr = relu(x + 0.5f * b).text("out");
  print(runtime.prewarm(quern::Pointwise::family(), &formula, "sm_90a"));
  const app::ScaleRows rows;
  print(runtime.prewarm(app::ScaleRows::family(), &rows, "sm_90a"));

  app::Device device;
  if (!device.open()) {
    std::puts("no device: not launched");
    return 0;
  }
  const bool good = launch(runtime, device);
  std::puts(good ? "launched: the result is the reference's" : "launched: the result is wrong");
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    if (std::string_view(argv[1]) == "worker") quern::serve_worker({&app::ScaleRows::family()});
    return run(argv[1]);
  } catch (const quern::Error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.log.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
