// quern tune show and merge, through the functions that implement them.
#include "commands/tune_actions.h"

#include <gtest/gtest.h>

#include <sstream>

#include "unit/api/support.h"
#include "unit/records/support.h"

namespace quern::tool {
namespace {

using test::has;
using test::record_for;

class TuneRecords : public ::testing::Test {
 protected:
  Options options() const {
    Options options;
    options.cache.mode = CacheMode::off;
    options.tuning.records = scratch_ / "own";
    options.tuning.record_layers = {scratch_ / "below"};
    options.log.level = LogLevel::off;
    return options;
  }
  void write(const std::string& name, const std::vector<Record>& records, const std::string& more = "") const {
    std::string text;
    for (const Record& record : records) text += record_line(record) + "\n";
    cache::overwrite(scratch_ / name, text + more);
  }
  struct Printed {
    int code;
    std::string out;
    std::string err;
  };
  template <class Action>
  Printed print(Action action, TuneRecordArguments arguments) const {
    Runtime runtime(options());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = action(runtime, arguments);
    const std::string err = ::testing::internal::GetCapturedStderr();
    return {code, ::testing::internal::GetCapturedStdout(), err};
  }
  Printed show(std::vector<std::string> words, const std::string& records = "") const {
    return print(tune_show, {std::move(words), records, true});
  }
  // Without shipped records.
  static int lines(const std::string& text) {
    int count = 0;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) count += has(line, "shipped with") ? 0 : 1;
    return count;
  }

  const test::Scratch scratch_;
};

TEST_F(TuneRecords, ARowSaysWhatWasFoundAndHowGoodItIs) {
  Record record = test::whole_record();
  record.us = 8;
  record.copy_us = 6;
  const Row row = record_row(record, test::kNovember + 3 * 86'400'000'000'000);
  EXPECT_EQ(to_json(row),
            R"({"problem":"gather rows=4096 count=1024 width=512","device":"NVIDIA H200","target":"sm_90a",)"
            R"("regime":"cold","config":"form=0 vector=16 unroll=4 threads=64 load_once=1 store_stream=1","us":8.0,)"
            R"("faster_percent":20.0,"copy_percent":75.0,"band_percent":0.5,)"
            R"("measured":"2026-11-21","age":"3 d","driver":"13.0","compiler":"nvrtc 13.0.88"})");
  record.default_us = record.copy_us = 0;
  EXPECT_TRUE(has(to_json(record_row(record, record.created_unix_ns)), R"("faster_percent":null,"copy_percent":null)"));
}

TEST_F(TuneRecords, ShowPrintsWhatPrepareWouldFind) {
  write("own", {record_for("gather rows=8 count=8 width=64", "unroll=1"),
                record_for("gather rows=8 count=8 width=64", "unroll=2")});
  write("below", {record_for("gather rows=8 count=8 width=64", "unroll=4"), record_for("pointwise rows=8 width=64")});
  const Printed all = show({});
  EXPECT_EQ(all.code, kDone);
  EXPECT_EQ(lines(all.out), 2) << all.out;
  EXPECT_TRUE(has(all.out, "\"unroll=2\"") && has(all.out, scratch_ / "below")) << all.out;
  EXPECT_EQ(lines(show({"pointwise"}).out), 1);
}

TEST_F(TuneRecords, WhatIsShippedIsShownLast) {
  write("own", {record_for("gather rows=8 count=8 width=64", "unroll=1")});
  const std::string all = show({"gather"}).out;
  EXPECT_LT(all.find(scratch_ / "own"), all.find("shipped with gather")) << all;
  EXPECT_TRUE(has(all, "shipped with gather"));
}

TEST_F(TuneRecords, AProblemTextNamesTheFieldsThatMustAgree) {
  write("own", {record_for("gather rows=8 count=8 width=64"), record_for("gather rows=8 count=8 width=128"),
                record_for("gather rows=8 count=16 width=128"), record_for("frobnicate size=3")});
  EXPECT_EQ(lines(show({"gather"}).out), 3);
  EXPECT_EQ(lines(show({"gather", "width=128"}).out), 2);
  EXPECT_EQ(lines(show({"gather width=128 count=8"}).out), 1);
  EXPECT_EQ(lines(show({"gather", "dtype=u8"}).out), 0);
  EXPECT_TRUE(has(show({"gather", "dtype=u8"}).err, "no such records"));
  EXPECT_EQ(lines(show({}).out), 4) << "a family that this quern does not have is shown too";
  EXPECT_EQ(test::refusal([&] { show({"gather", "wdth=8"}); }).code, Code::bad_input);
  ::testing::internal::GetCapturedStderr();
  ::testing::internal::GetCapturedStdout();
}

TEST_F(TuneRecords, DamagedLinesAreNamedOnStderr) {
  write("own", {record_for("gather rows=8 count=8 width=64")}, "broken\n{\"quern_record\":2}\n");
  const Printed printed = show({});
  EXPECT_EQ(printed.code, kDone);
  EXPECT_EQ(lines(printed.out), 1);
  EXPECT_TRUE(has(printed.err, "skipped: " + scratch_ / "own:2: invalid JSON")) << printed.err;
  EXPECT_TRUE(has(printed.err, "own:3: it is of schema 2")) << printed.err;
}

TEST_F(TuneRecords, OneFileAloneMustBeThere) {
  write("other", {record_for("gather rows=8 count=8 width=64")});
  EXPECT_EQ(lines(show({}, scratch_ / "other").out), 1);
  const Error error = test::refusal([&] { show({}, scratch_ / "none"); });
  ::testing::internal::GetCapturedStderr();
  ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(error.code, Code::bad_input);
  EXPECT_TRUE(has(error.sentence, "none: No such file")) << error.sentence;
}

TEST_F(TuneRecords, MergeWritesOneFileAndCounts) {
  write("a", {record_for("gather rows=8 count=8 width=64")}, "broken\n");
  write("b", {record_for("gather rows=8 count=8 width=64", "unroll=2"), record_for("pointwise rows=8 width=64")});
  const Printed printed = print(tune_merge, {{scratch_ / "out", scratch_ / "a", scratch_ / "b"}, "", true});
  EXPECT_EQ(printed.code, kSomeFailed);
  EXPECT_TRUE(has(printed.out, R"("records":2,"older":1,"newer_schema":0,"damaged":1)")) << printed.out;
  EXPECT_TRUE(has(printed.err, scratch_ / "a:2:")) << printed.err;
  EXPECT_EQ(test::problems_in(scratch_ / "out").size(), 2u);
  EXPECT_EQ(print(tune_merge, {{scratch_ / "out", scratch_ / "b"}, "", true}).code, kDone);
}

}  // namespace
}  // namespace quern::tool
