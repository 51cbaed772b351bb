// The library that torch_cache.py loads into a PyTorch process: quern as a guest there.
#include <cstdio>
#include <string>

#include "quern/quern.h"

extern "C" __attribute__((visibility("default"))) const char* quern_torch_gather(const char* pack, const void* source,
                                                                                 const void* index, void* out,
                                                                                 long count, void* stream) {
  static std::string report;
  try {
    quern::Options options;
    options.cache.directory = "/nonexistent/quern";
    options.cache.mode = quern::CacheMode::read_only;
    options.cache.layers = {pack};
    quern::Runtime runtime(options);
    quern::Gather problem;
    problem.width = 8192;
    const auto plan = runtime.prepare(problem);
    quern::GatherArgs args;
    args.source = source;
    args.index = index;
    args.out = out;
    args.count = count;
    plan.launch(static_cast<CUstream_st*>(stream), args);
    const quern::Statistics s = runtime.statistics();
    report = std::to_string(plan.images().size()) + " images, " + std::to_string(s.hits.disk) + " hits, " +
             std::to_string(s.misses.all) + " misses, " + std::to_string(s.compiles.count) + " compiles";
  } catch (const std::exception& error) {
    report = std::string("error: ") + error.what();
  }
  return report.c_str();
}
