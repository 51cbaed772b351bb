// Files of records: appended to by several, cut and damaged, merged.
#include "records/records_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "unit/api/support.h"
#include "unit/cache/support.h"
#include "unit/records/support.h"

namespace quern::test {
namespace {

using Names = std::vector<std::string>;

class RecordsFiles : public ::testing::Test {
 protected:
  std::string path() const { return scratch_ / "data/quern/records.jsonl"; }
  int append(const Record& record, FileSystem& files = cache::hasty_files()) const {
    return RecordsFile(files, path()).append(record);
  }
  void put(const std::string& bytes) const {
    std::filesystem::create_directories(scratch_ / "data/quern");
    cache::overwrite(path(), bytes);
  }
  std::string bytes() const { return read_file(path()).value_or(""); }
  Merged merge(const std::vector<std::string>& inputs) const {
    return merge_records(real_file_system(), path(), inputs);
  }
  std::string write(const std::string& name, const std::vector<Record>& records) const {
    std::string text;
    for (const Record& record : records) text += record_line(record) + "\n";
    cache::overwrite(scratch_ / name, text);
    return scratch_ / name;
  }

  const Scratch scratch_;
};

TEST_F(RecordsFiles, NoFileIsEmpty) {
  ReadRecords read;
  EXPECT_EQ(RecordsFile(real_file_system(), path()).read(read), 0);
  EXPECT_TRUE(read.records.empty() && read.damaged.empty());
}

TEST_F(RecordsFiles, WhatIsAppendedIsReadInOrder) {
  EXPECT_EQ(append(whole_record()), 0);
  EXPECT_EQ(append(record_for("gather width=8")), 0);
  const ReadRecords read = read_records(path());
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.records[0].record, whole_record());
  EXPECT_EQ(read.records[1].line, record_line(record_for("gather width=8")));
  EXPECT_EQ(bytes(), read.records[0].line + "\n" + read.records[1].line + "\n");
}

TEST_F(RecordsFiles, AfterAWriterWasKilledTheNextStartsANewLine) {
  const std::string whole = record_line(record_for("gather width=8"));
  put(whole + "\n" + whole.substr(0, 40));
  EXPECT_TRUE(read_records(path()).damaged.front().unfinished);
  EXPECT_EQ(append(record_for("gather width=16")), 0);
  EXPECT_EQ(problems_in(path()), Names({"gather width=8", "gather width=16"}));
  const ReadRecords read = read_records(path());
  ASSERT_EQ(read.damaged.size(), 1u);
  EXPECT_FALSE(read.damaged.front().unfinished);
  EXPECT_EQ(read.damaged.front().text(), path() + ":2: invalid JSON at byte 41");
}

TEST_F(RecordsFiles, DamagedNewerAndBlankLinesArePassedOver) {
  const std::string whole = record_line(record_for("gather width=8"));
  std::string flipped = whole;
  flipped[30] ^= 1;
  put("\n" + whole + "\r\n" + flipped + "\nnot ours\n  \n{\"quern_record\":9}\n" + whole + "\n");
  const ReadRecords read = read_records(path());
  EXPECT_EQ(read.records.size(), 2u);
  ASSERT_EQ(read.damaged.size(), 2u);
  EXPECT_EQ(read.damaged[0].line, 3);
  EXPECT_EQ(read.damaged[1].line, 4);
  ASSERT_EQ(read.newer.size(), 1u);
  EXPECT_EQ(read.newer[0].line, 6);
}

TEST_F(RecordsFiles, OneWarningAFileNamesTheFirstLine) {
  KeptLog log;
  const Log to(LogLevel::debug, log.sink());
  report_passed(parse_records("a\n\nb\nc\n", "F"), to);
  EXPECT_EQ(log.count(LogLevel::warning), 1) << log.all();
  EXPECT_EQ(log.count(LogLevel::warning, "F:1: invalid JSON at byte 1 (one of 3 such lines"), 1) << log.all();
  report_passed(parse_records("half", "G"), to);
  EXPECT_EQ(log.count(LogLevel::warning), 1) << log.all();
  EXPECT_EQ(log.count(LogLevel::debug, "G:1"), 1) << log.all();
  report_passed(parse_records("", "H"), to);
  EXPECT_FALSE(has(log.all(), "H:"));
}

TEST_F(RecordsFiles, ALinkIsFollowedAndStays) {
  std::filesystem::create_symlink(scratch_ / "elsewhere.jsonl", scratch_ / "link");
  const RecordsFile file(cache::hasty_files(), scratch_ / "link");
  EXPECT_EQ(file.append(record_for("gather width=8")), 0);
  EXPECT_EQ(file.append(record_for("gather width=16")), 0);
  EXPECT_EQ(problems_in(scratch_ / "elsewhere.jsonl").size(), 2u);
  merge_records(real_file_system(), scratch_ / "link", {write("in", {record_for("gather width=24")})});
  EXPECT_TRUE(std::filesystem::is_symlink(scratch_ / "link"));
  EXPECT_EQ(problems_in(scratch_ / "elsewhere.jsonl").size(), 3u);
}

TEST_F(RecordsFiles, WhatIsNoFileIsRefusedAndDoesNotBlock) {
  ASSERT_EQ(::mkfifo((scratch_ / "fifo").c_str(), 0600), 0);
  ReadRecords read;
  EXPECT_EQ(RecordsFile(real_file_system(), scratch_ / "fifo").read(read), EINVAL);
  EXPECT_EQ(RecordsFile(real_file_system(), scratch_ / "fifo").append(whole_record()), EINVAL);
  EXPECT_EQ(RecordsFile(real_file_system(), scratch_.path()).read(read), EINVAL);
  EXPECT_NE(RecordsFile(real_file_system(), scratch_.path()).append(whole_record()), 0);
}

TEST_F(RecordsFiles, WithoutLocksNothingIsLost) {
  InterceptedFiles files([](const FileCall& call) { return std::string_view(call.name) == "try_lock" ? -ENOLCK : 0; });
  EXPECT_EQ(append(record_for("gather width=8"), files), 0);
  EXPECT_EQ(append(record_for("gather width=16"), files), 0);
  EXPECT_EQ(problems_in(path()), Names({"gather width=8", "gather width=16"}));
  EXPECT_TRUE(read_records(path()).damaged.empty());
}

// Merges in a loop, each of which replaces the file before the lock is taken: no number of them stops an append.
TEST_F(RecordsFiles, AnAppendOutlivesManyMerges) {
  ASSERT_EQ(append(record_for("gather width=8")), 0);
  int merges = 0;
  InterceptedFiles files([&](const FileCall& call) {
    if (std::string_view(call.name) != "try_lock" || merges == 500) return 0;
    ++merges;
    const std::string before = bytes();
    std::filesystem::remove(path());
    put(before);
    return 0;
  });
  EXPECT_EQ(append(record_for("gather width=16"), files), 0);
  EXPECT_EQ(merges, 500);
  EXPECT_EQ(problems_in(path()), Names({"gather width=8", "gather width=16"}));
}

// Any one call of an append fails: earlier records stay, and the file stays valid.
TEST_F(RecordsFiles, AFaultCostsNoRecordButItsOwn) {
  for (const int error : {EIO, ENOSPC, EINTR}) {
    for (int at = 0;; ++at) {
      SCOPED_TRACE(cat("error ", error, " at ", at));
      std::filesystem::remove_all(scratch_ / "data");
      ASSERT_EQ(append(record_for("gather width=8")), 0);
      cache::FaultyFileSystem files;
      files.fail_at = at;
      files.error = error;
      const int failed = append(record_for("gather width=16"), files);
      if (files.failed.empty()) break;
      EXPECT_EQ(append(record_for("gather width=24")), 0);
      const Names there = problems_in(path());
      EXPECT_EQ(there.front(), "gather width=8");
      EXPECT_EQ(there.back(), "gather width=24");
      EXPECT_TRUE(failed != 0 || there.size() == 3) << files.failed;
      ASSERT_LT(at, 40);
    }
  }
}

TEST_F(RecordsFiles, ThreadsAppendBesideReadersAndAMerge) {
  constexpr int kWriters = 4;
  constexpr int kEach = 50;
  std::atomic<int> left{kWriters};
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < kEach; ++i) EXPECT_EQ(append(record_for(cat("gather width=", 1 + w * kEach + i))), 0);
      --left;
    });
  const std::string more = write("more", {record_for("gather width=9999")});
  std::size_t seen = 0;
  do {  // once at least: a busy machine may run all writers first
    for (const PassedLine& line : read_records(path()).damaged) EXPECT_TRUE(line.unfinished) << line.text();
    const std::size_t now = problems_in(path()).size();
    EXPECT_GE(now, seen);
    seen = now;
    EXPECT_TRUE(merge({more}).damaged.empty());
  } while (left != 0);
  for (std::thread& writer : writers) writer.join();
  Names there = problems_in(path());
  Names expected{"gather width=9999"};
  for (int i = 0; i < kWriters * kEach; ++i) expected.push_back(cat("gather width=", 1 + i));
  std::sort(there.begin(), there.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(there, expected);
}

// ---- merging

TEST_F(RecordsFiles, MergeKeepsTheNewestOfEachSubject) {
  Record old = record_for("gather width=8", "unroll=1");
  Record fresh = record_for("gather width=8", "unroll=2");
  old.created_unix_ns -= 1;
  Record warm = old;
  warm.regime = "warm";
  const std::string a = write("a", {fresh, record_for("gather width=16")});
  const std::string b = write("b", {old, warm});
  const Merged merged = merge({a, b});
  EXPECT_EQ(merged.records, 3u);
  EXPECT_EQ(merged.older, 1u);
  const ReadRecords read = read_records(path());
  EXPECT_EQ(read.records[0].record, fresh);
  EXPECT_EQ(problems_in(path()), Names({"gather width=8", "gather width=16", "gather width=8"}));
  EXPECT_EQ(merge({b, a}).records, 3u) << "again, and in another order";
  EXPECT_EQ(read_records(path()).records[0].record, fresh);
}

TEST_F(RecordsFiles, MergeCopiesLinesAsTheyAre) {
  const std::string unknown = "{\"quern_record\":7,\"of\":\"tomorrow\"}";
  cache::overwrite(scratch_ / "in", unknown + "\n" + record_line(whole_record()) + "\nbroken\n" + unknown + "\n");
  const Merged merged = merge({scratch_ / "in"});
  EXPECT_EQ(bytes(), record_line(whole_record()) + "\n" + unknown + "\n");
  EXPECT_EQ(merged.newer_schema, 1u);
  ASSERT_EQ(merged.damaged.size(), 1u);
  EXPECT_EQ(merged.damaged[0].text(), scratch_ / "in:3: invalid JSON at byte 1");
}

TEST_F(RecordsFiles, MergeKeepsWhatTheOutputHadAndMayNameIt) {
  ASSERT_EQ(append(record_for("gather width=8")), 0);
  EXPECT_EQ(merge({path(), write("a", {record_for("gather width=16")})}).records, 2u);
  EXPECT_EQ(problems_in(path()), Names({"gather width=8", "gather width=16"}));
}

TEST_F(RecordsFiles, MergeRefusesAForeignOutputAndAMissingInput) {
  put("int main() {}\n");
  EXPECT_EQ(refusal([&] { merge({write("a", {whole_record()})}); }).code, Code::bad_input);
  EXPECT_EQ(bytes(), "int main() {}\n");
  std::filesystem::remove(path());
  const Error error = refusal([&] { merge({scratch_ / "none"}); });
  EXPECT_EQ(error.code, Code::bad_input);
  EXPECT_TRUE(has(error.sentence, "none: no such file")) << error.sentence;
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(RecordsFiles, AMergeThatFailsLeavesTheOutputAsItWas) {
  const std::string in = write("in", {record_for("gather width=16")});
  for (int at = 0;; ++at) {
    SCOPED_TRACE(at);
    std::filesystem::remove_all(scratch_ / "data");
    ASSERT_EQ(append(record_for("gather width=8")), 0);
    const std::string before = bytes();
    cache::FaultyFileSystem files;
    files.fail_at = at;
    bool threw = false;
    try {
      merge_records(files, path(), {in});
    } catch (const Error&) {
      threw = true;
    }
    if (files.failed.empty()) break;
    EXPECT_TRUE(bytes() == before || problems_in(path()).size() == 2) << files.failed;
    EXPECT_TRUE(threw || problems_in(path()).size() == 2) << files.failed;
    ASSERT_LT(at, 60);
  }
}

}  // namespace
}  // namespace quern::test
