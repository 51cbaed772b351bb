// Test records, their lines, and the contents of a file.
#ifndef QUERN_TESTS_UNIT_RECORDS_SUPPORT_H_
#define QUERN_TESTS_UNIT_RECORDS_SUPPORT_H_

#include <string>
#include <vector>

#include "base/files.h"
#include "records/record.h"
#include "records/records_file.h"

namespace quern::test {

inline constexpr std::int64_t kNovember = 1'795'219'200'000'000'000;  // 2026-11-21

// Every member has a different value.
inline Record whole_record() {
  Record record;
  record.family = "gather";
  record.problem = "gather rows=4096 count=1024 width=512";
  record.device = "NVIDIA H200";
  record.target = "sm_90a";
  record.regime = "cold";
  record.config = "form=0 vector=16 unroll=4 threads=64 load_once=1 store_stream=1";
  record.us = 9.69;
  record.default_us = 10;
  record.band_percent = 0.5;
  record.samples = 31;
  record.rivals = {{"form=0 vector=16 unroll=4 threads=128 load_once=1 store_stream=1", 9.7}, {"a \"b\"\n\xc3\xa9", 1}};
  record.copy_us = 8;
  record.clocks = {1980, 3201, 700, "power cap"};
  record.driver = "13.0";
  record.compiler = "nvrtc 13.0.88";
  record.image_key = "0123/4567";
  record.image_digest = "89ab";
  record.space_digest = "cdef";
  record.quern = "0.1.0";
  record.strategy = "ils";
  record.seed = 0xFFFF'FFFF'FFFF'FFFFu;
  record.evaluations = 46;
  record.seconds = 12.25;
  record.created_unix_ns = kNovember;
  return record;
}

inline Record record_for(const std::string& problem, const std::string& config = "unroll=4",
                         const std::string& device = "NVIDIA H200") {
  Record record;
  record.family = problem.substr(0, problem.find(' '));
  record.problem = problem;
  record.device = device;
  record.target = "sm_90a";
  record.regime = "cold";
  record.config = config;
  record.us = 9;
  record.default_us = 10;
  record.created_unix_ns = kNovember;
  return record;
}

inline ReadRecords read_records(const std::string& path) {
  ReadRecords read;
  RecordsFile(real_file_system(), path).read(read);
  return read;
}

// The problems of the records in a file, in order.
inline std::vector<std::string> problems_in(const std::string& path) {
  std::vector<std::string> problems;
  for (const ReadRecord& item : read_records(path).records) problems.push_back(item.record.problem);
  return problems;
}

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_RECORDS_SUPPORT_H_
