// Record look-up: the exact record for a problem, else the nearest on the same device, else one of a sibling device.
//
// Records and problems share a bucket if they have the same target and equal fields apart from extents. The distance in
// a bucket is the sum over the extents of the absolute log2 ratio (in octaves). An extent that is open in the query
// adds nothing. A config is taken from another problem, or for an open extent, only if it demands the same alignment of
// the operands' addresses as the default, there and here. Ties go to the cold regime, then the larger problem, then the
// newer record. Distances are integers (fractions of an octave), so ties are the same on every machine, and keys that
// were compiled ahead are the keys that are requested.
#ifndef QUERN_RECORDS_LOOKUP_H_
#define QUERN_RECORDS_LOOKUP_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "quern/family.h"
#include "records/record.h"

namespace quern {

// Everything that decides which config is found.
struct RecordQuery {
  const void* problem;  // the family's; extents may be open
  const Target& target;
  std::string_view device;     // by the driver's name
  const Config& base;          // the model's default: what a record does not say stays so
  const Step* step = nullptr;  // of the family; null: its first
};

// `record` lives as long as the records that were searched.
struct FoundRecord {
  const Record* record = nullptr;
  Config config;
  bool sibling = false;  // of another device of the same target
  bool exact = false;    // every closed extent of the query equals the record's
  double octaves = 0;    // to the record's problem
};

// "exact", "nearest, 1.3 octaves away", "of a sibling, exact".
std::string how_text(const FoundRecord& found);

// The parsed records of one family. Immutable and thread-safe.
class FamilyRecords {
 public:
  // Of two records for one subject the later one wins. A record that does not match the family's fields and tuning
  // space is skipped with a debug line. The records must outlive this.
  FamilyRecords(const Family& family, const std::vector<const Record*>& records, const Log& log);

  // Nothing if no record is legal for the problem. Does not allocate. COST: a linear scan of the bucket, some 10 ns a
  // record.
  std::optional<FoundRecord> find(const RecordQuery& query) const;
  // The best few, without duplicate configs: own device first, then siblings, nearest first. A sweep measures them
  // early.
  std::vector<FoundRecord> related(const RecordQuery& query, std::size_t most) const;
  // The devices that have records for a target, sorted by name.
  std::vector<std::string> devices(const Target& target) const;
  // The number of usable records.
  std::size_t size() const { return size_; }

 private:
  struct Item {
    const Record* record;
    const Step* step;  // whose parameters the record's config names
    Config config;
    std::uint32_t given;  // bit i: the record sets parameter i
    bool warm;
    std::int64_t size;  // sum of the extents' octaves
    bool is_unusual;    // a kernel of another kind than its problem's default
  };
  // The records of one device in a bucket. The extents of item i begin at i * extents_.size().
  struct Group {
    std::string device;
    std::vector<Item> items;
    std::vector<std::int64_t> values;
    std::vector<std::int64_t> octaves;
  };
  struct Bucket {
    std::string shape;
    std::vector<Group> groups;  // sorted by device name
  };
  struct Shape;
  struct Asked;
  struct Candidate;

  // "" or why the record cannot be used.
  std::string add(const Record& record, std::set<std::string>& seen);
  std::string parse_config(const std::string& text, Item& item) const;
  bool is_unusual(const Item& item, const void* problem) const;
  Group& group_for(const Shape& shape, const std::string& device);
  const Bucket* find_bucket(const Shape& shape) const;
  Shape shape_of(const void* problem, std::string_view target) const;
  Asked asked(const RecordQuery& query) const;
  Candidate candidate(const Group& group, std::size_t item, const Asked& asked) const;
  const Step& step_of(const RecordQuery& query) const;
  static Config merged(const Item& item, const void* problem, const Config& base);
  Config config_of(const Candidate& candidate, const RecordQuery& query) const;
  bool is_legal(const Candidate& candidate, const RecordQuery& query) const;
  Candidate best_after(const Candidate& after, const Bucket& bucket, const RecordQuery& query, const Asked& asked,
                       bool sibling) const;
  static bool better(const Candidate& a, const Candidate& b);
  static bool preferred(const Item& a, const Item& b);
  FoundRecord to_found(const Candidate& candidate, const RecordQuery& query, bool sibling) const;

  const Family& family_;
  std::vector<const Field*> extents_;
  std::vector<const Field*> others_;
  std::vector<Bucket> buckets_;
  std::size_t size_ = 0;
};

}  // namespace quern

#endif  // QUERN_RECORDS_LOOKUP_H_
