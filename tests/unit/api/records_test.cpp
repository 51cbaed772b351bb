// Records decide configs at prepare and prewarm, and plans report it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "api/configs.h"
#include "driver/device.h"
#include "quern/quern.h"
#include "skeleton/skeleton.h"
#include "unit/api/support.h"
#include "unit/records/support.h"

namespace quern::test {
namespace {

constexpr const char* kText = "gather rows=1024 count=512 width=4096";

class RuntimeRecords : public ApiTest {
 protected:
  static Options looking_up(Options all) {
    all.tuning.mode = Tuning::lookup;
    return all;
  }
  Options options() { return looking_up(ApiTest::options()); }
  Options options(const std::string& cache_dir) { return looking_up(ApiTest::options(cache_dir)); }
  void write(const std::vector<Record>& records) const {
    std::string text;
    for (const Record& record : records) text += record_line(record) + "\n";
    cache::overwrite(scratch_ / "records.jsonl", text);
  }
  // A record of the null driver's device.
  static Record one(const std::string& config, const std::string& problem = kText) {
    return record_for(problem, config, live().name);
  }
  static Device live() { return describe_device(*counting_driver(), 0); }
};

TEST_F(RuntimeRecords, ARecordReplacesTheConfigOfTheMostWantedImage) {
  PrepareOptions same;
  same.config = "vector=8,unroll=4,threads=64";
  const auto wanted = Runtime(options()).prepare_text(kText, same);
  write({one("vector=8 unroll=4 threads=64")});
  Runtime runtime(options());
  const auto plan = runtime.prepare_text(kText);
  EXPECT_EQ(keys(plan.images()), keys(wanted.images()));
  EXPECT_EQ(plan.images()[0].config, wanted.images()[0].config);
  EXPECT_EQ(plan.images()[0].alignment, 8u);
  const std::string why =
      cat("record of ", live().name, " for ", kText, " (exact), measured 2026-11-21, 10.0 % faster than the default");
  EXPECT_TRUE(has(plan.why(), why)) << plan.why();
  EXPECT_TRUE(has(plan.why(), "\nragged")) << plan.why();
  EXPECT_TRUE(has(plan.why(), "default for")) << "the other image keeps its own";
  EXPECT_EQ(log_.count(LogLevel::info, why), 1) << log_.all();
  runtime.prepare_text(kText);
  EXPECT_EQ(log_.count(LogLevel::info, why), 1) << "a known plan is silent";
}

TEST_F(RuntimeRecords, AnExplicitConfigWinsAndOffNeverLooks) {
  write({one("unroll=8")});
  PrepareOptions changed;
  changed.config = "unroll=1";
  const auto given = Runtime(options()).prepare_text(kText, changed);
  EXPECT_TRUE(has(given.images()[0].config, "unroll=1 ")) << given.why();
  EXPECT_TRUE(has(given.why(), "the default changed by unroll=1")) << given.why();
  Options off = options();
  off.tuning.mode = Tuning::off;
  const auto plain = Runtime(off).prepare_text(kText);
  EXPECT_TRUE(has(plain.why(), "default for generic sm_90; image")) << plain.why();
  EXPECT_FALSE(has(log_.all(), "record")) << log_.all();
}

TEST_F(RuntimeRecords, WhereNoneFitsTheDefaultIsSaidOnce) {
  write({one("unroll=8")});
  Runtime runtime(options());
  const auto plan = runtime.prepare_text("gather width=64 dtype=u8");
  EXPECT_TRUE(has(plan.why(), "default for generic sm_90; no record fits; image")) << plan.why();
  EXPECT_EQ(log_.count(LogLevel::info, "no record fits"), 1) << log_.all();
  runtime.add(Skeleton::family());
  runtime.prepare_text("skeleton width=64");
  EXPECT_EQ(log_.count(LogLevel::info, "no record fits"), 1) << "there are none of that family: " << log_.all();
}

// The H200's records ship with the library: they decide on an H200, and as a sibling's records on other devices of its
// target.
TEST_F(RuntimeRecords, WhatIsShippedDecidesWithoutAnyFile) {
  Runtime runtime(options());
  const char* const text = "gather rows=64 count=64 width=7168";
  const AnyProblem problem = runtime.parse(text);
  const auto from = [&](const std::string& device) {
    const ConfigPlace place{{90, "a"}, generic_model(90), device};
    return select_configs(runtime.state(), problem.family(), problem.data(), place, "").front().from;
  };
  EXPECT_TRUE(has(from("NVIDIA H200"), cat("record of NVIDIA H200 for ", text, " (exact)"))) << from("NVIDIA H200");
  EXPECT_TRUE(has(from("another"), "; the record of NVIDIA H200 for ")) << from("another");
  EXPECT_TRUE(has(from("another"), "(of a sibling, exact)")) << from("another");
  // Of the others each problem of the table was swept.
  const std::map<std::string_view, int> swept = {
      {"pointwise", 13},    {"glu", 6},        {"rope", 8},       {"moe_map", 2},    {"moe_permute", 2},
      {"moe_unpermute", 1}, {"chunk_sort", 0}, {"scatter", 2},    {"concat", 2},     {"index_sort", 2},
      {"multi_row_pad", 0}, {"embedding", 0},  {"hash_table", 0}, {"interaction", 0}};
  for (const Family* family : runtime.families()) {
    const auto some = swept.find(family->name);
    const int expected = some == swept.end() ? family->bench_cases.count : some->second;
    EXPECT_EQ(runtime.state().records.count(*family), static_cast<std::size_t>(expected)) << family->name;
  }
}

TEST_F(RuntimeRecords, OneFromElsewhereIsAHintThatIsUsedAndSaid) {
  Record other = one("unroll=8");
  other.driver = "12.4";
  other.compiler = "nvrtc 12.4.99";
  other.space_digest = "0123";
  write({other});
  Options given = options();
  given.log.level = LogLevel::debug;
  const auto plan = Runtime(given).prepare_text(kText);
  EXPECT_TRUE(has(plan.images()[0].config, "unroll=8")) << plan.why();
  const std::string hint = "measured with driver 12.4, compiled by nvrtc 12.4.99, chosen from another tuning space";
  EXPECT_TRUE(has(plan.why(), "; a hint: " + hint)) << plan.why();
  EXPECT_EQ(log_.count(LogLevel::debug, hint), 1) << log_.all();
}

TEST_F(RuntimeRecords, OneFromHereIsNoHint) {
  Record mine = one("unroll=8");
  mine.driver = driver_text(counting_driver()->version());
  mine.space_digest = space_digest(Gather::family().steps[0]);
  mine.compiler = Runtime(options()).state().compiler.identity({90, "a"});
  write({mine});
  EXPECT_FALSE(has(Runtime(options()).prepare_text(kText).why(), "hint"));
}

TEST_F(RuntimeRecords, ASlowerOneClaimsNothing) {
  Record slow = one("unroll=8");
  slow.default_us = slow.us;
  write({slow});
  EXPECT_TRUE(has(Runtime(options()).prepare_text(kText).why(), ", no faster than the default; image"));
  slow.default_us = 0;
  write({slow});
  EXPECT_TRUE(has(Runtime(options()).prepare_text(kText).why(), "measured 2026-11-21; image"));
}

// The record of 65536 rows that gained 1.0 % decided for 512 rows, and cost 7 % there.
TEST_F(RuntimeRecords, ASmallGainDecidesForItsOwnSizeOnly) {
  Record small = one("unroll=8");
  small.default_us = small.us / 0.98;
  Record large = one("unroll=8");
  large.default_us = large.us / 0.96;
  const auto taken = [&](const Record& record, const char* text) {
    write({record});
    const auto plan = Runtime(options()).prepare_text(text);
    EXPECT_NE(has(plan.why(), "too little to decide here"), has(plan.images()[0].config, "unroll=8")) << plan.why();
    return has(plan.images()[0].config, "unroll=8");
  };
  EXPECT_TRUE(taken(small, kText));
  for (const char* const other : {"gather rows=1024 count=256 width=4096", "gather width=4096"}) {
    EXPECT_FALSE(taken(small, other)) << other;
    EXPECT_TRUE(taken(large, other)) << other;
  }
}

TEST_F(RuntimeRecords, DamagedLinesCostOneWarningAndNoRecord) {
  cache::overwrite(scratch_ / "records.jsonl", "broken\n" + record_line(one("unroll=8")) + "\nbroken\n");
  Runtime runtime(options());
  EXPECT_TRUE(has(runtime.prepare_text(kText).images()[0].config, "unroll=8"));
  runtime.prepare_text("gather width=64");
  EXPECT_EQ(log_.count(LogLevel::warning), 1) << log_.all();
  EXPECT_EQ(log_.count(LogLevel::warning, "records.jsonl:1:"), 1) << log_.all();
}

// With complete records nothing is compiled if all images are on disk, and prepare launches nothing.
TEST_F(RuntimeRecords, AWarmStartCompilesAndTimesNothing) {
  write({one("unroll=8")});
  { Runtime(options(scratch_ / "cache")).prepare_text(kText); }
  const int before = compiles();
  Runtime runtime(options(scratch_ / "cache"));
  EXPECT_TRUE(has(runtime.prepare_text(kText).images()[0].config, "unroll=8"));
  EXPECT_EQ(compiles(), before);
  EXPECT_EQ(runtime.statistics().hits.disk, 2u);
  EXPECT_EQ(null_driver().launches, 0);
}

// For every bench case of every family on every architecture, with records of the live device, of one with a row, and
// of an unknown device; exact, near and illegal ones.
TEST_F(RuntimeRecords, ThePrewarmedKeysAreThoseOfTheLiveDevice) {
  std::vector<Record> records;
  for (const Family* family : Runtime(options()).families()) {
    int number = 0;
    for (const char* text : family->bench_cases) {
      for (const std::string& device : {live().name, std::string("NVIDIA H200"), std::string("unheard of")}) {
        if (++number % 3 == 0) continue;
        const int unroll = 1 << number % 4;
        records.push_back(record_for(text, cat(number % 5 == 0 ? "vector=16 " : "", "unroll=", unroll), device));
        records.push_back(records.back());
        records.back().target = "sm_80";
      }
    }
  }
  write(records);
  int decided = 0;
  for (const int arch : {80, 90, 120}) {
    null_driver().arch = arch;
    Runtime runtime(options());
    for (const Family* family : runtime.families()) {
      for (const char* text : family->bench_cases) {
        const AnyProblem problem = runtime.parse(text);
        const std::vector<std::string> made =
            keys(runtime.prewarm(*family, problem.data(), target_of(arch).text()).images);
        const int before = compiles();
        const AnyPlan plan = runtime.prepare_any(*family, problem.data());
        const std::vector<std::string> asked = keys(plan.images());
        decided += has(plan.why(), "record of") ? 1 : 0;
        EXPECT_EQ(compiles(), before) << text;
        EXPECT_TRUE(std::includes(made.begin(), made.end(), asked.begin(), asked.end())) << text << " sm_" << arch;
      }
    }
  }
  EXPECT_GT(decided, 10);
}

// A device without a row and without records uses the images of the generic row.
TEST_F(RuntimeRecords, AnUnknownDeviceGetsWhatTheGenericRowGets) {
  write({record_for(kText, "unroll=8", "NVIDIA H200"), record_for(kText, "unroll=1", "another")});
  Runtime runtime(options());
  const AnyProblem problem = runtime.parse(kText);
  const Target target{90, "a"};
  const auto unroll = [&](const std::string& device) {
    const ConfigPlace place{target, generic_model(90), device};
    return select_configs(runtime.state(), problem.family(), problem.data(), place, "").front().variants[0].config[2];
  };
  EXPECT_EQ(unroll(live().name), unroll("generic sm_90"));
  EXPECT_EQ(unroll("NVIDIA H200"), 8);
  EXPECT_EQ(unroll("another"), 1);
  const auto places = places_for(runtime.state(), problem.family(), target, "");
  const auto covered = [&](const std::string& device) {
    return std::any_of(places.begin(), places.end(), [&](const ConfigPlace& p) { return p.device == device; });
  };
  EXPECT_TRUE(covered("generic sm_90") && covered("NVIDIA H200") && covered("NVIDIA H100 PCIe") && covered("another"));
  EXPECT_EQ(places_for(runtime.state(), problem.family(), target, "NVIDIA H200").size(), 1u);
}

TEST_F(RuntimeRecords, TheFileAndTheLayersComeFromTheEnvironment) {
  Environment environment;
  std::vector<std::string> misread;
  EXPECT_EQ(resolve({}, environment, &misread).tuning.records, "");
  EXPECT_EQ(resolve({}, environment, &misread).tuning.mode, Tuning::lookup);
  environment[Variable::home] = "/h";
  EXPECT_EQ(resolve({}, environment, &misread).tuning.records, "/h/.local/share/quern/records.jsonl");
  environment[Variable::xdg_data_home] = "/x";
  EXPECT_EQ(resolve({}, environment, &misread).tuning.records, "/x/quern/records.jsonl");
  environment[Variable::records] = "/r";
  environment[Variable::record_layers] = "/a:/b";
  environment[Variable::tune] = "off";
  const Options resolved = resolve({}, environment, &misread);
  EXPECT_EQ(resolved.tuning.records, "/r");
  EXPECT_EQ(resolved.tuning.record_layers, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(resolved.tuning.mode, Tuning::off);
  Options given;
  given.tuning.records = "/mine";
  given.tuning.record_layers = {"/c"};
  given.tuning.mode = Tuning::lookup;
  const Options kept = resolve(given, environment, &misread);
  EXPECT_EQ(kept.tuning.records + kept.tuning.record_layers.front(), "/mine/c");
  EXPECT_EQ(kept.tuning.mode, Tuning::lookup);
  for (const auto& [text, mode] : {std::pair{"on-prepare", Tuning::on_prepare}, {"background", Tuning::background}}) {
    environment[Variable::tune] = text;
    EXPECT_EQ(resolve({}, environment, &misread).tuning.mode, mode);
  }
  environment[Variable::tune] = "always";
  EXPECT_TRUE(misread.empty());
  EXPECT_EQ(resolve({}, environment, &misread).tuning.mode, Tuning::lookup);
  EXPECT_TRUE(
      has(misread.at(0), "invalid value QUERN_TUNE=always; expected one of off, lookup, on-prepare, background"));
}

TEST_F(RuntimeRecords, WhatTuningMayTakeComesFromTheEnvironment) {
  Environment environment;
  std::vector<std::string> misread;
  const Options defaults = resolve({}, environment, &misread);
  EXPECT_EQ(*defaults.tuning.seconds, 10);
  EXPECT_EQ(*defaults.tuning.share, 0.05);
  EXPECT_FALSE(defaults.tuning.memory_bytes);
  EXPECT_EQ(defaults.tuning.worker, "");
  environment[Variable::tune_seconds] = "2.5";
  environment[Variable::tune_share] = "1";
  environment[Variable::tune_memory] = "2G";
  environment[Variable::worker] = "/w";
  const Options resolved = resolve({}, environment, &misread);
  EXPECT_EQ(*resolved.tuning.seconds, 2.5);
  EXPECT_EQ(*resolved.tuning.share, 1);
  EXPECT_EQ(*resolved.tuning.memory_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(resolved.tuning.worker, "/w");
  for (const char* text : {"0", "1.01", "-1", "much", "nan"}) {
    environment[Variable::tune_share] = text;
    EXPECT_EQ(resolve({}, environment, &misread).tuning.share, 0.05) << text;
    EXPECT_TRUE(has(misread.back(), cat("QUERN_TUNE_SHARE=", text))) << misread.back();
  }
  Options given;
  given.tuning.share = 0.0;
  EXPECT_TRUE(
      has(refusal([&] { resolve(given, Environment(), &misread); }).sentence, "expected a number from 0.001 to 1"));
}

}  // namespace
}  // namespace quern::test
