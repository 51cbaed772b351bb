#include "commands/tune_actions.h"

#include "base/text.h"
#include "io/command.h"
#include "io/gunzip.h"
#include "io/named_file.h"
#include "io/output.h"
#include "report/csv.h"
#include "report/html_report.h"

namespace quern::tool {
namespace {

Journal read(const std::string& file) {
  Journal journal = read_journal_of(file, read_text_file(file), Damaged::skip);
  for (const DamagedLine& damaged : journal.skipped)
    note(cat(file, ": line ", damaged.line, " is skipped: ", damaged.reason));
  return journal;
}

std::string text_of(const std::vector<Journal>& journals, const ReportOptions& options) {
  if (options.csv) return report::csv_of(journals);
  return options.compare ? html_comparison(journals) : html_report(journals);
}

}  // namespace

int tune_report(const std::vector<std::string>& files, const ReportOptions& options) {
  if (options.csv && options.compare) throw wrong("--csv does not go with --compare");
  if (!options.output.empty()) check_named_file("--output", options.output);
  std::vector<Journal> journals;
  for (const std::string& file : files) journals.push_back(read(file));
  const std::string text = text_of(journals, options);
  if (options.output.empty()) {
    print(text);
    return kDone;
  }
  write_named_file(options.output, text);
  note(cat("wrote ", options.output));
  return kDone;
}

}  // namespace quern::tool
