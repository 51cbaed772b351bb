// The actions of `quern tune`. Each is in a file of its name; tune.cpp declares their arguments.
#ifndef QUERN_TOOLS_COMMANDS_TUNE_ACTIONS_H_
#define QUERN_TOOLS_COMMANDS_TUNE_ACTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/tune_worker.h"
#include "io/command.h"
#include "io/output.h"
#include "quern/runtime.h"
#include "records/record.h"
#include "tuner/evaluate/recheck.h"

namespace quern::tool {

// ---- quern tune FAMILY FIELD=VALUE...: runs sweeps on devices

struct SweepRequest {
  std::vector<std::string> words;    // a problem
  std::string manifest;              // a file of problems instead
  bool bench_table = false;          // the families' bench cases instead
  int draw = 0;                      // so many problems at random instead; `words` are families
  std::vector<std::string> devices;  // "cuda:0"; several share each sweep
  std::string strategy;
  std::string budget;  // "90s", "10m", or a number of evaluations
  std::string step;    // of the family; "": each that the problem needs, one after the other
  std::string regime;
  std::string save_space;  // measure every legal config and keep the file here
  int seed = 1;
  int jobs = 0;  // parallel compiles; 0: one per core
  WorkerRequest worker;
  bool no_record = false;
  bool json = false;
};

// Prints a row for each problem. Returns the exit code; throws Error.
int run_sweeps(const SweepRequest& request, const Global& global);

// ---- quern tune --replay: runs strategies on saved tuning spaces

struct ReplayRequest {
  std::vector<std::string> files;       // cache files of Kernel Tuner or sweeps of quern, plain or gzipped
  std::vector<std::string> strategies;  // empty: the default
  int seeds = 200;
  bool json = false;
};

// Prints a row for each file, and the means of each strategy where there are several files. Returns the exit code;
// throws Error.
int run_replay(const ReplayRequest& request);

// ---- quern tune show and merge: existing records

// The arguments after `quern tune ACTION`.
struct TuneRecordArguments {
  std::vector<std::string> words;
  std::string records;  // --records: only this file
  bool json = false;
};

// A record and its origin: a path, or "shipped with gather".
struct PlacedRecord {
  Record record;
  std::string place;
};
// The records that the arguments select. Words: none, a family, or a problem text: records with the fields that it
// sets. Of several for one subject, the one that `prepare` would find. Skipped lines are noted on stderr. Throws Error
// (bad_input).
struct FoundRecords {
  std::vector<PlacedRecord> records;
  std::size_t places = 0;  // that were searched
};
FoundRecords find_records(Runtime& runtime, const TuneRecordArguments& arguments);

// Each returns the exit code; throws Error.
// Words as in find_records.
int tune_show(Runtime& runtime, const TuneRecordArguments& arguments);
// Words: the file to write, then the files to read. REQUIRES: one of each.
int tune_merge(Runtime& runtime, const TuneRecordArguments& arguments);

// A record as a row of `show`.
Row record_row(const Record& record, std::int64_t now_unix_ns);

// ---- quern tune check: measures the records of this device again

struct CheckRequest {
  TuneRecordArguments records;
  std::string device = "cuda:0";
  WorkerRequest worker;
};

// Prints a row for each record, and a summary after the table. Writes nothing. Returns kSomeFailed where a record flips
// or fails. Throws Error: (bad_input) for wrong arguments and where no record matches, (no_device), (unsupported) where
// no record is for the device.
int tune_check(Runtime& runtime, const CheckRequest& request, const Global& global);

// The result for one record.
struct CheckedRecord {
  Record record;
  std::optional<Rechecked> now;    // nullopt: not measured
  std::string error;               // why measuring failed, where it is not a config's fault
  std::vector<std::string> hints;  // what changed since it was made

  bool fails() const { return !error.empty() || (now && now->recorded.failure); }
  bool flips() const { return now && !now->faster.empty(); }
};
Row check_row(const CheckedRecord& checked);
// "3 records, 1 flip; regret: p95 1.20 %, worst 2.00 %, geometric mean 0.40 %".
std::string check_summary(const std::vector<CheckedRecord>& all);

// ---- quern tune report

struct ReportOptions {
  std::string output;    // a file; "": stdout
  bool csv = false;      // every measurement (report/csv.h) instead of a page
  bool compare = false;  // a page that compares two sweeps
};

// Writes one report of the sweeps in `files`, plain or gzipped. Damaged lines are skipped, with a note each. Returns
// the exit code. Throws Error (bad_input) for no files, for a file without a sweep and for sweeps that cannot be
// compared, and Error (io) where the output cannot be written. Needs neither a compiler nor a device.
int tune_report(const std::vector<std::string>& files, const ReportOptions& options);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_ACTIONS_H_
