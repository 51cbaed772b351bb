#include "records/records_file.h"

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "quern/error.h"
#include "records/locked_records.h"

namespace quern {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

int read_text(FileSystem& files, const std::string& path, std::string* text) {
  FileStatus status;
  return read_whole(files, without_links(files, path), kMostBytes, text, &status);
}

void add_line(std::string_view line, PassedLine where, ReadRecords& to) {
  ParsedLine parsed = parse_record(line);
  where.why = std::move(parsed.why);
  switch (parsed.kind) {
    case ParsedLine::Kind::record:
      to.records.push_back({std::move(parsed.record), std::string(line)});
      break;
    case ParsedLine::Kind::newer:
      to.newer.push_back(std::move(where));
      to.newer_lines.emplace_back(line);
      break;
    case ParsedLine::Kind::damaged:
      to.damaged.push_back(std::move(where));
      break;
  }
}

Error io_error(const std::string& path, const char* step, int error) {
  return {Code::io, Stage::tool, cat("cannot ", step, " ", path, ": ", error_text(error))};
}

// Records by subject, in the order in which the subjects were first seen.
class Merger {
 public:
  void add(ReadRecords read) {
    for (ReadRecord& item : read.records) add_record(std::move(item));
    for (std::string& line : read.newer_lines) {
      if (std::find(newer_.begin(), newer_.end(), line) == newer_.end()) newer_.push_back(std::move(line));
    }
    result_.damaged.insert(result_.damaged.end(), read.damaged.begin(), read.damaged.end());
  }

  std::string text() const {
    std::string text;
    for (const ReadRecord& item : kept_) text += cat(item.line, "\n");
    for (const std::string& line : newer_) text += cat(line, "\n");
    return text;
  }

  Merged result() const {
    Merged merged = result_;
    merged.records = kept_.size();
    merged.newer_schema = newer_.size();
    return merged;
  }

 private:
  void add_record(ReadRecord item) {
    const auto [place, first] = places_.emplace(subject_of(item.record), kept_.size());
    if (first) {
      kept_.push_back(std::move(item));
      return;
    }
    ReadRecord& there = kept_[place->second];
    if (there.line == item.line) return;
    ++result_.older;
    if (item.record.created_unix_ns >= there.record.created_unix_ns) there = std::move(item);
  }

  std::vector<ReadRecord> kept_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> newer_;
  Merged result_;
};

ReadRecords read_input(FileSystem& files, const std::string& path) {
  std::string text;
  const int error = read_text(files, path, &text);
  if (error == ENOENT)
    throw Error(Code::bad_input, Stage::tool, cat(path, ": no such file; expected a file of records"));
  if (error != 0) throw io_error(path, "read", error);
  return parse_records(text, path);
}

// No line is a record: the file is something else, which must not be replaced.
void refuse_foreign(const ReadRecords& own, const std::string& out) {
  if (own.damaged.empty() || !own.records.empty() || !own.newer.empty()) return;
  throw Error(Code::bad_input, Stage::tool,
              cat(out, " is not a file of records (line ", own.damaged.front().line, ": ", own.damaged.front().why,
                  "); name another file to write"));
}

void replace(FileSystem& files, const std::string& path, const std::string& text) {
  FileStatus status;
  const long known = uninterrupted([&] { return files.status(path, &status); });
  StagedFile staged(files, path);
  int error = staged.write(text, known == 0 ? status.mode : 0666);
  if (error == 0) error = staged.place();
  if (error == 0) error = staged.settle();
  if (error != 0) throw Error(Code::io, Stage::tool, staged.why_not(error));
}

}  // namespace

std::string PassedLine::text() const { return cat(path, ":", line, ": ", why); }

ReadRecords parse_records(std::string_view text, const std::string& path) {
  ReadRecords read;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    if (!line.empty()) add_line(line, {path, number, "", end == std::string_view::npos}, read);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return read;
}

// With the sizes of the parts, so that different subjects never have the same text.
std::string subject_of(const Record& record) {
  std::string subject;
  for (const std::string* part : {&record.family, &record.device, &record.target, &record.regime, &record.problem})
    subject += cat(part->size(), ":", *part, "\n");
  return subject;
}

int RecordsFile::read(ReadRecords& records) const {
  std::string text;
  const int error = read_text(files_, path_, &text);
  records = error == 0 ? parse_records(text, path_) : ReadRecords{};
  return error == ENOENT ? 0 : error;
}

// Without the lock another process may be in the middle of a line. An extra newline is harmless, since blank lines are
// skipped.
int RecordsFile::append(const Record& record) const {
  const std::string line = cat(record_line(record), "\n");
  LockedRecords file(files_, path_);
  if (file.error() != 0) return file.error();
  const bool clean = file.locked() && file.ends_with_line();
  if (const int error = write_all(files_, file.get(), clean ? line : cat("\n", line))) return error;
  if (const int error = error_of(uninterrupted([&] { return files_.sync(file.get()); }))) return error;
  return file.created() ? sync_directory(files_, parent_directory(file.path())) : 0;
}

Merged merge_records(FileSystem& files, const std::string& out, const std::vector<std::string>& inputs) {
  const std::string path = without_links(files, out);
  std::vector<ReadRecords> read;
  for (const std::string& input : inputs) {
    if (without_links(files, input) != path) read.push_back(read_input(files, input));
  }
  LockedRecords lock(files, out);
  if (lock.error() != 0) throw io_error(out, "open", lock.error());
  Merger merger;
  ReadRecords own = read_input(files, lock.path());
  refuse_foreign(own, out);
  merger.add(std::move(own));
  for (ReadRecords& input : read) merger.add(std::move(input));
  replace(files, lock.path(), merger.text());
  return merger.result();
}

void report_passed(const ReadRecords& records, const Log& log) {
  std::vector<const PassedLine*> lines;
  for (const PassedLine& line : records.newer) lines.push_back(&line);
  for (const PassedLine& line : records.damaged) {
    if (line.unfinished) log.debug(cat("records: ", line.text()));
    if (!line.unfinished) lines.push_back(&line);
  }
  if (lines.empty()) return;
  const std::string others = lines.size() == 1 ? "" : cat(" (one of ", lines.size(), " such lines in this file)");
  log.warning(cat("records: skipped a line: ", lines.front()->text(), others));
}

}  // namespace quern
