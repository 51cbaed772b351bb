// Gradients of tables that have more than 2^31 rows together: their keys take two words. The tables here are one
// memory, and no two of them are named at one row of it, so that this many rows fit.
#include <gtest/gtest.h>

#include <vector>

#include "driver/stream.h"
#include "quern/embedding.h"
#include "support/device.h"

namespace quern::test {
namespace {

constexpr int kTables = 64;
constexpr std::int64_t kRows = 40'000'000;
static_assert(kTables * kRows > std::int64_t{1} << 31);

// The ids of table 5 are one row: a run of more than 32. Keys of tables 33 and 60 differ by 2^30, on both sides of
// 2^31, so that all bits of a key must count for their order.
std::int64_t row_of(int sample, int table) {
  constexpr std::int64_t kBetween = 27 * kRows - (std::int64_t{1} << 30);
  if (table == 33) return row_of(sample, 60) + kBetween;
  const std::int64_t place = table == 5 ? 0 : table == 60 ? sample % 30 : sample * sample % 41;
  return (place * kTables + table) * 15'000;
}
float gradient_of(int sample, int table) { return static_cast<float>((sample * 7 + table * 3) % 11 - 5); }

class EmbeddingWideKeys : public DeviceTest {
 protected:
  void upload(const DeviceMemory& memory, const void* from, std::size_t bytes) {
    driver().check(driver()->MemcpyHtoD(memory.get(), from, bytes), Stage::tool, "cuMemcpyHtoD");
  }
  void clear(const DeviceMemory& memory, std::size_t bytes) {
    driver().check(driver()->MemsetD8Async(memory.get(), 0, bytes, nullptr), Stage::tool, "cuMemsetD8Async");
  }

  // The tables' memory after two launches with one workspace.
  std::vector<float> gradients(int batch, const char* config) {
    std::vector<std::int64_t> ids;
    std::vector<float> gradient;
    for (int b = 0; b < batch; ++b)
      for (int t = 0; t < kTables; ++t) ids.push_back(row_of(b, t)), gradient.push_back(gradient_of(b, t));
    const DeviceMemory index(driver(), ids.size() * 8), given(driver(), gradient.size() * 4),
        table(driver(), kRows * 4);
    upload(index, ids.data(), ids.size() * 8);
    upload(given, gradient.data(), gradient.size() * 4);
    clear(table, kRows * 4);

    Embedding problem{.tables = kTables, .dim = {1}, .rows = {kRows}, .pass = EmbeddingPass::backward};
    const auto plan = runtime().prepare(problem, {.config = config});
    const std::vector<Out> tables(kTables, Out(table.data()));
    EmbeddingArgs args;
    args.index = index.data();
    args.gradient = given.data();
    args.weights_gradient = {tables.data(), kTables};
    args.batch = batch;
    const auto bytes = static_cast<std::size_t>(plan.workspace_bytes(args));
    const DeviceMemory workspace(driver(), bytes);
    clear(workspace, bytes);
    args.workspace = workspace.data();
    for (int launch = 0; launch < 2; ++launch) plan.launch(nullptr, args);
    synchronize();
    std::vector<float> made(kRows);
    driver().check(driver()->MemcpyDtoH(made.data(), table.get(), kRows * 4), Stage::tool, "cuMemcpyDtoH");
    return made;
  }
};

TEST_F(EmbeddingWideKeys, FindTheRowsOfEachTable) {
  struct Way {
    int batch;
    const char* config;
  };
  for (const Way& way : {Way{20, ""}, Way{300, ""}, Way{90, "sort.bits=4,sort.threads=256"}}) {
    std::vector<float> expected(kRows);
    for (int b = 0; b < way.batch; ++b)
      for (int t = 0; t < kTables; ++t) expected[static_cast<std::size_t>(row_of(b, t))] += gradient_of(b, t);
    EXPECT_TRUE(gradients(way.batch, way.config) == expected) << way.batch << " " << way.config;
  }
}

}  // namespace
}  // namespace quern::test
