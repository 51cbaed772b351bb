// Synthetic sweeps for the tests of the report, and helpers that search its pages.
#ifndef QUERN_TESTS_UNIT_TOOLS_REPORT_SWEEPS_H_
#define QUERN_TESTS_UNIT_TOOLS_REPORT_SWEEPS_H_

#include <string>
#include <string_view>

#include "tuner/journal/journal.h"

namespace quern::tool {

inline SweepHead some_head() {
  SweepHead head;
  head.family = "gather";
  head.problem = "gather rows=64 count=64";
  head.device = "NVIDIA H200";
  head.regime = "cold";
  head.axes = {{"vector", {"4", "8", "16"}, "bytes an access"}, {"unroll", {"1", "2"}, "accesses in flight"}};
  head.points = 6;
  head.default_config = "vector=8 unroll=1";
  head.strategy = "ils";
  head.seed = 42;
  head.budget = {100, 60};
  head.driver = "580.1";
  head.compiler = "NVRTC 13.0";
  head.clocks = {1980, 3201, 700, ""};
  head.bytes = 1 << 20;
  head.copy_us = 9;
  return head;
}

inline SweepTrial trial(const std::string& config, double us, double at_s) {
  SweepTrial out;
  out.config = config;
  out.us = us;
  out.samples = {us, us, us * 1.01, us, us};
  out.method = "rotate";
  out.registers = 32;
  out.compile_ms = 50;
  out.at_s = at_s;
  return out;
}

inline SweepTrial failure(const std::string& config, FailureKind kind, const std::string& why) {
  SweepTrial out;
  out.config = config;
  out.failure = kind;
  out.why = why;
  return out;
}

inline Journal finished() {
  Journal journal;
  journal.head = some_head();
  journal.trials = {trial("vector=8 unroll=1", 12, 1), trial("vector=16 unroll=2", 10, 2),
                    trial("vector=16 unroll=1", 10.1, 3), trial("vector=4 unroll=1", 20, 4),
                    failure("vector=4 unroll=2", FailureKind::wrong, "out[3] is 1 and should be 2")};
  journal.finalists = {{"vector=16 unroll=2", 10, -17, -16, 8}, {"vector=16 unroll=1", 10.1, -16.5, -15, 8}};
  SweepResult result;
  result.winner = "vector=16 unroll=2";
  result.why = "faster";
  result.us = 10;
  result.default_us = 12;
  result.percent = -16.7;
  result.low = -17.2;
  result.high = -16.1;
  result.band_percent = 0.4;
  result.rivals = {"vector=16 unroll=1"};
  result.evaluations = 5;
  result.seconds = 5;
  result.stopped = "evidence";
  journal.result = result;
  return journal;
}

inline Journal interrupted(std::size_t trials) {
  Journal journal = finished();
  journal.finalists.clear();
  journal.result.reset();
  journal.trials.resize(trials);
  return journal;
}

// The page's embedded file, from its link.
inline std::string download_of(const std::string& html) {
  const std::string head = "href=\"data:application/gzip;base64,";
  const std::size_t from = html.find(head);
  return from == std::string::npos
             ? ""
             : html.substr(from + head.size(), html.find('"', from + head.size()) - from - head.size());
}

inline bool has(const std::string& html, std::string_view part) { return html.find(part) != std::string::npos; }

inline int count(const std::string& html, std::string_view part) {
  int found = 0;
  for (std::size_t at = html.find(part); at != std::string::npos; at = html.find(part, at + 1)) ++found;
  return found;
}

}  // namespace quern::tool

#endif  // QUERN_TESTS_UNIT_TOOLS_REPORT_SWEEPS_H_
