// rope beyond single cases: replays with other positions, the offset of a launch, and bad cu_seqlens.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "common/host_types.h"
#include "driver/stream.h"
#include "quern/quern.h"
#include "support/replay.h"

namespace quern::test {
namespace {

class RopeOnDevice : public ReplayTest {
 protected:
  // What a launch makes of operands.
  HostOperands launch(const AnyProblem& problem, const HostOperands& host, const AnyArgs& scalars,
                      const std::string& config = {}) {
    DeviceOperands device(driver(), host);
    const AnyArgs args = device.args(scalars);
    device.upload(host);
    PrepareOptions options;
    options.config = config;
    runtime().prepare_any(problem.family(), problem.data(), options).launch(nullptr, args.data());
    driver().check(driver()->CtxSynchronize(), Stage::launch, "cuCtxSynchronize");
    HostOperands got = host;
    device.download(got);
    return got;
  }
};

TEST_F(RopeOnDevice, ReplaysWithOtherPositions) {
  expect_replays("rope batch=3 seq=7 heads=4 kv_heads=2 head_dim=32 position=ids table_rows=50");
  expect_replays("rope batch=3 seq=7 heads=4 kv_heads=2 head_dim=32 position=starts table_rows=50 place=in_place");
  expect_replays("rope batch=3 seq=20 heads=4 kv_heads=2 head_dim=32 layout=thd");
  expect_replays("rope batch=3 seq=7 kv_heads=2 head_dim=32 cache=slots cache_pages=9 page_size=4 values=copied");
  expect_replays("rope batch=3 seq=7 kv_heads=2 head_dim=32 cache=pages cache_pages=9 page_size=4 max_pages=3");
}

// A launch that adds to the positions of all tokens gives what a longer sequence has there.
TEST_F(RopeOnDevice, AnOffsetMovesTheWholeSequence) {
  for (const char* fields : {"position=sequence", "position=starts beyond=identity", "position=ids beyond=report"}) {
    const AnyProblem problem = runtime().parse(cat("rope batch=2 seq=5 heads=3 head_dim=24 table_rows=30 ", fields));
    HostOperands host(problem.family(), problem.data());
    host.generate(7, false);
    AnyArgs none(problem.family());
    for (const std::int64_t offset : {0, 1, 25, -3, 30}) {
      if ((offset < 0 || offset == 30) && cat(fields) == "position=sequence") continue;  // not in the table
      AnyArgs scalars(problem.family());
      scalars.parse_scalar("offset", cat(offset));
      const HostOperands got = launch(problem, host, scalars);
      EXPECT_EQ(compare(got, host.reference(scalars)).difference, "") << fields << " offset=" << offset;
      EXPECT_EQ(offset == 0, compare(got, host.reference(none)).difference.empty()) << fields << " offset=" << offset;
    }
  }
}

// Regression: generated positions took no notice of the offset, and a good one passed the end of the table with it.
TEST_F(RopeOnDevice, GeneratedPositionsAreInTheTableWithTheOffset) {
  constexpr int kPositions = 6;
  for (const char* position : {"starts", "ids", "ids index=i32"}) {
    const AnyProblem problem =
        runtime().parse(cat("rope batch=9 seq=6 heads=1 head_dim=8 table_rows=40 position=", position));
    HostOperands host(problem.family(), problem.data());
    ASSERT_EQ(host.name(kPositions), "positions");
    const std::int64_t most = cat(position) == "starts" ? 34 : 39;
    for (const std::int64_t offset : {0, 3, 34, 38, -3, -100}) {
      AnyArgs scalars(problem.family());
      scalars.parse_scalar("offset", cat(offset));
      host.generate(7, false, scalars);
      for (std::int64_t i = 0; i < host.layout(kPositions).extents[0]; ++i) {
        const std::int64_t at = common::read_integer(host.layout(kPositions).dtype, host.data(kPositions), i) + offset;
        EXPECT_TRUE(at >= 0 && at <= most) << position << " offset=" << offset << ": " << at;
      }
      EXPECT_EQ(compare(launch(problem, host, scalars), host.reference(scalars)).difference, "") << position << offset;
    }
  }
}

// What a launch with such a number says.
class RopeLaunch : public RopeOnDevice {
 protected:
  std::string refusal(const std::string& fields, const std::string& scalar, std::int64_t value) {
    const AnyProblem problem = runtime().parse("rope batch=2 heads=2 head_dim=16 " + fields);
    HostOperands host(problem.family(), problem.data());
    host.generate(7, false);
    AnyArgs scalars(problem.family());
    scalars.parse_scalar(scalar, cat(value));
    try {
      launch(problem, host, scalars);
    } catch (const Error& error) {
      EXPECT_EQ(error.problem, problem.text());
      EXPECT_EQ(error.stage, Stage::launch);
      return error.sentence;
    }
    return "";
  }
};

TEST_F(RopeLaunch, RefusesARankThatThereIsNot) {
  const std::string fields = "seq=8 cp_size=2";
  EXPECT_EQ(refusal(fields, "cp_rank", 1), "");
  for (const std::int64_t rank : {std::int64_t{2}, std::int64_t{5}, std::int64_t{-1}, std::int64_t{4294967297}})
    EXPECT_EQ(refusal(fields, "cp_rank", rank),
              cat("cp_rank=", rank, " is out of range: with cp_size=2 it takes 0 to 1"));
}

TEST_F(RopeLaunch, RefusesAnOffsetThatLeavesTheTable) {
  const std::string or_more = " or more, or beyond=identity to leave tokens outside the table as they are";
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal("seq=5 table_rows=30", "offset", 25), "");
  EXPECT_EQ(refusal("seq=5 table_rows=30", "offset", 26),
            "offset=26 and seq=5 pass the end of the table: give table_rows=31" + or_more);
  EXPECT_EQ(refusal("seq=5 table_rows=30", "offset", -1), "offset=-1 is before the table: give 0" + or_more);
  EXPECT_EQ(refusal("seq=4 cp_size=2", "offset", 1),
            "offset=1 and seq=4 times cp_size=2 pass the end of the table: give table_rows=9" + or_more);
  EXPECT_NE(refusal("seq=5 table_rows=30", "offset", largest), "");
  EXPECT_EQ(refusal("position=tokens seq=5", "offset", 1),
            "position=tokens has an entry of the table for each token: leave out offset");
  constexpr std::int64_t kFarthest = std::int64_t{1} << 62;
  for (const char* fields : {"seq=5 beyond=identity", "seq=5 table=computed"}) {
    EXPECT_EQ(refusal(fields, "offset", kFarthest), "") << fields;
    EXPECT_EQ(refusal(fields, "offset", -kFarthest), "") << fields;
    for (const std::int64_t offset : {kFarthest + 1, largest, -kFarthest - 1})
      EXPECT_EQ(refusal(fields, "offset", offset), cat("offset=", offset, " is out of range: it takes -2^62 to 2^62"));
  }
}

TEST_F(RopeLaunch, RefusesAnOffsetByTheExtentsOfTheLaunch) {
  const auto plan = runtime().prepare(Rope{.heads = 2, .head_dim = 16, .table_rows = 30});
  const DeviceMemory memory(driver(), 1 << 16);  // not read: all launches are refused
  auto* const any = reinterpret_cast<void*>(memory.get());
  RopeArgs args;
  args.q = args.cos = args.sin = any;
  args.q_out = any;
  args.batch = 1;
  args.offset = 26;
  args.seq = 5;
  const Result<bool> launched = plan.try_launch(nullptr, args);
  ASSERT_FALSE(launched);
  EXPECT_NE(launched.error().sentence.find("offset=26 and seq=5 pass the end"), std::string::npos);
}

// A rank has so many tokens of what comes before a sequence as division gives, though ranks do not share it evenly.
TEST_F(RopeOnDevice, SequencesThatBeginAtAnyTokenAreSharedByRanks) {
  constexpr int kCuSeqlens = 7;
  for (const std::vector<std::int32_t>& begins : {std::vector<std::int32_t>{1, 9, 9}, {3, 7, 15}, {2, 6, 14}}) {
    const AnyProblem problem = runtime().parse("rope batch=2 seq=8 heads=2 head_dim=16 layout=thd cp_size=2");
    HostOperands host(problem.family(), problem.data());
    host.generate(7, false);
    std::copy(begins.begin(), begins.end(), reinterpret_cast<std::int32_t*>(host.data(kCuSeqlens)));
    for (const char* rank : {"0", "1"}) {
      AnyArgs scalars(problem.family());
      scalars.parse_scalar("cp_rank", rank);
      EXPECT_EQ(compare(launch(problem, host, scalars), host.reference(scalars)).difference, "") << begins[0] << rank;
    }
  }
}

// Each rank has the tokens of its chunks at the positions that they have in the whole.
TEST_F(RopeOnDevice, EachRankOfASequence) {
  for (const char* fields :
       {"cp_size=2", "cp_size=3 position=starts table_rows=40", "cp_size=4 layout=thd", "cp_size=2 pass=backward",
        "cp_size=2 style=interleaved table=angles", "cp_size=2 style=interleaved pass=backward table=angles",
        "cp_size=2 layout=thd style=interleaved", "cp_size=2 layout=thd pass=backward table=angles"}) {
    const AnyProblem problem = runtime().parse(cat("rope batch=2 seq=12 heads=3 head_dim=24 ", fields));
    HostOperands host(problem.family(), problem.data());
    host.generate(7, false);
    const HostOperands first = host.reference(AnyArgs(problem.family()));
    for (int rank = 0; rank < std::stoi(problem.get("cp_size")); ++rank) {
      AnyArgs scalars(problem.family());
      scalars.parse_scalar("cp_rank", cat(rank));
      const HostOperands got = launch(problem, host, scalars);
      EXPECT_EQ(compare(got, host.reference(scalars)).difference, "") << fields << " cp_rank=" << rank;
      EXPECT_EQ(rank == 0, compare(got, first).difference.empty()) << fields << " cp_rank=" << rank;
    }
  }
}

// Of heads in place without rotated elements nothing is launched, which leaves the report as it is.
TEST_F(RopeOnDevice, NothingIsReportedWhereNothingMoves) {
  const AnyProblem problem = runtime().parse(
      "rope batch=2 seq=8 heads=1 head_dim=8 rotary_offset=8 place=in_place beyond=report position=ids table_rows=4");
  HostOperands host(problem.family(), problem.data());
  host.generate(7, false);
  const AnyArgs none(problem.family());
  EXPECT_EQ(compare(launch(problem, host, none), host).difference, "");
  EXPECT_EQ(compare(host.reference(none), host).difference, "");
}

const std::vector<std::vector<std::int32_t>> kBadCuSeqlens = {
    {0, 5, 2, 7, 9},     {9, 7, 5, 3, 0},     {-70000000, 20, 21, 22, 23},
    {-7, -3, 0, 20, 40}, {0, 100, 3, 100, 9}, {-2147483648, 2147483647, 0, 1, 2},
};

// The operands are between guard bands, and the host driver knows where each ends.
TEST_F(RopeOnDevice, CuSeqlensThatDecreaseOrPassTheEndReachNothingOutside) {
  constexpr int kCuSeqlens = 7;
  for (const char* fields :
       {"cp_size=1", "cp_size=2", "position=starts", "table=angles", "table=computed position=starts cp_size=2",
        "kv_heads=1 cache=pages cache_pages=7 page_size=4 max_pages=2 values=copied",
        "kv_heads=1 cache=pages cache_pages=7 page_size=4 max_pages=2 position=starts cp_size=2 table=angles",
        "kv_heads=1 cache=positions page_size=9", "kv_heads=1 cache=slots cache_pages=7 page_size=4 position=starts"}) {
    const AnyProblem problem = runtime().parse(cat("rope batch=4 seq=9 heads=2 head_dim=16 layout=thd ", fields));
    for (const std::vector<std::int32_t>& bad : kBadCuSeqlens) {
      HostOperands host(problem.family(), problem.data());
      ASSERT_EQ(host.name(kCuSeqlens), "cu_seqlens");
      host.generate(7, false);
      std::copy(bad.begin(), bad.end(), reinterpret_cast<std::int32_t*>(host.data(kCuSeqlens)));
      EXPECT_NO_THROW(launch(problem, host, AnyArgs(problem.family()))) << fields;
    }
  }
}

// A run of heads ends with the token that it has last, and tokens of no sequence stay as they are wherever it begins.
TEST_F(RopeOnDevice, StagedRunsWithoutSequencesAreNotWritten) {
  constexpr int kCuSeqlens = 7;
  for (const char* fields : {"heads=2", "heads=3 kv_heads=1 table=computed", "heads=2 place=in_place cp_size=2"}) {
    const AnyProblem problem = runtime().parse(cat("rope batch=4 seq=20 head_dim=18 layout=thd ", fields));
    HostOperands host(problem.family(), problem.data());
    host.generate(7, false);
    const auto launched = [&](const std::vector<std::int32_t>& cu_seqlens) {
      std::copy(cu_seqlens.begin(), cu_seqlens.end(), reinterpret_cast<std::int32_t*>(host.data(kCuSeqlens)));
      return launch(problem, host, AnyArgs(problem.family()), "form=1,vector=16,run=8,threads=64");
    };
    for (const std::vector<std::int32_t>& bad : kBadCuSeqlens) EXPECT_NO_THROW(launched(bad)) << fields;
    for (const std::vector<std::int32_t>& begins :
         {std::vector<std::int32_t>{4, 4, 8, 8, 12}, {0, 0, 0, 0, 0}, {20, 20, 20, 20, 20}, {8, 12, 12, 16, 20}}) {
      const HostOperands got = launched(begins);
      EXPECT_EQ(compare(got, host.reference(AnyArgs(problem.family()))).difference, "") << fields << begins[0];
    }
  }
}

}  // namespace
}  // namespace quern::test
