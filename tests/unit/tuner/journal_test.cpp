#include "tuner/journal/journal.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>

#include "base/text.h"
#include "quern/error.h"
#include "support/intercepted_files.h"
#include "support/scratch.h"

namespace quern {
namespace {

SweepHead some_head() {
  SweepHead head;
  head.family = "gather";
  head.problem = "gather rows=8192 count=8192 width=4096 dtype=f16";
  head.device = "NVIDIA H200";
  head.target = "sm_90a";
  head.regime = "cold";
  head.axes = {{"form", {"0", "1"}, "0: whole vectors"}, {"vector", {"1", "2", "4"}, "bytes an access"}};
  head.points = 6;
  head.default_config = "form=0 vector=4";
  head.space = "0123456789abcdef0123456789abcdef";
  head.strategy = "ils";
  head.seed = std::numeric_limits<std::uint64_t>::max();
  head.budget = {200, 12.5};
  head.started_unix_ns = 1'760'000'000'123'456'789;
  head.quern = "0.1.0";
  head.command = "quern tune gather";
  head.driver = "580.159.04";
  head.compiler = "NVRTC 13.0";
  head.clocks = {1980, 3201, 700, "power"};
  head.bytes = std::int64_t{1} << 40;
  head.copy_us = 34.300000000000004;
  return head;
}

SweepTrial measured() {
  SweepTrial trial;
  trial.config = "form=0 vector=4";
  trial.us = 0.1 + 0.2;
  trial.samples = {35, 1e-300, 1.7976931348623157e308};
  trial.method = "rotate";
  trial.image = "0011";
  trial.same_as = "form=0 vector=2";
  trial.registers = 32;
  trial.shared_bytes = 49152;
  trial.spills = 8;
  trial.compile_ms = 51.2;
  trial.at_s = 3.21;
  return trial;
}

SweepTrial failed(FailureKind kind) {
  SweepTrial trial;
  trial.config = "form=1 vector=1";
  trial.failure = kind;
  trial.why = "out[12,5] is \"0x3f80\"\n & should be <0x4000>";
  trial.at_s = 3.3;
  return trial;
}

SweepResult some_result() {
  SweepResult result;
  result.winner = "form=0 vector=4";
  result.why = "faster";
  result.us = 34.9;
  result.default_us = 35.1;
  result.percent = -0.57;
  result.low = -0.9;
  result.high = -0.1;
  result.band_percent = 0.4;
  result.rivals = {"form=0 vector=2"};
  result.evaluations = 87;
  result.seconds = 14.2;
  result.stopped = "evidence";
  result.complete = true;
  return result;
}

const std::vector<SweepFinalist> kFinalists = {{"form=0 vector=4", 34.9, -0.4, 0.2, 8},
                                               {"form=0 vector=2", 35, 0, 1, 8}};

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += line + "\n";
  return text;
}

std::string whole_file() {
  return lines({serialize(some_head()), serialize(measured()), serialize(failed(FailureKind::wrong)),
                serialize(kFinalists), serialize(some_result())});
}

std::string head_line() { return serialize(some_head()) + "\n"; }

// The sentence with which it is refused; "" where it is not.
std::string journal_refusal(const std::string& text) {
  try {
    read_journal(text);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    return error.sentence;
  }
}

bool says(const std::string& sentence, std::string_view part) { return sentence.find(part) != std::string::npos; }

TEST(Journal, WhatIsWrittenIsRead) {
  const Journal journal = read_journal(whole_file());
  EXPECT_EQ(journal.head, some_head());
  ASSERT_EQ(journal.trials.size(), 2U);
  EXPECT_EQ(journal.trials[0], measured());
  EXPECT_EQ(journal.trials[1], failed(FailureKind::wrong));
  EXPECT_EQ(journal.finalists, kFinalists);
  ASSERT_TRUE(journal.result.has_value());
  EXPECT_EQ(*journal.result, some_result());
  EXPECT_TRUE(journal.complete());
  EXPECT_FALSE(journal.unfinished);
  EXPECT_TRUE(journal.skipped.empty());
}

TEST(Journal, EachKindHasItsName) {
  for (int i = 0; i < kFailureKindCount; ++i) {
    const auto kind = static_cast<FailureKind>(i);
    EXPECT_EQ(failure_kind(name(kind)), kind);
    const Journal journal = read_journal(head_line() + serialize(failed(kind)) + "\n");
    EXPECT_EQ(journal.trials.front().failure, kind);
  }
  EXPECT_EQ(kFailureKindCount, static_cast<int>(FailureKind::memory) + 1);
  EXPECT_EQ(failure_kind("wrongly"), std::nullopt);
}

TEST(Journal, ReadsALineAsItIsDocumented) {
  const Journal journal =
      read_journal(head_line() +
                   "{\"config\":\"form=0 vector=1\",\"us\":35,\"samples\":[35.0,35],\"at_s\":1,\"later\":{\"a\":[1]}}\n"
                   "\n"
                   "{\"config\":\"form=0 vector=2\",\"failure\":\"compile_timeout\",\"why\":\"60 s\"}\r\n");
  ASSERT_EQ(journal.trials.size(), 2U);
  EXPECT_EQ(journal.trials[0].us, 35);
  EXPECT_EQ(journal.trials[0].samples, (std::vector<double>{35, 35}));
  EXPECT_EQ(journal.trials[1].failure, FailureKind::compile_timeout);
  EXPECT_FALSE(journal.result.has_value());
  EXPECT_FALSE(journal.complete());
}

TEST(Journal, MayEndAtAnyByte) {
  const std::string text = whole_file();
  const std::size_t head = head_line().size();
  std::size_t seen = 0;
  for (std::size_t size = head; size <= text.size(); ++size) {
    const Journal journal = read_journal(std::string_view(text).substr(0, size));
    EXPECT_EQ(journal.unfinished, text[size - 1] != '\n') << size;
    EXPECT_GE(journal.trials.size(), seen);
    seen = journal.trials.size();
  }
  EXPECT_EQ(seen, 2U);
  EXPECT_NE(journal_refusal(text.substr(0, head - 1)), "");
}

TEST(Journal, TheLastResultHolds) {
  SweepResult later = some_result();
  later.evaluations = 100;
  const std::vector<SweepFinalist> one = {kFinalists.back()};
  const Journal journal = read_journal(whole_file() + lines({serialize(measured()), serialize(one), serialize(later)}));
  EXPECT_EQ(journal.trials.size(), 3U);
  EXPECT_EQ(journal.finalists, one);
  EXPECT_EQ(journal.result->evaluations, 100);
}

TEST(Journal, NamesADamagedLineOrSkipsIt) {
  const std::string text = head_line() + "{\"config\":\n" + serialize(measured()) + "\n";
  EXPECT_TRUE(says(journal_refusal(text), "line 2 is damaged"));
  const Journal journal = read_journal(text, Damaged::skip);
  EXPECT_EQ(journal.trials.size(), 1U);
  ASSERT_EQ(journal.skipped.size(), 1U);
  EXPECT_EQ(journal.skipped[0].line, 2);
  EXPECT_TRUE(says(journal.skipped[0].reason, "invalid JSON"));
}

TEST(Journal, ADamagedLineChangesNothing) {
  const std::string damaged = "{\"finalists\":[{\"config\":\"form=1 vector=1\",\"us\":1},3]}\n";
  const Journal journal = read_journal(whole_file() + damaged, Damaged::skip);
  EXPECT_EQ(journal.skipped.size(), 1U);
  EXPECT_EQ(journal.finalists, kFinalists);
}

TEST(Journal, SaysWhatIsWrongWithALine) {
  const auto of = [](const std::string& line) { return journal_refusal(head_line() + line + "\n"); };
  EXPECT_TRUE(says(of("[1]"), "not a JSON object"));
  EXPECT_TRUE(says(of("{\"a\":1}"), "none of config, finalists and result"));
  EXPECT_TRUE(says(of(serialize(some_head())), "second head"));
  EXPECT_TRUE(says(of("{\"config\":3,\"us\":1}"), "config is not a string"));
  EXPECT_TRUE(says(of("{\"config\":\"\",\"us\":1}"), "config is empty"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\"}"), "neither a failure nor a time"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\",\"us\":-1}"), "neither a failure nor a time"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\",\"us\":null}"), "us is not a number"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\",\"us\":1e999}"), "too large"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\",\"us\":1,\"spills\":1.5}"), "spills is not an integer"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\",\"us\":1,\"spills\":18446744073709551615}"), "spills is out of range"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\",\"us\":1,\"samples\":[1,\"2\"]}"), "samples[1] is not a number"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\",\"us\":1,\"samples\":1}"), "samples is not an array"));
  EXPECT_TRUE(says(of("{\"config\":\"a=1\",\"failure\":\"odd\"}"), "it may be compile, compile_timeout, resources"));
  EXPECT_TRUE(says(of("{\"finalists\":{}}"), "finalists is not an array"));
  EXPECT_TRUE(says(of("{\"result\":[]}"), "result is not an object"));
  EXPECT_TRUE(says(of("{\"result\":{}}"), "winner is missing"));
  EXPECT_TRUE(says(of("{\"result\":{\"winner\":\"\",\"complete\":1}}"), "neither true nor false"));
  EXPECT_NE(of(std::string(100000, '[')), "");
}

TEST(Journal, RefusesWhatIsNoSweep) {
  EXPECT_TRUE(says(journal_refusal(""), "no sweep"));
  EXPECT_TRUE(says(journal_refusal("\n\n"), "no sweep"));
  EXPECT_TRUE(says(journal_refusal(serialize(measured()) + "\n"), "line 1 is not the header"));
  EXPECT_TRUE(says(journal_refusal("{\"quern_sweep\":2,\"problem\":\"gather\"}\n"), "schema 2"));
  EXPECT_TRUE(says(journal_refusal("{\"quern_sweep\":0,\"problem\":\"gather\",\"axes\":[]}\n"), "no schema 0"));
  EXPECT_TRUE(says(journal_refusal("{\"quern_sweep\":1,\"axes\":[]}\n"), "problem is missing"));
  EXPECT_THROW(read_journal("{\"quern_sweep\":2}\n", Damaged::skip), Error);
}

TEST(Journal, BytesThatAreNoTextAreReplaced) {
  SweepTrial trial = failed(FailureKind::compile);
  trial.why = "cut \xe2\x82";
  const Journal journal = read_journal(head_line() + serialize(trial) + "\n");
  EXPECT_EQ(journal.trials.front().why, "cut \xef\xbf\xbd");
}

TEST(Journal, ANumberThatIsNotFiniteIsNoTime) {
  SweepTrial trial = measured();
  trial.us = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(says(journal_refusal(head_line() + serialize(trial) + "\n"), "us is not a number"));
}

class JournalWriterTest : public ::testing::Test {
 protected:
  std::string content() const { return read_file(path_).value_or("(none)"); }
  void write(const std::string& text) const { ASSERT_TRUE(write_file_atomically(path_, text, nullptr)); }
  void write_whole_sweep() const {
    JournalWriter writer(path_);
    writer.append(some_head());
    writer.append(measured());
    writer.append(failed(FailureKind::wrong));
    writer.append(kFinalists);
    writer.append(some_result());
  }

  const test::Scratch directory_;
  const std::string path_ = directory_ / "sweeps/a.jsonl";
};

TEST_F(JournalWriterTest, WritesTheLines) {
  write_whole_sweep();
  EXPECT_EQ(content(), whole_file());
  EXPECT_EQ(read_journal_file(path_).trials.size(), 2U);
}

TEST_F(JournalWriterTest, ReadersSeeEachLineAtOnce) {
  JournalWriter writer(path_);
  EXPECT_FALSE(writer.before().has_value());
  writer.append(some_head());
  EXPECT_EQ(content(), head_line());
  writer.append(measured());
  EXPECT_EQ(content(), head_line() + serialize(measured()) + "\n");
}

TEST_F(JournalWriterTest, GoesOnWhereverTheFileEnded) {
  write_whole_sweep();
  const std::string text = whole_file();
  for (std::size_t size = 0; size <= text.size(); size += 41) {
    write(text.substr(0, size));
    JournalWriter writer(path_);
    const std::size_t whole = text.rfind('\n', size - 1) + 1;
    const std::string kept = size == 0 ? "" : text.substr(0, whole);
    EXPECT_EQ(content(), kept) << size;
    EXPECT_EQ(writer.before().has_value(), !kept.empty());
    if (kept.empty()) writer.append(some_head());
    writer.append(measured());
    EXPECT_EQ(content(), (kept.empty() ? head_line() : kept) + serialize(measured()) + "\n");
  }
}

TEST_F(JournalWriterTest, StartsOverInTheSameFile) {
  write_whole_sweep();
  JournalWriter writer(path_);
  writer.start_over();
  EXPECT_FALSE(writer.before().has_value());
  EXPECT_EQ(content(), "");
  writer.append(some_head());
  EXPECT_EQ(content(), head_line());
}

TEST_F(JournalWriterTest, LeavesWhatIsNoSweepAsItIs) {
  write_whole_sweep();
  write("my notes\nand more");
  EXPECT_THROW(JournalWriter writer(path_), Error);
  EXPECT_EQ(content(), "my notes\nand more");
}

TEST_F(JournalWriterTest, DamagedLinesStandInNobodysWay) {
  write_whole_sweep();
  write(head_line() + "{\n" + serialize(measured()) + "\n");
  const JournalWriter writer(path_);
  EXPECT_EQ(writer.before()->trials.size(), 1U);
  EXPECT_EQ(writer.before()->skipped.size(), 1U);
}

TEST_F(JournalWriterTest, OneAtATime) {
  const JournalWriter writer(path_);
  try {
    const JournalWriter second(path_);
    FAIL() << "two sweeps write one file";
  } catch (const Error& error) {
    EXPECT_TRUE(says(error.sentence, "another sweep"));
  }
}

TEST_F(JournalWriterTest, AFullDiskCostsOneLine) {
  bool full = false;
  test::InterceptedFiles files(
      [&](const test::FileCall& call) -> long { return full && call.name == std::string_view("write") ? -ENOSPC : 0; });
  JournalWriter writer(path_, Damaged::skip, files);
  writer.append(some_head());
  full = true;
  EXPECT_THROW(writer.append(measured()), Error);
  full = false;
  writer.append(failed(FailureKind::launch));
  EXPECT_EQ(content(), head_line() + serialize(failed(FailureKind::launch)) + "\n");
}

TEST_F(JournalWriterTest, NamesTheFileThatItCannotWrite) {
  try {
    const JournalWriter writer(directory_.path());
    FAIL() << "a directory is not a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::io);
    EXPECT_TRUE(says(error.sentence, directory_.path()));
  }
  EXPECT_THROW(read_journal_file(path_), Error);
}

}  // namespace
}  // namespace quern
