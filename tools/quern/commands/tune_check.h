// quern tune check: the records of this device, measured again.
#ifndef QUERN_TOOLS_COMMANDS_TUNE_CHECK_H_
#define QUERN_TOOLS_COMMANDS_TUNE_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "commands/tune_records.h"
#include "commands/tune_worker.h"
#include "tuner/evaluate/recheck.h"

namespace quern::tool {

struct CheckRequest {
  TuneRecordArguments records;
  std::string device = "cuda:0";
  WorkerRequest worker;
};

// Prints a row a record, and below the table what they come to. Writes nothing. Returns kSomeFailed where a record
// flips or fails; throws Error: (bad_input) for what was typed and where no record is asked for, (no_device),
// (unsupported) where none of the records is of the device.
int tune_check(Runtime& runtime, const CheckRequest& request, const Global& global);

// What became of one record.
struct CheckedRecord {
  Record record;
  std::optional<Rechecked> now;    // nothing: it was not measured
  std::string error;               // why the measuring ended, where no config is to blame
  std::vector<std::string> hints;  // in what it is not as it would be made today

  bool fails() const { return !error.empty() || (now && now->recorded.failure); }
  bool flips() const { return now && !now->faster.empty(); }
};
Row check_row(const CheckedRecord& checked);
// "3 records, 1 flip; regret: p95 1.20 %, worst 2.00 %, geometric mean 0.40 %".
std::string check_summary(const std::vector<CheckedRecord>& all);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_CHECK_H_
