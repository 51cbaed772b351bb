// quern tune check: its rows, its summary, and errors that are reported before a device is opened.
#include "commands/tune_actions.h"

#include <gtest/gtest.h>

#include "unit/api/support.h"
#include "unit/records/support.h"

namespace quern::tool {
namespace {

using test::has;

CheckedRecord checked(double regret, const std::string& faster = "") {
  CheckedRecord checked;
  checked.record = test::record_for("gather rows=8 count=8 width=64");
  checked.now.emplace();
  checked.now->recorded.us = 9.5;
  checked.now->default_us = 12;
  checked.now->regret = Interval{regret / 2, regret, 2 * regret};
  checked.now->faster = faster;
  return checked;
}
CheckedRecord failing() {
  CheckedRecord failing = checked(0);
  failing.now->regret.reset();
  failing.now->recorded.failure = FailureKind::wrong;
  failing.now->recorded.why = "byte 7 of out is off";
  return failing;
}
CheckedRecord not_measured() {
  CheckedRecord skipped;
  skipped.record = test::record_for("gather rows=8 count=8 width=63", "vector=16");
  skipped.hints = {"driver 12.8 then, 13.0 now", "not measured: the vector must divide"};
  return skipped;
}

TEST(TuneCheck, ARowHasTheTimesThenAndNow) {
  EXPECT_EQ(
      to_json(check_row(checked(0.25, "unroll=2"))),
      R"({"problem":"gather rows=8 count=8 width=64","regime":"cold","config":"unroll=4","us":9.5,"was_us":9.0,)"
      R"("default_us":12.0,"regret_percent":25.0,"regret_low":12.5,"regret_high":50.0,"flip":true,"beaten_by":"unroll=2",)"
      R"("failure":null,"hint":null})");
}

TEST(TuneCheck, ARowSaysWhyThereIsNoTime) {
  const std::string failed = to_json(check_row(failing()));
  EXPECT_TRUE(has(
      failed, R"("us":null,"was_us":9.0,"default_us":12.0,"regret_percent":null,"regret_low":null,"regret_high":null,)"
              R"("flip":null,"beaten_by":null,"failure":"wrong: byte 7 of out is off")"))
      << failed;
  const std::string skipped = to_json(check_row(not_measured()));
  EXPECT_TRUE(has(skipped, R"("hint":"driver 12.8 then, 13.0 now; not measured: the vector must divide")")) << skipped;
  CheckedRecord ended = not_measured();
  ended.error = "the worker ended\nand left a log";
  EXPECT_TRUE(has(to_json(check_row(ended)), R"("failure":"the worker ended")"));
}

TEST(TuneCheck, TheSummaryCountsAndTakesTheMeanOfFactors) {
  EXPECT_EQ(check_summary({checked(0)}), "1 record, 0 flips; regret: p95 0.00 %, worst 0.00 %, geometric mean 0.00 %");
  EXPECT_EQ(check_summary({checked(0), checked(0.21, "unroll=2"), failing(), not_measured()}),
            "4 records, 1 flip, 1 failed, 1 not measured; regret: p95 19.95 %, worst 21.00 %, geometric mean 10.00 %");
  EXPECT_EQ(check_summary({not_measured()}), "1 record, 0 flips, 1 not measured");
}

TEST(TuneCheck, WhatNeedsNoDeviceIsSaidWithoutOne) {
  const test::Scratch scratch;
  Options options;
  options.cache.mode = CacheMode::off;
  options.tuning.records = scratch / "records";
  options.log.level = LogLevel::off;
  Runtime runtime(options);
  CheckRequest request;
  cache::overwrite(scratch / "blank", "");
  request.records.records = scratch / "blank";
  const auto refused = [&] { return test::refusal([&] { tune_check(runtime, request, {}); }); };
  EXPECT_TRUE(has(refused().sentence, "sweep first: quern tune FAMILY FIELD=VALUE...")) << refused().sentence;
  request.records.words = {"gather", "width=64"};
  request.device = "host";
  EXPECT_TRUE(has(refused().sentence, "quern tune gather width=64 --device host")) << refused().sentence;
  request.device = "gpu0";
  EXPECT_TRUE(has(refused().sentence, "it takes cuda:N")) << refused().sentence;
  EXPECT_EQ(refused().code, Code::bad_input);
}

// Workers could not share images with this process.
TEST(TuneCheck, WithoutAStoreItAsksForOne) {
  const test::Scratch scratch;
  cache::overwrite(scratch / "records", record_line(test::record_for("gather rows=8 count=8 width=64")) + "\n");
  Options options;
  options.cache.mode = CacheMode::off;
  options.tuning.records = scratch / "records";
  Runtime runtime(options);
  const Error error = test::refusal([&] { tune_check(runtime, {}, {}); });
  EXPECT_EQ(error.code, Code::io);
  EXPECT_TRUE(has(error.sentence, "--in-process")) << error.sentence;
}

}  // namespace
}  // namespace quern::tool
