// The record files that a Runtime reads, and shipped records.
#include "records/record_layers.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/no_descriptors.h"
#include "unit/api/support.h"
#include "unit/plan/support.h"
#include "unit/records/support.h"

namespace quern::test {
namespace {

class Layers : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<Record>& records) const {
    std::string text;
    for (const Record& record : records) text += record_line(record) + "\n";
    cache::overwrite(scratch_ / name, text);
    return scratch_ / name;
  }
  Log log() { return {LogLevel::debug, log_.sink()}; }
  static int unroll(RecordLayers& layers, const Family& family = Gather::family()) {
    const AnyProblem asked = problem("gather rows=8 count=8 width=64");
    const Config base = variants_of(asked).front().config;
    const auto found = layers.find(family, {asked.data(), {90, "a"}, "NVIDIA H200", base});
    return found ? found->config[2] : 0;
  }
  static Record one(int unroll) { return record_for("gather rows=8 count=8 width=64", cat("unroll=", unroll)); }

  const Scratch scratch_;
  KeptLog log_;
};

TEST_F(Layers, WhatIsAskedFirstWinsWhateverIsNewer) {
  const Log to = log();
  Record newer = one(8);
  newer.created_unix_ns += 1;
  const std::string own = write("own", {one(1)});
  const std::string a = write("a", {newer});
  const std::string b = write("b", {one(4)});
  RecordLayers both({Tuning::lookup, own, {a, b}}, to);
  EXPECT_EQ(unroll(both), 1);
  RecordLayers below({Tuning::lookup, scratch_ / "none", {a, b}}, to);
  EXPECT_EQ(unroll(below), 8);
  EXPECT_EQ(log_.count(LogLevel::warning), 0) << log_.all();
}

TEST_F(Layers, OffReadsNothing) {
  const Log to = log();
  cache::overwrite(scratch_ / "own", "nonsense\n");
  RecordLayers off({Tuning::off, scratch_ / "own", {}}, to);
  EXPECT_EQ(unroll(off), 0);
  EXPECT_EQ(off.count(Gather::family()), 0u);
  EXPECT_TRUE(off.devices(Gather::family(), {90, "a"}).empty());
  EXPECT_EQ(log_.all(), "");
}

TEST_F(Layers, TheFilesAreReadOnceAndFirstWhenAsked) {
  int opened = 0;
  InterceptedFiles files([&](const FileCall& call) {
    if (std::string_view(call.name) == "open") ++opened;
    return 0;
  });
  const Log to = log();
  RecordLayers layers({Tuning::lookup, write("own", {one(1)}), {}}, to, files);
  EXPECT_EQ(opened, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(unroll(layers), 1);
  EXPECT_EQ(opened, 1);
}

TEST_F(Layers, WhatCannotBeReadCostsAWarningAndIsReported) {
  const Log to = log();
  std::filesystem::create_directories(scratch_ / "own");
  cache::overwrite(scratch_ / "a", record_line(one(4)) + "\nbroken\n{\"quern_record\":3}\n");
  RecordLayers layers({Tuning::lookup, scratch_ / "own", {scratch_ / "a", scratch_ / "none"}}, to);
  EXPECT_EQ(unroll(layers), 4);
  const std::vector<RecordLayer> reports = layers.layers();
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].unusable, "Invalid argument");
  EXPECT_EQ(reports[1].records, 1u);
  EXPECT_EQ(reports[1].passed.size(), 2u);
  EXPECT_EQ(reports[2].unusable, "No such file or directory");
  EXPECT_EQ(log_.count(LogLevel::warning), 3) << log_.all();
  EXPECT_EQ(log_.count(LogLevel::warning, "/a:3: it is of schema 3"), 1) << log_.all();
}

TEST_F(Layers, AMomentWithoutDescriptorsIsNotTheLastWord) {
  const Log to = log();
  RecordLayers layers({Tuning::lookup, write("own", {one(8)}), {}}, to);
  {
    const NoDescriptors none;
    EXPECT_NE(unroll(layers), 8);
    EXPECT_NE(unroll(layers), 8);
  }
  EXPECT_EQ(log_.count(LogLevel::warning, "Too many open files; will be retried"), 1) << log_.all();
  EXPECT_EQ(unroll(layers), 8);
  EXPECT_EQ(layers.layers()[0].unusable, "");
}

// As QuernEmbed.cmake embeds them, in pieces.
TEST_F(Layers, BelowAllIsWhatTheFamilyShipsWith) {
  const Log to = log();
  const std::string text = record_line(one(8)) + "\n" + record_line(one(2)) + "\nbroken\n";
  const std::string head = text.substr(0, 100);
  const std::string tail = text.substr(100);
  const SourceFile sources[] = {
      {"gather/gather.cu", "x"}, {"gather/records.jsonl", head.c_str()}, {"gather/records.jsonl", tail.c_str()}};
  Family family = Gather::family();
  family.sources = sources;
  RecordLayers alone({Tuning::lookup, "", {}}, to);
  EXPECT_EQ(unroll(alone, family), 2);
  EXPECT_EQ(log_.count(LogLevel::warning, "shipped with gather:3"), 1) << log_.all();
  RecordLayers above({Tuning::lookup, write("own", {one(1)}), {}}, to);
  EXPECT_EQ(unroll(above, family), 1);
  Family bare = Gather::family();
  bare.sources = {};
  EXPECT_EQ(unroll(alone, bare), 0) << "another descriptor with that name";
}

TEST_F(Layers, AFaultInTheFirstReadFailsNothing) {
  const Log to = log();
  const std::string own = write("own", {one(1)});
  for (int at = 0;; ++at) {
    cache::FaultyFileSystem files;
    files.fail_at = at;
    RecordLayers layers({Tuning::lookup, own, {own}}, to, files);
    EXPECT_NO_THROW(unroll(layers));
    if (files.failed.empty()) break;
    ASSERT_LT(at, 40);
  }
}

}  // namespace
}  // namespace quern::test
