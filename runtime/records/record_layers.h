// The records that a Runtime reads: its own file, read-only files below it, and what families ship with.
//
// All are read and parsed once, when a config is first wanted; what is written later is for later processes. Nothing
// here fails: a file that cannot be read costs a warning, a damaged line is passed over and named. A file that cannot
// be read for a reason that may pass, such as no free descriptor, is read when a config is wanted next.
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

// One file, or what is shipped, for people.
struct RecordLayer {
  std::string path;  // "shipped with gather" for what has none
  std::size_t records = 0;
  std::vector<PassedLine> passed;  // damaged and of a newer schema
  std::string unusable;            // why it cannot be read; empty if it can
};

// Thread-safe.
class RecordLayers {
 public:
  struct Settings {
    Tuning tuning = Tuning::lookup;
    std::string file;                 // the first that is asked; empty: none. One that is not there is empty
    std::vector<std::string> layers;  // below it, the first one first
  };
  // The log must outlive this. Reads nothing yet.
  RecordLayers(Settings settings, const Log& log, FileSystem& files = real_file_system());

  // As FamilyRecords; nothing where tuning is off. COST: the first call reads the files, some 2 us a record; the first
  // of a family reads what it ships with and parses its problems, some 3 us a record; then see FamilyRecords.
  std::optional<FoundRecord> find(const Family& family, const RecordQuery& query);
  std::vector<FoundRecord> related(const Family& family, const RecordQuery& query, std::size_t most);
  std::vector<std::string> devices(const Family& family, const Target& target);
  // How many records of a family can be found.
  std::size_t count(const Family& family);

  const Settings& settings() const { return settings_; }
  // The files, in the order in which they are asked.
  std::vector<RecordLayer> layers();

 private:
  struct Layer {
    RecordLayer report;
    ReadRecords read;
    bool must_be_there = false;
    bool done = false;  // read, or unreadable for good
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
  std::vector<std::unique_ptr<Known>> outdated_;  // made before the last layers were read; what was found in them stays
};

// The text of the records that are embedded beside a family's sources, FAMILY/records.jsonl; in pieces, since a string
// literal has an end. "" where it has none.
std::string shipped_records(const Family& family);

}  // namespace quern

#endif  // QUERN_RECORDS_RECORD_LAYERS_H_
