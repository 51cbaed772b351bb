// A sweep's file: JSON lines, written while the sweep runs, and all that a resumed sweep, a replay and the report know.
// First the head; then a line a config, in the order of measuring; at the end the finalists and the result. A sweep may
// be killed at any byte: a last line without its newline does not count. A sweep that goes on after its result adds
// lines after it; the last finalists and the last result are the ones that hold.
//
// Members that are unknown are passed over, so that a later quern may add some; what changes the meaning of a line
// raises the schema, and a higher schema is refused.
#ifndef QUERN_TUNER_JOURNAL_JOURNAL_H_
#define QUERN_TUNER_JOURNAL_JOURNAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock_rates.h"
#include "base/file_system.h"
#include "base/files.h"

namespace quern {

inline constexpr int kJournalSchema = 1;

// Why a config has no time. In the order of kFailureKinds.
enum class FailureKind : std::uint8_t {
  compile,
  compile_timeout,
  resources,
  launch,
  wrong,
  guards,
  inputs,
  unstable,
  timeout,
  crash,
  worker,
  memory,
};
struct FailureKindRow {
  const char* name;      // in the file
  const char* sentence;  // for a person
};
inline constexpr FailureKindRow kFailureKinds[] = {
    {"compile", "the compiler refused it"},
    {"compile_timeout", "the compile took too long"},
    {"resources", "it needs more registers, shared memory or local memory than is allowed"},
    {"launch", "the driver refused to load or to launch it"},
    {"wrong", "its result is not the reference's"},
    {"guards", "it wrote outside of its operands"},
    {"inputs", "it changed an input"},
    {"unstable", "two runs on the same data differ"},
    {"timeout", "it did not end in time"},
    {"crash", "it made an illegal access, or ended its worker"},
    {"worker", "its worker could not be started or did not answer"},
    {"memory", "its operands do not fit the memory budget"},
};
inline constexpr int kFailureKindCount = static_cast<int>(sizeof(kFailureKinds) / sizeof(kFailureKinds[0]));
constexpr const char* name(FailureKind kind) { return kFailureKinds[static_cast<int>(kind)].name; }
// Nothing for a name that is no kind's.
std::optional<FailureKind> failure_kind(std::string_view name);

// A parameter of the space: its values as configs have them, in canonical order.
struct SweepAxis {
  std::string name;
  std::vector<std::string> values;
  std::string sentence;
  std::string otherwise = {};  // the value where the parameter does not apply; "": it always does
  bool operator==(const SweepAxis&) const = default;
};

// 0: no limit.
struct SweepBudget {
  std::int64_t evaluations = 0;
  double seconds = 0;
  bool operator==(const SweepBudget&) const = default;
};

struct SweepHead {
  std::string family;
  std::string problem;  // problem text, family first
  std::string device;
  std::string target;           // "sm_90a"
  std::string regime;           // "cold" or "warm"
  std::vector<SweepAxis> axes;  // in the order in which configs name them
  std::int64_t points = 0;      // legal points of the space for this problem; 0: not known
  std::string default_config;   // "default" in the file
  std::string space;            // digest of the space, hexadecimal
  std::string strategy;
  std::uint64_t seed = 0;
  SweepBudget budget;
  std::int64_t started_unix_ns = 0;
  std::string quern;    // version
  std::string command;  // as typed; "" where nobody typed one
  std::string driver;
  std::string compiler;
  ClockRates clocks;       // as read when the sweep started; 0 and "" where the device does not say
  std::int64_t bytes = 0;  // that one call moves; 0: not known
  double copy_us = 0;      // a copy of as many bytes in the same run; 0: not measured
  bool operator==(const SweepHead&) const = default;
};

// One measured config, or one that failed.
struct SweepTrial {
  std::string config;
  std::optional<FailureKind> failure;
  std::string why;              // with a failure: a sentence
  double us = 0;                // the median of `samples`; above 0, without a failure
  std::vector<double> samples;  // in microseconds
  std::string method;           // as Timing::method
  std::string image;            // key
  std::string digest;           // of the image, as the driver loads it
  std::string same_as;          // the config with an equal image, whose time this is; else ""
  std::int64_t registers = 0;   // a thread
  std::int64_t shared_bytes = 0;
  std::int64_t spills = 0;  // bytes
  double compile_ms = 0;    // 0: it came from the store
  double at_s = 0;          // seconds of sweeping up to here, those before a resume among them
  bool operator==(const SweepTrial&) const = default;
};

// One of the best, measured again in pairs with the default.
struct SweepFinalist {
  std::string config;
  double us = 0;
  double low = 0;   // 95 % interval of the difference to the default in percent of the default's time;
  double high = 0;  // negative: faster
  int rounds = 0;
  bool operator==(const SweepFinalist&) const = default;
};

struct SweepResult {
  std::string winner;  // a config; "" where no config passed
  std::string why;     // "incumbent", "default", "first in order" or "faster"
  double us = 0;
  double default_us = 0;
  double percent = 0;  // the winner's difference to the default, negative: faster
  double low = 0;      // its 95 % interval
  double high = 0;
  double band_percent = 0;          // the noise band
  std::vector<std::string> rivals;  // configs within the band of the best
  std::int64_t evaluations = 0;
  double seconds = 0;
  std::string stopped;    // "evidence", "budget" or "all measured"
  bool complete = false;  // every legal point was tried: the file can be replayed as a space
  bool operator==(const SweepResult&) const = default;
};

// Lines without their newline. Numbers survive the way to a file and back; bytes that are no UTF-8 become U+FFFD. A
// number that is not finite has no form in JSON and makes the line one that read_journal refuses.
std::string serialize(const SweepHead& head);
std::string serialize(const SweepTrial& trial);
std::string serialize(const std::vector<SweepFinalist>& finalists);
std::string serialize(const SweepResult& result);

struct DamagedLine {
  int line = 0;  // from 1
  std::string reason;
};

struct Journal {
  SweepHead head;
  std::vector<SweepTrial> trials;        // in file order; a config may come twice, the later one holds
  std::vector<SweepFinalist> finalists;  // best first
  std::optional<SweepResult> result;     // nothing: the sweep was interrupted
  std::vector<DamagedLine> skipped;
  bool unfinished = false;  // a last line without its newline was passed over
  bool complete() const { return result && result->complete; }
};

enum class Damaged : std::uint8_t { refuse, skip };

// Throws Error (bad_input) where the head is missing, damaged, or of a higher schema, and, with Damaged::refuse, at the
// first damaged line, by its number. Blank lines are passed over.
Journal read_journal(std::string_view text, Damaged damaged = Damaged::refuse);
// The same of a file's text, and of a file; the sentence then names the file.
Journal read_journal_of(const std::string& path, std::string_view text, Damaged damaged = Damaged::refuse);
Journal read_journal_file(const std::string& path, Damaged damaged = Damaged::refuse);

// Writes a sweep's file, alone: it holds the file's lock as long as it lives. Each line is one write, seen by readers
// at once and safe from the end of this process; a loss of power may cost the lines since the last sync, which costs
// measuring them again. The result is synced. Not thread-safe.
class JournalWriter {
 public:
  // Opens `path`, or makes it with the folders above it, and cuts off an unfinished last line. Throws Error (io), and
  // as read_journal does for what is in the file, which is then left as it is. What a damaged line had is measured
  // again.
  explicit JournalWriter(const std::string& path, Damaged damaged = Damaged::skip,
                         FileSystem& files = real_file_system());
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // What was in the file; nothing where it is new: then the head comes first.
  const std::optional<Journal>& before() const { return before_; }
  // Empties the file: the head comes first again. Throws Error (io).
  void start_over();

  // Throw Error (io). A line that could not be written whole is taken back, so that the file stays readable and later
  // lines may be tried.
  void append(const SweepHead& head) { append_line(serialize(head)); }
  void append(const SweepTrial& trial) { append_line(serialize(trial)); }
  void append(const std::vector<SweepFinalist>& finalists) { append_line(serialize(finalists)); }
  void append(const SweepResult& result);

 private:
  [[noreturn]] void fail(const char* step, int error) const;
  std::string read() const;
  void cut(std::uint64_t bytes);
  void append_line(std::string line);

  FileSystem& files_;
  const std::string path_;
  OpenFile file_;
  std::uint64_t end_ = 0;  // of the last whole line
  std::optional<Journal> before_;
};

}  // namespace quern

#endif  // QUERN_TUNER_JOURNAL_JOURNAL_H_
