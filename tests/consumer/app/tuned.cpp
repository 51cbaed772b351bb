// An application that tunes on prepare. Arguments: the folder of the cache and of the records; the program that
// measures is QUERN_WORKER, the device that of QUERN_LIBCUDA.
#include <quern/quern.h>
#include <quern/tuner.h>

#include <cstdio>
#include <string>

#include "device.h"

namespace {

int run(const std::string& folder) {
  app::Device device;
  if (!device.open()) {
    std::puts("no device: nothing tuned");
    return 1;
  }
  quern::Options options;
  options.cache.directory = folder + "/cache";
  options.tuning.mode = quern::Tuning::on_prepare;
  options.tuning.tuner = quern::make_tuner();
  options.tuning.records = folder + "/records.jsonl";
  options.tuning.seconds = 20;
  quern::Runtime runtime(options);

  quern::Gather problem;
  problem.rows = problem.count = 32;
  problem.width = 64;
  const quern::Plan<quern::Gather> plan = runtime.prepare(problem);
  std::printf("%s\n%llu sweeps\n", plan.why().c_str(),
              static_cast<unsigned long long>(runtime.statistics().tuning.sweeps));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
