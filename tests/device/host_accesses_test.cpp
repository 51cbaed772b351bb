// The access log of the host driver, and with it: every family moves its bulk in whole sectors.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "support/device.h"
#include "support/host_run.h"
#include "support/test_kernel.h"

namespace quern::test {
namespace {

class HostAccesses : public HostTest {
 protected:
  std::vector<AccessSite> sites_of(const std::string& body, const Shape& shape, int count) {
    const TestKernel kernel(runtime().state().compiler, options().driver, body);
    const LoggedAccesses log(driver());
    kernel.run(shape, count);
    return log.sites();
  }
};

TEST_F(HostAccesses, SixteenBytesALaneAreSixteenSectors) {
  configure("check_races=0");  // both blocks write the same
  const auto sites = sites_of("\n store<16>(out + 4 * threadIdx.x, {});", {2, 64}, 256);
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].place, "test.cu:2");
  EXPECT_EQ(sites[0].kind, "store");
  EXPECT_EQ(sites[0].memory, "out");
  EXPECT_EQ(sites[0].bytes, 16u);
  EXPECT_EQ(sites[0].requests, 4u);
  EXPECT_EQ(sites[0].sectors, 64u);
  EXPECT_EQ(sites[0].ideal_sectors, 64u);
  EXPECT_EQ(sites[0].asked_bytes, 2048u);
  EXPECT_EQ(sites[0].unique_bytes, 1024u) << "both blocks write the same";
}

TEST_F(HostAccesses, AStrideCostsSectorsAndABroadcastOne) {
  configure("check_races=0");  // all lanes write one number
  const auto sites = sites_of(R"(store<4>(out + 16 * threadIdx.x, {{1}});
    __syncwarp();
    store<4>(out + 1, load<4>(out));)",
                              {1, 32}, 512);
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0].sectors, 32u);
  EXPECT_EQ(sites[0].ideal_sectors, 4u);
  EXPECT_EQ(sites[1].place, "test.cu:3");
  EXPECT_EQ(sites[1].sectors, 1u);
  EXPECT_EQ(sites[1].ideal_sectors, 1u);
}

TEST_F(HostAccesses, ALoopIsARequestATurn) {
  const auto sites = sites_of("for (int i = 0; i < 5; ++i) store<4>(out + 32 * i + threadIdx.x, {{1}});", {1, 32}, 160);
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].requests, 5u);
  EXPECT_EQ(sites[0].sectors, 20u);
}

// 16 rows of 32 bytes, each alone in a half-line; then 8 of 64 bytes; then lanes side by side, but from the middle of a
// half-line on.
TEST_F(HostAccesses, LoadsFillHalfLines) {
  configure("check_races=0");
  const auto sites = sites_of(R"(const unsigned i = threadIdx.x;
    load<16>(out + 16 * (i / 2 * 5 % 16) + 4 * (i % 2));
    load<16>(out + 16 * (i / 4 * 3 % 8) + 4 * (i % 4));
    load<16>(out + 8 + 4 * i);
    store<16>(out + 8 + 4 * i, {});)",
                              {1, 32}, 256);
  const auto loads_at = [&](const char* place) {
    for (const AccessSite& site : sites)
      if (site.place == place && site.kind == "load") return site;
    ADD_FAILURE() << "no load at " << place;
    return AccessSite{};
  };
  const AccessSite narrow = loads_at("test.cu:2"), whole = loads_at("test.cu:3"), apart = loads_at("test.cu:4");
  EXPECT_EQ(narrow.sectors, 16u);
  EXPECT_EQ(narrow.half_lines, 16u);
  EXPECT_EQ(64 * narrow.unique_half_lines, 2 * narrow.unique_bytes);
  EXPECT_EQ(whole.half_lines, 8u);
  EXPECT_EQ(64 * whole.unique_half_lines, whole.unique_bytes);
  EXPECT_EQ(apart.half_lines, 9u) << "512 bytes and the halves at both ends";
  ASSERT_EQ(sites.back().kind, "store");
  EXPECT_EQ(sites.back().half_lines + sites.back().unique_half_lines, 0u);
}

// Two lines read the same half-lines in two requests each.
TEST_F(HostAccesses, TotalsHaveEachHalfLineOnce) {
  configure("check_races=0");
  const std::string body = R"(const int* const from = out + 16 * (threadIdx.x % 2);
    store<4>(out + 64, load<4>(from));
    store<4>(out + 65, load<4>(from + 1));)";
  const TestKernel kernel(runtime().state().compiler, options().driver, body);
  const LoggedAccesses log(driver());
  kernel.run({2, 32}, 96);
  const auto totals = log.totals();
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].place, "total:0");
  EXPECT_EQ(totals[0].kind, "load");
  EXPECT_EQ(totals[0].memory, "");
  EXPECT_EQ(totals[0].requests, 4u);
  EXPECT_EQ(totals[0].half_lines, 8u);
  EXPECT_EQ(totals[0].unique_half_lines, 2u);
  EXPECT_EQ(totals[0].unique_bytes, 16u);
  EXPECT_EQ(totals[0].asked_bytes, 512u);
  EXPECT_EQ(totals[1].kind, "store");
  EXPECT_EQ(totals[1].requests, 4u);
  EXPECT_EQ(totals[1].sectors, 4u);
  EXPECT_EQ(totals[1].half_lines + totals[1].unique_half_lines, 0u);
}

// A gather's rows at random among many, so that hardly two are neighbours.
TEST_F(HostAccesses, RandomRowsOf32BytesFillTwiceTheirBytes) {
  const auto filled = [&](const char* problem) {
    const LoggedAccesses log(driver());
    EXPECT_EQ(run_on_host(runtime(), driver(), problem), "");
    for (const AccessSite& site : log.sites()) {
      if (site.memory == "source")
        return static_cast<double>(64 * site.unique_half_lines) / static_cast<double>(site.unique_bytes);
    }
    return 0.0;
  };
  EXPECT_GT(filled("gather rows=100000 count=500 width=8 dtype=f32"), 1.97);
  EXPECT_EQ(filled("gather rows=100000 count=500 width=16 dtype=f32"), 1.0);
  EXPECT_NEAR(filled("gather rows=100000 count=500 width=24 dtype=f32"), 4.0 / 3, 0.01) << "96 bytes";
}

// The bulk of each family's aligned form, where a problem is not small: 16 bytes a lane, 16 sectors a request.
TEST_F(HostAccesses, AlignedFormsMoveWholeVectors) {
  struct Moved {
    const char* problem;
    const char* operands;
    std::uint64_t bytes;  // of an access
  };
  constexpr Moved kMoved[] = {
      {"gather rows=1056 count=1056 width=256 dtype=bf16", "source out", 16},
      {"pointwise rows=2112 width=256 dtype=bf16", "x bias out", 16},
      {"pointwise rows=1056 width=256 dtype=f32 op=add_mul_act", "x y bias out", 16},
      {"glu rows=2112 width=256", "x out", 16},
      {"glu rows=2112 width=256 pass=backward recompute=out", "x gradient out x_gradient", 8},
      {"glu rows=2112 width=256 layout=interleaved", "x", 16},
      {"glu rows=256 width=512 dtype=f32 pass=backward bias_gradient=f32", "x gradient x_gradient", 16},
      {"glu rows=256 width=512 layout=interleaved pass=backward scale=f32", "x x_gradient", 16},
      {"skeleton rows=64 width=2048 dtype=bf16", "x", 16}};
  for (const Moved& moved : kMoved) {
    const LoggedAccesses log(driver());
    EXPECT_EQ(run_on_host(runtime(), driver(), moved.problem), "");
    const auto sites = log.sites();
    for (const std::string_view operand : split(moved.operands, ' ')) {
      const auto seen = [&](const AccessSite& site) { return site.memory == operand; };
      EXPECT_TRUE(std::any_of(sites.begin(), sites.end(), seen)) << moved.problem << ": no access of " << operand;
    }
    for (const AccessSite& site : sites) {
      if (cat(" ", moved.operands, " ").find(cat(" ", site.memory, " ")) == std::string::npos) continue;
      EXPECT_EQ(site.bytes, moved.bytes) << moved.problem << " " << site.memory << " " << site.place;
      EXPECT_EQ(site.sectors, moved.bytes * site.requests) << moved.problem << " " << site.memory << " " << site.place;
    }
  }
}

}  // namespace
}  // namespace quern::test
