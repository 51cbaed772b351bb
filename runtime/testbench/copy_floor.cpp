#include "testbench/copy_floor.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/random.h"
#include "driver/stream.h"
#include "quern/families.h"
#include "testbench/measure.h"

namespace quern {
namespace {

constexpr std::int64_t kBytesARow = 16;

// Random words: zeros can make a copy look faster than it is.
void fill_random(const Driver& driver, const DeviceMemory& memory, std::size_t bytes) {
  std::vector<std::uint64_t> words(std::size_t{1} << 20);
  Random random(7);
  for (std::uint64_t& word : words) word = random.next();
  const std::size_t step = words.size() * sizeof(words[0]);
  for (std::size_t at = 0; at < bytes; at += step)
    driver.check(driver->MemcpyHtoD(memory.get() + at, words.data(), std::min(step, bytes - at)), Stage::tool,
                 "cuMemcpyHtoD");
}

}  // namespace

CopyKernel own_copy(Runtime& runtime, const std::string& config) {
  Pointwise copy;
  copy.width = kBytesARow / bytes(f32);
  copy.dtype = f32;
  copy.activation = Activation::identity;
  copy.bias_spread = Spread::none;
  PrepareOptions options;
  options.config = config;
  return [plan = runtime.prepare(copy, options)](CUstream stream, const void* from, void* to, std::int64_t bytes) {
    PointwiseArgs args;
    args.x = from;
    args.out = to;
    args.rows = bytes / kBytesARow;
    plan.launch(stream, args);
  };
}

CopyFloor measure_copy(const Driver& driver, std::int64_t bytes, std::int64_t l2_bytes, const CopyKernel& kernel) {
  const std::int64_t half = std::max<std::int64_t>(16, bytes / 2 / 16 * 16);
  const ColdSets cold = cold_sets(2 * half, 2 * half, l2_bytes);
  std::vector<std::unique_ptr<DeviceMemory>> from;
  std::vector<std::unique_ptr<DeviceMemory>> to;
  for (int i = 0; i < cold.sets; ++i) {
    from.push_back(std::make_unique<DeviceMemory>(driver, static_cast<std::size_t>(half)));
    to.push_back(std::make_unique<DeviceMemory>(driver, static_cast<std::size_t>(half)));
    fill_random(driver, *from.back(), static_cast<std::size_t>(half));
  }
  const auto at = [](const auto& all, int set) -> const DeviceMemory& { return *all[static_cast<std::size_t>(set)]; };
  const Enqueue by_driver = [&](CUstream stream, int set) {
    driver.check(
        driver->MemcpyDtoDAsync(at(to, set).get(), at(from, set).get(), static_cast<std::size_t>(half), stream),
        Stage::tool, "cuMemcpyDtoDAsync");
  };
  const auto us_of = [&](const Enqueue& enqueue) { return measure(driver, {enqueue, cold, 2 * half, l2_bytes}).us; };
  CopyFloor floor{us_of(by_driver), "driver"};
  const Enqueue by_kernel = [&](CUstream stream, int set) {
    kernel(stream, at(from, set).data(), at(to, set).data(), half);
  };
  const double us = us_of(by_kernel);
  if (us < floor.us) floor = {us, "kernel"};
  return floor;
}

}  // namespace quern
