#include "records/records_file.h"

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "fuzz/targets.h"
#include "records/written_line.h"
#include "support/memory_files.h"

namespace quern::fuzz {
namespace {

constexpr const char* kRecordsPath = "/data/records.jsonl";

// An object with its check, in the position that it has in a line.
std::string sealed_line(std::string_view line) {
  const std::string_view check = ",\"check\":\"";
  const std::string_view body = line.substr(0, std::min(line.rfind(check), line.empty() ? 0 : line.size() - 1));
  return cat(body, check, hash128(cat(body, "}")).hex(), "\"}");
}

std::string sealed_lines(std::string_view text) {
  std::string sealed;
  for (const std::string_view line : split(text, '\n')) sealed += cat(sealed_line(line), "\n");
  return sealed;
}

// The fast path without a JSON parser agrees with the parser, which is needed for other orders of the members.
void check_quick_reading(std::string_view line) {
  Record record;
  const std::string_view members = line.substr(0, line.rfind(",\"check\":\""));
  if (!read_written_line(members, record)) return;
  const auto object = nlohmann::json::parse(cat(members, "}"), nullptr, false);
  require(!object.is_discarded(), "what is read without a parser is JSON");
  const ParsedLine parsed = parse_record(sealed_line(object.dump()));
  require(parsed.kind == ParsedLine::Kind::record && parsed.record == record, "both ways of reading agree");
}

void check_lines(const std::vector<PassedLine>& lines) {
  int last = 0;
  for (const PassedLine& line : lines) {
    require(line.line > last, "line numbers rise from 1");
    require(!line.why.empty(), "every skipped line has a reason");
    last = line.line;
  }
}

void check_record(const ReadRecord& item) {
  check_quick_reading(item.line);
  const ParsedLine again = parse_record(item.line);
  require(again.kind == ParsedLine::Kind::record && again.record == item.record, "a line reads the same again");
  const ParsedLine written = parse_record(record_line(item.record));
  require(written.kind == ParsedLine::Kind::record && written.record == item.record, "what is written reads the same");
  require(!date_text(item.record.created_unix_ns).empty(), "every time has a date");
}

Record own_record() {
  Record record;
  record.family = record.problem = "own";
  record.created_unix_ns = 1;
  return record;
}

// A file with these bytes, appended to and merged: no readable line is lost.
void check_file(std::string_view bytes, const ReadRecords& before) {
  test::MemoryFiles files;
  files.put(kRecordsPath, FileKind::regular, std::string(bytes));
  const RecordsFile file(files, kRecordsPath);
  ReadRecords after;
  require(file.append(own_record()) == 0, "a record is appended to anything");
  require(file.read(after) == 0, "the file is read");
  require(after.records.size() == before.records.size() + 1, "appending loses nothing");
  require(after.records.back().record == own_record(), "what is appended comes last");
  const Merged merged = merge_records(files, kRecordsPath, {});
  require(file.read(after) == 0 && after.damaged.empty(), "a merged file has no damaged line");
  require(after.records.size() == merged.records, "and the reported records");
  require(after.newer_lines.size() == merged.newer_schema, "with lines of a newer schema");
  const Merged again = merge_records(files, kRecordsPath, {});
  require(again.records == merged.records && again.older == 0 && again.damaged.empty(), "merging again does nothing");
}

void check_records(std::string_view bytes) {
  const ReadRecords read = parse_records(bytes, kRecordsPath);
  check_lines(read.damaged);
  check_lines(read.newer);
  for (const ReadRecord& item : read.records) check_record(item);
  check_file(bytes, read);
}

}  // namespace

void records(std::string_view bytes) {
  check_records(bytes);
  check_records(sealed_lines(bytes));
}

}  // namespace quern::fuzz
