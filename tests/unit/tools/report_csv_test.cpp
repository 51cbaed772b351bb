// The measurements as CSV: of the command, and in the page.
#include "report/csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "io/gunzip.h"
#include "report/html_report.h"
#include "report_sweeps.h"

namespace quern::tool {
namespace {

using report::csv_of;

std::string unpacked(const std::string& base64) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (std::size_t at = 0; at < base64.size(); at += 4) {
    std::uint32_t three = 0;
    for (std::size_t i = at; i < at + 4; ++i)
      three = three << 6 | (base64[i] == '=' ? 0 : static_cast<std::uint32_t>(kDigits.find(base64[i])));
    const auto padding = static_cast<int>(
        std::count(base64.begin() + static_cast<long>(at), base64.begin() + static_cast<long>(at) + 4, '='));
    for (int i = 2; i >= padding; --i) bytes += static_cast<char>(three >> (8 * i) & 255);
  }
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("quern-csv-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << bytes;
  const std::string text = read_text_file(path.string());
  std::filesystem::remove(path);
  return text;
}

TEST(ReportCsv, HasALineForEachConfigThatHeldAndNamesWhatItIs) {
  Journal journal = finished();
  journal.trials.insert(journal.trials.begin(), trial("vector=8 unroll=1", 99, 0.5));  // measured again later
  journal.trials[2].same_as = "vector=8 unroll=1";
  const std::string csv = csv_of({journal});
  EXPECT_EQ(csv.substr(0, csv.find("\r\n")),
            "problem,device,target,regime,evaluation,role,vector,unroll,us,us_p20,us_p80,faster_percent,copy_percent,"
            "registers,shared_bytes,spill_bytes,compile_ms,same_as,failure,why,image,at_s");
  EXPECT_EQ(count(csv, "\r\n"), 1 + 5);
  EXPECT_FALSE(has(csv, "99.0"));
  const std::string start = "gather rows=64 count=64,NVIDIA H200,,cold,";
  EXPECT_TRUE(has(csv, start + "1,default,8,1,12.0000,12.0000,12.0240,0.00,75.00,32,0,0,50.00,,,,,1.000\r\n")) << csv;
  EXPECT_TRUE(
      has(csv, start + "2,winner,16,2,10.0000,10.0000,10.0200,16.67,90.00,32,0,0,,vector=8 unroll=1,,,,2.000\r\n"))
      << csv;
  EXPECT_TRUE(has(csv, start + "3,rival,16,1,")) << csv;
  EXPECT_TRUE(has(csv, start + "5,,4,2,,,,,,,,,,,wrong,out[3] is 1 and should be 2,,\r\n")) << csv;
}

TEST(ReportCsv, QuotesWhatItMust) {
  Journal journal = finished();
  journal.trials.back().why = "a \"quote\", a comma\nand a line";
  EXPECT_TRUE(has(csv_of({journal}), "wrong,\"a \"\"quote\"\", a comma\nand a line\",,\r\n"));
}

TEST(ReportCsv, SweepsOfSeveralFamiliesShareTheirColumns) {
  Journal other = finished();
  other.head.problem = "rope tokens=8";
  other.head.axes = {{"threads", {"64"}, ""}, {"unroll", {"1", "2"}, ""}};
  other.trials = {trial("threads=64 unroll=2", 3, 1)};
  other.result.reset();
  const std::string csv = csv_of({finished(), other});
  EXPECT_TRUE(has(csv, "role,vector,unroll,threads,us"));
  EXPECT_TRUE(has(csv, "rope tokens=8,NVIDIA H200,,cold,1,,,2,64,3.0000,"));
}

TEST(ReportCsv, ThePageSavesWhatTheCommandWrites) {
  const std::vector<Journal> journals = {finished(), finished()};
  EXPECT_EQ(unpacked(download_of(html_report(journals))), csv_of(journals));
}

}  // namespace
}  // namespace quern::tool
