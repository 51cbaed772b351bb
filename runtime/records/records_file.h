// Files of records: JSON lines that are only appended to, and read beside whoever appends.
//
// Appending holds flock on the file, writes a record in one call and syncs it: a record is minutes of a device's time,
// a sync is milliseconds. A writer that was killed leaves a line without its end; the next one starts a new line.
// Nothing here trusts a file: a record can only choose among legal configs, so anybody's may be read.
#ifndef QUERN_RECORDS_RECORDS_FILE_H_
#define QUERN_RECORDS_RECORDS_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/log.h"
#include "records/record.h"

namespace quern {

// A line that is passed over.
struct PassedLine {
  std::string path;
  int line = 0;  // from 1
  std::string why;
  bool unfinished = false;   // the last one, without its end: a writer was stopped in it, or is at work on it
  std::string text() const;  // "PATH:LINE: why"
};

struct ReadRecord {
  Record record;
  std::string line;  // as it is in the file, without its end
};

// In the order of the lines; a later one wins.
struct ReadRecords {
  std::vector<ReadRecord> records;
  std::vector<PassedLine> damaged;
  std::vector<PassedLine> newer;         // of a schema that this quern does not know
  std::vector<std::string> newer_lines;  // as they are in the file
};

// Blank lines are nothing. `path` is only for PassedLine. COST: as parse_record, a line.
ReadRecords parse_records(std::string_view text, const std::string& path);

// What records are for: of two that are for the same the later one wins.
std::string subject_of(const Record& record);

class RecordsFile {
 public:
  // Relative paths are taken from where the process is. Links are followed.
  RecordsFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  // 0 or an errno value; no file is no error, and empty.
  int read(ReadRecords& records) const;
  // Makes the file and the directories above it. 0, or an errno value: then the record is not there, or may not survive
  // a loss of power. Throws Error (bad_input) for a record that cannot be written as a line. Waits for others for ten
  // seconds at most; whoever holds the lock longer is stopped, and harms nothing.
  int append(const Record& record) const;

 private:
  FileSystem& files_;
  const std::string path_;
};

// What `merge` did.
struct Merged {
  std::size_t records = 0;       // that are in the file now
  std::size_t older = 0;         // for the same subjects, left out
  std::size_t newer_schema = 0;  // lines that are kept without being understood
  std::vector<PassedLine> damaged;
};

// Makes `out` hold the records of `inputs` and its own, one a subject: the newest by created_unix_ns, of two as new the
// one that was read later. Lines are copied as they are. `out` is replaced in one step, under the lock that `append`
// takes, so that nothing is lost that others append meanwhile. Throws Error: bad_input for an input that is not there
// or an `out` that is no file of records, io.
Merged merge_records(FileSystem& files, const std::string& out, const std::vector<std::string>& inputs);

// One warning about the lines of one file that are passed over, however many; about an unfinished one a debug line, as
// its writer may be at work.
void report_passed(const ReadRecords& records, const Log& log);

}  // namespace quern

#endif  // QUERN_RECORDS_RECORDS_FILE_H_
