// Files of records: JSON lines. Writers only append, and readers may read at the same time.
//
// Appending holds flock on the file, writes a record in one call and syncs it: a record costs minutes of device time, a
// sync milliseconds. A killed writer leaves an unfinished line; the next writer starts a new line. Files need not be
// trusted: a record can only choose among legal configs, so files of any owner may be read.
#ifndef QUERN_RECORDS_RECORDS_FILE_H_
#define QUERN_RECORDS_RECORDS_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/log.h"
#include "records/record.h"

namespace quern {

// A line that is skipped.
struct PassedLine {
  std::string path;
  int line = 0;  // from 1
  std::string why;
  bool unfinished = false;   // the last line has no newline: its writer was killed, or is still writing
  std::string text() const;  // "PATH:LINE: why"
};

struct ReadRecord {
  Record record;
  std::string line;  // as in the file, without its newline
};

// In the order of the lines; a later record wins.
struct ReadRecords {
  std::vector<ReadRecord> records;
  std::vector<PassedLine> damaged;
  std::vector<PassedLine> newer;         // of a schema newer than this quern's
  std::vector<std::string> newer_lines;  // as in the file
};

// Skips blank lines. `path` is only for PassedLine. COST: that of parse_record for each line.
ReadRecords parse_records(std::string_view text, const std::string& path);

// What a record is for. Of two records with the same subject the later one wins.
std::string subject_of(const Record& record);

class RecordsFile {
 public:
  // Relative paths are relative to the current directory. Follows links.
  RecordsFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  // Returns 0 or an errno value. A missing file is not an error, and has no records.
  int read(ReadRecords& records) const;
  // Creates the file and its parent directories where they are missing. Returns 0, or an errno value: then the record
  // was not written, or may not survive a power loss. Throws Error (bad_input) for a record that cannot be written as a
  // line. Waits for the lock for ten seconds at most, then appends without it, which is harmless: a holder that takes
  // longer is suspended.
  int append(const Record& record) const;

 private:
  FileSystem& files_;
  const std::string path_;
};

// The result of `merge`.
struct Merged {
  std::size_t records = 0;       // in the file now
  std::size_t older = 0;         // for the same subjects, left out
  std::size_t newer_schema = 0;  // lines that are kept without being parsed
  std::vector<PassedLine> damaged;
};

// Makes `out` hold the records of `inputs` and its own, one per subject: the newest by created_unix_ns, of two equally
// new ones the one that was read later. Lines are copied unchanged. `out` is replaced atomically, under the lock that
// `append` takes, so no concurrent append is lost. Throws Error: (bad_input) for a missing input or an `out` that is
// not a file of records, (io).
Merged merge_records(FileSystem& files, const std::string& out, const std::vector<std::string>& inputs);

// Warns once per file about its skipped lines, however many. An unfinished line gives a debug line, as its writer may
// be at work.
void report_passed(const ReadRecords& records, const Log& log);

}  // namespace quern

#endif  // QUERN_RECORDS_RECORDS_FILE_H_
