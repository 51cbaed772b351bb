// Which record serves a problem.
#include "records/lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/sanitizers.h"
#include "plan/config.h"
#include "unit/api/support.h"
#include "unit/plan/support.h"
#include "unit/records/support.h"

namespace quern::test {
namespace {

constexpr const char* kH200 = "NVIDIA H200";
constexpr const char* kH100 = "NVIDIA H100 PCIe";

// Unroll identifies a record: 1, 2, 4 and 8 are legal for all problems here.
class Lookup : public ::testing::Test {
 protected:
  void add(const std::string& problem, const std::string& config, const std::string& device = kH200) {
    records_.push_back(record_for(problem, config, device));
  }
  FamilyRecords known(const Log& log = Log(LogLevel::off, {})) const {
    std::vector<const Record*> pointers;
    for (const Record& record : records_) pointers.push_back(&record);
    return {Gather::family(), pointers, log};
  }
  std::optional<FoundRecord> find(const std::string& text, const std::string& device = kH200,
                                  const Target& target = {90, "a"}) const {
    static std::vector<std::unique_ptr<FamilyRecords>> kept;
    kept.push_back(std::make_unique<FamilyRecords>(known()));
    const AnyProblem asked = problem(text);
    const Config base = variants_of(asked, target).front().config;
    return kept.back()->find({asked.data(), target, device, base});
  }
  // "UNROLL HOW", or "nothing".
  std::string answer(const std::string& text, const std::string& device = kH200,
                     const Target& target = {90, "a"}) const {
    const auto found = find(text, device, target);
    return found ? cat(found->config[2], " ", how_text(*found)) : "nothing";
  }

  std::vector<Record> records_;
};

TEST_F(Lookup, WithoutRecordsThereIsNothing) { EXPECT_EQ(answer("gather rows=8 count=8 width=64"), "nothing"); }

TEST_F(Lookup, TheExactOneComesFirst) {
  add("gather rows=8 count=8 width=64", "unroll=1");
  add("gather rows=8 count=8 width=128", "unroll=4");
  EXPECT_EQ(answer("gather rows=8 count=8 width=64"), "1 exact");
  EXPECT_EQ(answer("gather rows=8 count=8 width=128"), "4 exact");
}

TEST_F(Lookup, TheWholeConfigIsTakenAndWhatItDoesNotSayIsTheDefault) {
  add("gather rows=8 count=8 width=64",
      "form=0 vector=8 unroll=4 threads=512 load_once=0 store_stream=0 persistent=0 blocks_per_sm=0");
  const AnyProblem asked = problem("gather rows=8 count=8 width=64");
  auto found = find(asked.text());
  ASSERT_TRUE(found);
  EXPECT_EQ(config_text(Gather::family().steps[0], asked.data(), found->config),
            "form=0 vector=8 unroll=4 threads=512 load_once=0 store_stream=0 persistent=0 row_threads=32");
  records_.front().config = "unroll=8,threads=64";
  found = find("gather rows=8 count=8 width=64");
  ASSERT_TRUE(found);
  Config expected = variants_of(problem("gather rows=8 count=8 width=64")).front().config;
  expected[2] = 8;
  expected[3] = 64;
  EXPECT_EQ(found->config, expected);
}

TEST_F(Lookup, ElseTheNearestInLogSpace) {
  add("gather rows=1024 count=64 width=64", "unroll=1");
  add("gather rows=1024 count=64 width=1024", "unroll=4");
  EXPECT_EQ(answer("gather rows=1024 count=64 width=192"), "1 nearest, 1.6 octaves away");
  EXPECT_EQ(answer("gather rows=1024 count=64 width=320"), "4 nearest, 1.7 octaves away");
  EXPECT_EQ(answer("gather rows=4096 count=32 width=1024"), "4 nearest, 3.0 octaves away");
}

TEST_F(Lookup, AnOpenExtentCostsNothingAndTiesGoToTheLarger) {
  add("gather rows=1024 count=64 width=64", "unroll=1");
  add("gather rows=65536 count=64 width=64", "unroll=4");
  add("gather rows=1024 count=128 width=64", "unroll=2");
  EXPECT_EQ(answer("gather width=64"), "4 exact");
  EXPECT_EQ(answer("gather rows=1024 width=64"), "2 exact");
  EXPECT_EQ(answer("gather width=128"), "4 nearest, 1.0 octaves away");
}

// Of two as far away, one larger and one smaller.
TEST_F(Lookup, ATieInDistanceGoesToTheLarger) {
  add("gather rows=1024 count=64 width=64", "unroll=1");
  add("gather rows=1024 count=64 width=256", "unroll=4");
  EXPECT_EQ(answer("gather rows=1024 count=64 width=128"), "4 nearest, 1.0 octaves away");
  std::swap(records_[0], records_[1]);
  EXPECT_EQ(answer("gather rows=1024 count=64 width=128"), "4 nearest, 1.0 octaves away");
}

TEST_F(Lookup, AnEmptyExtentIsNotTheSameAsOne) {
  add("gather rows=1 count=0 width=64", "unroll=1");
  add("gather rows=1 count=1 width=64", "unroll=4");
  EXPECT_EQ(answer("gather rows=1 count=0 width=64"), "1 exact");
  EXPECT_EQ(answer("gather rows=1 count=1 width=64"), "4 exact");
}

TEST_F(Lookup, EveryOtherFieldMustAgree) {
  add("gather rows=8 count=8 width=64", "unroll=4");
  for (const char* other : {"dtype=f32", "index=i32", "mode=zero", "scale=f32", "source_stride=128"})
    EXPECT_EQ(answer(cat("gather rows=8 count=8 width=64 ", other)), "nothing") << other;
  EXPECT_EQ(answer("gather rows=8 count=8 width=64", kH200, {80, ""}), "nothing") << "another target";
  EXPECT_EQ(answer("gather rows=8 count=8 width=64", kH200, {90, "", true}), "nothing") << "the host";
}

TEST_F(Lookup, ElseASiblingDevice) {
  add("gather rows=8 count=8 width=64", "unroll=4", kH100);
  EXPECT_EQ(answer("gather rows=8 count=8 width=64"), "4 of a sibling, exact");
  EXPECT_EQ(answer("gather rows=8 count=8 width=128"), "4 of a sibling, 1.0 octaves away");
  add("gather rows=8 count=8 width=4096", "unroll=1");
  EXPECT_EQ(answer("gather rows=8 count=8 width=64"), "1 nearest, 6.0 octaves away") << "its own comes first";
}

TEST_F(Lookup, WhatIsNotLegalForTheProblemIsPassedOver) {
  add("gather rows=8 count=8 width=64", "form=0 vector=16 unroll=8");
  add("gather rows=8 count=8 width=513", "form=0 vector=2 unroll=4");
  add("gather rows=8 count=8 width=63", "form=1 vector=16 unroll=2", kH100);
  EXPECT_EQ(answer("gather rows=8 count=8 width=65"), "4 nearest, 3.0 octaves away");
  records_[1].config = "form=0 vector=4 unroll=4";
  EXPECT_EQ(answer("gather rows=8 count=8 width=65"), "2 of a sibling, 0.0 octaves away");
  records_[2].config = "form=0 vector=16 unroll=2";
  EXPECT_EQ(answer("gather rows=8 count=8 width=65"), "nothing");
}

// Seen on an H200: the ragged form, best for rows of 4097 elements, was borrowed for rows of 7168 and cost 2 %.
TEST_F(Lookup, ARaggedRecordSaysNothingAboutRowsThatAVectorDivides) {
  add("gather rows=8 count=8 width=4097", "form=1 vector=16 unroll=4 load_once=0 store_stream=0");
  EXPECT_EQ(answer("gather rows=8 count=8 width=4097"), "4 exact");
  EXPECT_EQ(answer("gather rows=8 count=16 width=4097"), "4 nearest, 1.0 octaves away");
  EXPECT_EQ(answer("gather rows=8 count=8 width=4096"), "nothing");
}

// Seen on an H200: of 16 rows of glu elements one by one, two a thread, were faster than vectors; all odd rows borrowed
// that, and 16384 rows of 4097 took 138 us for 107.
TEST_F(Lookup, AKernelThatIsNotTheDefaultsKindStaysWithItsProblem) {
  add("gather rows=8 count=8 width=4096", "form=1 vector=16 unroll=2 load_once=0 store_stream=0");
  EXPECT_EQ(answer("gather rows=8 count=8 width=4096"), "2 exact");
  EXPECT_EQ(answer("gather rows=8 count=8 width=4097"), "nothing");
  EXPECT_EQ(answer("gather rows=8 count=8 width=2048"), "nothing");
  EXPECT_EQ(answer("gather width=4096"), "nothing") << "any rows";
}

TEST_F(Lookup, ARecordOfATargetThatIsNotKnownIsOfItsProblem) {
  add("gather rows=8 count=8 width=64", "unroll=4");
  records_[0].target = "sm_121a";
  EXPECT_EQ(answer("gather rows=8 count=8 width=64", kH200, {121, "a"}), "4 exact");
}

TEST_F(Lookup, TheColdRegimeComesFirst) {
  add("gather rows=8 count=8 width=64", "unroll=1");
  add("gather rows=8 count=8 width=64", "unroll=4");
  records_[1].regime = "warm";
  EXPECT_EQ(answer("gather rows=8 count=8 width=64"), "1 exact");
  records_.erase(records_.begin());
  EXPECT_EQ(answer("gather rows=8 count=8 width=64"), "4 exact");
}

TEST_F(Lookup, ALaterRecordForTheSameWinsHoweverItIsWritten) {
  add("gather rows=8 count=8 width=64", "unroll=1");
  add("gather dtype=bf16 width=64 count=8 rows=8", "unroll=4");
  records_[1].created_unix_ns -= 1;
  EXPECT_EQ(answer("gather rows=8 count=8 width=64"), "4 exact");
  EXPECT_EQ(known().size(), 1u);
}

TEST_F(Lookup, WhatCannotBeUsedIsPassedOverWithADebugLine) {
  add("gather rows=8 count=8 width=64", "unroll=3");
  add("gather rows=8 count=8 width=64", "tile=4");
  add("gather rows=8 count=8 width=64", "unroll");
  add("gather rows=8 wdth=64", "unroll=1");
  add("gather width=64", "unroll=1");
  add("gather rows=8 count=8 width=64 out_stride=8", "unroll=1");
  KeptLog log;
  const FamilyRecords family = known(Log(LogLevel::debug, log.sink()));
  EXPECT_EQ(family.size(), 0u);
  EXPECT_EQ(log.count(LogLevel::debug, "skipped the record for"), 6) << log.all();
  EXPECT_EQ(log.count(LogLevel::debug, "unroll=3 is not in the tuning space of gather"), 1) << log.all();
  EXPECT_EQ(log.count(LogLevel::debug, "rows is open"), 1) << log.all();
}

// However the files are ordered, so that all ranks get one answer.
TEST_F(Lookup, TheOrderOfRecordsForDifferentProblemsDecidesNothing) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 60; ++i) {
    add(cat("gather rows=", 1 << random() % 4, " count=", 1 << random() % 4, " width=", 32 << random() % 4),
        cat("unroll=", 1 << i % 4), i % 3 == 0 ? kH100 : kH200);
    records_.back().created_unix_ns += i;
  }
  std::stable_sort(records_.begin(), records_.end(),
                   [](const Record& a, const Record& b) { return a.created_unix_ns < b.created_unix_ns; });
  std::vector<Record> once;
  for (const Record& record : records_) {
    std::erase_if(once, [&](const Record& other) { return subject_of(other) == subject_of(record); });
    once.push_back(record);
  }
  records_ = once;
  std::vector<std::string> first;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::string> answers;
    for (int width = 48; width < 400; width += 16) {
      for (const char* device : {kH100, kH200, "another"})
        answers.push_back(answer(cat("gather width=", width), device));
    }
    if (round == 0) first = answers;
    EXPECT_EQ(answers, first);
    std::shuffle(records_.begin(), records_.end(), random);
  }
}

TEST_F(Lookup, RelatedAreItsOwnNearestFirstThenSiblingsEachConfigOnce) {
  add("gather rows=8 count=8 width=64", "unroll=1");
  add("gather rows=8 count=8 width=128", "unroll=1");
  add("gather rows=8 count=8 width=512", "unroll=4");
  add("gather rows=8 count=8 width=128", "unroll=8", kH100);
  add("gather rows=8 count=8 width=64", "unroll=4 threads=64", kH100);
  const FamilyRecords family = known();
  const AnyProblem asked = problem("gather rows=8 count=8 width=64");
  const Target target;
  const Config base = variants_of(asked).front().config;
  const auto names = [&](std::size_t most) {
    std::vector<std::string> texts;
    for (const FoundRecord& found : family.related({asked.data(), target, kH200, base}, most))
      texts.push_back(cat(found.config[2], " ", how_text(found)));
    return texts;
  };
  EXPECT_EQ(names(8), (std::vector<std::string>{"1 exact", "4 nearest, 3.0 octaves away", "4 of a sibling, exact",
                                                "8 of a sibling, 1.0 octaves away"}));
  EXPECT_EQ(names(1), std::vector<std::string>{"1 exact"});
}

// A search of a part of the bucket against a search of all of it.
TEST_F(Lookup, NothingNearerIsOverlooked) {
  std::mt19937_64 random(7);
  const auto extent = [&] { return 1 + static_cast<std::int64_t>(random() % (1U << random() % 12)); };
  for (int i = 0; i < 400; ++i)
    add(cat("gather rows=", extent(), " count=", extent(), " width=", extent()),
        cat("form=0 vector=", 2 << random() % 4, " unroll=", 1 << random() % 4), random() % 2 == 0 ? kH100 : kH200);
  const FamilyRecords family = known();
  const Target target;
  constexpr int kQueries = QUERN_ADDRESS_SANITIZER ? 200 : 2000;
  for (int i = 0; i < kQueries; ++i) {
    Gather asked{.rows = extent(), .count = extent(), .width = extent()};
    if (random() % 3 == 0) asked.rows = kOpen;
    if (random() % 3 == 0) asked.count = kOpen;
    const Config base = variants_of(AnyProblem(Gather::family(), &asked)).front().config;
    const RecordQuery query{&asked, target, i % 5 == 0 ? "another" : kH200, base};
    const auto found = family.find(query);
    const auto all = family.related(query, 1);
    ASSERT_EQ(found.has_value(), !all.empty());
    if (!found) continue;
    ASSERT_EQ(found->record, all.front().record) << AnyProblem(Gather::family(), &asked).text();
  }
}

TEST_F(Lookup, DevicesAreThoseOfTheTarget) {
  add("gather rows=8 count=8 width=64", "unroll=1", "b");
  add("gather rows=8 count=8 width=64 dtype=f32", "unroll=1", "a");
  add("gather rows=8 count=8 width=64", "unroll=1", "c");
  records_.back().target = "sm_80";
  EXPECT_EQ(known().devices({90, "a"}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(known().devices({80, ""}), std::vector<std::string>{"c"});
  EXPECT_TRUE(known().devices({90, ""}).empty());
}

}  // namespace
}  // namespace quern::test
