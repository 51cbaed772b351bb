// The records that a Runtime reads: its own file, read-only files below it, and the records shipped with families.
//
// All are read and parsed once, when a config is first needed; records written later are seen by later processes.
// Nothing here fails: a file that cannot be read gives a warning, a damaged line is skipped and reported. If the cause
// may be temporary, such as no free file descriptor, the file is read again when the next config is needed.
#ifndef QUERN_RECORDS_RECORD_LAYERS_H_
#define QUERN_RECORDS_RECORD_LAYERS_H_

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/fork_barrier.h"
#include "base/log.h"
#include "quern/family.h"
#include "quern/options.h"
#include "records/lookup.h"
#include "records/records_file.h"

namespace quern {

// One file, or the shipped records, for reports to people.
struct RecordLayer {
  std::string path;  // "shipped with gather" for embedded records
  std::size_t records = 0;
  std::vector<PassedLine> passed;  // damaged lines and lines of a newer schema
  std::string unusable;            // why it cannot be read; empty if it can
};

// Thread-safe.
class RecordLayers {
 public:
  struct Settings {
    Tuning tuning = Tuning::lookup;
    std::string file;                 // asked first; empty: none. A missing file has no records
    std::vector<std::string> layers;  // below it, highest priority first
  };
  // The log must outlive this. Does not read yet.
  RecordLayers(Settings settings, const Log& log, FileSystem& files = real_file_system());

  // As in FamilyRecords; nothing where tuning is off. COST: the first call reads the files, some 2 us a record; the
  // first of a family parses its shipped records and its problems, some 3 us a record; then as in FamilyRecords.
  std::optional<FoundRecord> find(const Family& family, const RecordQuery& query);
  std::vector<FoundRecord> related(const Family& family, const RecordQuery& query, std::size_t most);
  std::vector<std::string> devices(const Family& family, const Target& target);
  // The number of usable records of a family.
  std::size_t count(const Family& family);

  const Settings& settings() const { return settings_; }
  // The files, highest priority first.
  std::vector<RecordLayer> layers();

 private:
  struct Layer {
    RecordLayer report;
    ReadRecords read;
    bool must_be_there = false;
    bool done = false;  // read, or permanently unreadable
  };
  struct Known {
    std::vector<ReadRecord> shipped;
    std::unique_ptr<const FamilyRecords> records;
  };
  void load();
  void load_file(Layer& layer);
  const FamilyRecords& of(const Family& family);
  std::unique_ptr<Known> make(const Family& family);

  const Settings settings_;
  const Log& log_;
  FileSystem& files_;
  std::atomic<bool> loaded_{false};  // all layers are done
  ForkSafeMutex mutex_;
  std::vector<Layer> layers_;
  std::map<const Family*, std::unique_ptr<Known>> families_;
  std::vector<std::unique_ptr<Known>>
      outdated_;  // from before the last layers were read; kept for records found in them
};

// The text of the records embedded with a family's sources, FAMILY/records.jsonl; in pieces, since the length of a
// string literal is limited. "" where it has none.
std::string shipped_records(const Family& family);

}  // namespace quern

#endif  // QUERN_RECORDS_RECORD_LAYERS_H_
