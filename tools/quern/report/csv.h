// Every measurement of sweeps as CSV, for other programs.
#ifndef QUERN_TOOLS_REPORT_CSV_H_
#define QUERN_TOOLS_REPORT_CSV_H_

#include <string>
#include <vector>

#include "tuner/journal/journal.h"

namespace quern::tool::report {

// CSV of RFC 4180, UTF-8, with a header line. A line for each config, in file order; for a config that occurs twice,
// the later one. Columns: problem, device, target, regime; evaluation (from 1); role (winner, default, rival or empty);
// the parameters of all sweeps, a column each, empty where a sweep does not have one; us (the median), us_p20 and
// us_p80 of the samples; faster_percent (less time than the default's, in percent of it; positive is faster),
// copy_percent; registers, shared_bytes, spill_bytes, compile_ms (empty: not compiled); same_as (the config with an
// equal image that was measured), failure (its kind), why, image, at_s. Missing values are empty.
std::string csv_of(const std::vector<Journal>& journals);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_CSV_H_
