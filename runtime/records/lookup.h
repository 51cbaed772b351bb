// Which record serves a problem: the exact one, else the nearest on the same device, else one of a sibling device.
//
// Records and problems meet in a bucket where they have the same target and agree in every field that is no extent; in
// a bucket the distance is the sum over the extents of how many octaves (factors of two) lie between them. An extent
// that is open in what is asked for costs nothing. A config is borrowed only where it demands of the operands'
// addresses what the default does. Ties go to the cold regime, the larger problem, then the newer
// record. Distances are whole parts of an octave, so that ties are ties on every machine and keys made ahead are those
// asked for.
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

// What a config is wanted for. All of it decides which, and nothing else does.
struct RecordQuery {
  const void* problem;  // the family's; extents may be open
  const Target& target;
  std::string_view device;  // by the driver's name
  const Config& base;       // the model's default: what a record does not say stays so
};

// `record` lives as long as what was asked.
struct FoundRecord {
  const Record* record = nullptr;
  Config config;
  bool sibling = false;  // of another device of the same target
  bool exact = false;    // every extent that the query closes is the record's
  double octaves = 0;    // to the record's problem
};

// "exact", "nearest, 1.3 octaves away", "of a sibling, exact".
std::string how_text(const FoundRecord& found);

// The records of one family, parsed. Immutable and thread-safe.
class FamilyRecords {
 public:
  // Of two records for one subject the later one wins. What is not of this family's fields and tuning space is passed
  // over with a debug line. The records must outlive this.
  FamilyRecords(const Family& family, const std::vector<const Record*>& records, const Log& log);

  // Nothing if no record is legal for the problem. Allocates nothing. COST: a linear scan of the bucket, some 10 ns a
  // record.
  std::optional<FoundRecord> find(const RecordQuery& query) const;
  // The best few, each config once: own device first, then siblings, nearest first. What a sweep measures early.
  std::vector<FoundRecord> related(const RecordQuery& query, std::size_t most) const;
  // The devices that have records for a target, in the order of their names.
  std::vector<std::string> devices(const Target& target) const;
  // How many records can be found.
  std::size_t size() const { return size_; }

 private:
  struct Item {
    const Record* record;
    Config config;
    std::uint32_t given;  // bit i: the record says parameter i
    bool warm;
    std::int64_t size;  // all extents' octaves
  };
  // The records of one device in a bucket; the extents of item i begin at i * extents_.size().
  struct Group {
    std::string device;
    std::vector<Item> items;
    std::vector<std::int64_t> values;
    std::vector<std::int64_t> octaves;
  };
  struct Bucket {
    std::string shape;
    std::vector<Group> groups;  // in the order of the devices' names
  };
  struct Shape;
  struct Asked;
  struct Candidate;

  // "" or why the record cannot be used.
  std::string add(const Record& record, std::set<std::string>& seen);
  std::string parse_config(const std::string& text, Item& item) const;
  Group& group_for(const Shape& shape, const std::string& device);
  const Bucket* find_bucket(const Shape& shape) const;
  Shape shape_of(const void* problem, std::string_view target) const;
  Asked asked(const RecordQuery& query) const;
  Candidate candidate(const Group& group, std::size_t item, const Asked& asked) const;
  Config config_of(const Candidate& candidate, const RecordQuery& query) const;
  bool is_legal(const Candidate& candidate, const RecordQuery& query) const;
  void take_best(const Group& group, const RecordQuery& query, const Asked& asked, Candidate& best) const;
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
