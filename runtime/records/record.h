// A record: the config that a sweep chose for one problem on one device, and the evidence. One JSON object a line.
#ifndef QUERN_RECORDS_RECORD_H_
#define QUERN_RECORDS_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock_rates.h"
#include "quern/family.h"

namespace quern {

// A config that the paired re-runs could not tell from the chosen one.
struct Rival {
  std::string config;
  double us = 0;
  friend bool operator==(const Rival&, const Rival&) = default;
};

// Times are device time in microseconds, medians. `problem`, `device`, `target`, `regime` say what the record is for;
// of several for one of these the later line wins.
struct Record {
  std::string family;
  std::string problem;  // the whole problem text, all extents closed
  std::string device;   // by the driver's name, "NVIDIA H200"
  std::string target;   // "sm_90a"
  std::string regime;   // "cold" or "warm"
  std::string config;   // every parameter, "threads=256 vector=16"
  double us = 0;
  double default_us = 0;    // the default config beside it; 0: not measured
  double band_percent = 0;  // half the width of the noise
  int samples = 0;
  std::vector<Rival> rivals;
  double copy_us = 0;        // a copy of the same bytes; 0: not measured
  ClockRates clocks;         // what the device said of itself meanwhile; 0: it did not say
  std::string driver;        // as driver_text gives it
  std::string compiler;      // the identity of what compiled the image
  std::string image_key;     // WHAT/WHO
  std::string image_digest;  // of the cubin
  std::string space_digest;  // as space_digest gives it
  std::string quern;         // the version that measured
  std::string strategy;
  std::uint64_t seed = 0;
  int evaluations = 0;
  double seconds = 0;  // of the sweep
  std::int64_t created_unix_ns = 0;
  friend bool operator==(const Record&, const Record&) = default;
};

// One line without its end: "quern_record", the schema, comes first and "check" last, the XXH3-128 of the same object
// without it, so that a flipped bit is seen. ASCII, whatever the texts hold. Throws Error (bad_input) for a text that
// is not UTF-8 and a number that is not finite: neither could be read again.
std::string record_line(const Record& record);

// What a line is. Members that this schema does not know are covered by the check and otherwise ignored; merging copies
// lines as they are, so they are kept. No member but those that say what the record is for, and the config and its
// time, must be there.
struct ParsedLine {
  enum class Kind { record, newer, damaged };
  Kind kind = Kind::damaged;
  Record record;
  std::string why;  // newer, damaged: in a few words, for people
};
// Never throws but std::bad_alloc. COST: some 2 us for a line as `record_line` writes it, 20 us in another form.
ParsedLine parse_record(std::string_view line);

// "13.0" of cuDriverGetVersion's 13000.
std::string driver_text(int version);
// Names, values and constraints of a family's tuning space: what a record's config was chosen from.
std::string space_digest(const Step& step);

// "2026-11-21", UTC.
std::string date_text(std::int64_t unix_ns);

}  // namespace quern

#endif  // QUERN_RECORDS_RECORD_H_
