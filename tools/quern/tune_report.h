// quern tune report: what `quern tune` calls for its action "report".
#ifndef QUERN_TOOLS_TUNE_REPORT_H_
#define QUERN_TOOLS_TUNE_REPORT_H_

#include <string>
#include <vector>

namespace quern::tool {

// One HTML report of the sweeps in `files`, plain or gzipped, to `output`, or to stdout where that is empty. Damaged
// lines are left out, with a note each. Returns the exit code; throws Error (bad_input) for no files and for one that
// holds no sweep, and Error (io) where the output cannot be written. Needs neither a compiler nor a device.
int tune_report(const std::vector<std::string>& files, const std::string& output);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_TUNE_REPORT_H_
