// What `quern tune` does with records that are there: show prints them, merge makes one file of several.
#ifndef QUERN_TOOLS_COMMANDS_TUNE_RECORDS_H_
#define QUERN_TOOLS_COMMANDS_TUNE_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "io/command.h"
#include "io/output.h"
#include "quern/runtime.h"
#include "records/record.h"

namespace quern::tool {

// What was typed after `quern tune ACTION`.
struct TuneRecordArguments {
  std::vector<std::string> words;
  std::string records;  // --records: this file alone
  bool json = false;
};

// A record and where it is: a path, or "shipped with gather".
struct PlacedRecord {
  Record record;
  std::string place;
};
// What the arguments ask for. Words: nothing, a family, or a problem text: records that agree with it in the fields
// that it names. Of several for one subject the one that `prepare` would find. Lines that are passed over are named on
// stderr. Throws Error (bad_input).
struct FoundRecords {
  std::vector<PlacedRecord> records;
  std::size_t places = 0;  // that were looked at
};
FoundRecords find_records(Runtime& runtime, const TuneRecordArguments& arguments);

// Each returns the exit code; throws Error.
// Words as for find_records.
int tune_show(Runtime& runtime, const TuneRecordArguments& arguments);
// Words: the file to write, and those to read. REQUIRES: one of each.
int tune_merge(Runtime& runtime, const TuneRecordArguments& arguments);

// A record as `show` prints it.
Row record_row(const Record& record, std::int64_t now_unix_ns);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_RECORDS_H_
