#include "tune_report.h"

#include "base/text.h"
#include "command.h"
#include "gunzip.h"
#include "named_file.h"
#include "output.h"
#include "report/html_report.h"

namespace quern::tool {
namespace {

Journal read(const std::string& file) {
  Journal journal = read_journal_of(file, read_text_file(file), Damaged::skip);
  for (const DamagedLine& damaged : journal.skipped)
    note(cat(file, ": line ", damaged.line, " is left out: ", damaged.reason));
  return journal;
}

}  // namespace

int tune_report(const std::vector<std::string>& files, const std::string& output) {
  if (!output.empty()) check_named_file("--output", output);
  std::vector<Journal> journals;
  for (const std::string& file : files) journals.push_back(read(file));
  const std::string html = html_report(journals);
  if (output.empty()) {
    print(html);
    return kDone;
  }
  write_named_file(output, html);
  note(cat("wrote ", output));
  return kDone;
}

}  // namespace quern::tool
