// quern tune report: what `quern tune` calls for its action "report".
#ifndef QUERN_TOOLS_COMMANDS_TUNE_REPORT_H_
#define QUERN_TOOLS_COMMANDS_TUNE_REPORT_H_

#include <string>
#include <vector>

namespace quern::tool {

struct ReportOptions {
  std::string output;    // a file; stdout where it is empty
  bool csv = false;      // every measurement (report/csv.h) in place of a page
  bool compare = false;  // a page that sets two sweeps side by side
};

// One report of the sweeps in `files`, plain or gzipped. Damaged lines are left out, with a note each. Returns the exit
// code; throws Error (bad_input) for no files, for one that holds no sweep and for what cannot be compared, and Error
// (io) where the output cannot be written. Needs neither a compiler nor a device.
int tune_report(const std::vector<std::string>& files, const ReportOptions& options);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_REPORT_H_
