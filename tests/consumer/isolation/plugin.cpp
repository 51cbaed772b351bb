// A plugin with libquern.a in it, whose plan and Runtime are in static storage.
#include <quern/quern.h>

#include <optional>

namespace {

std::optional<quern::Runtime> runtime;
quern::Plan<quern::Gather> plan;

}  // namespace

#define PLUGIN_API extern "C" __attribute__((visibility("default")))

// A function of the quern that this plugin calls.
PLUGIN_API const void* quern_of_plugin() {
  return reinterpret_cast<const void*>(static_cast<const char* (*)(quern::Code)>(&quern::name));
}

PLUGIN_API void prepare_in_plugin(const char* libcuda, const char* cache_dir) {
  quern::Options options;
  options.libcuda = libcuda;
  options.cache.directory = cache_dir;
  runtime.emplace(options);
  plan = runtime->prepare(quern::Gather{});
}
