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
#include <unordered_map>
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

  // Nothing if no record is legal for the problem. Allocates nothing. COST: under 1 us: one hash, then the records of a
  // bucket from the nearest outward in one extent, as far as any could still win.
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
  // Items in runs of one key each: a number whose difference from the query's is never more than the whole distance
  // (one extent's octaves, or the sum of all). In a run the one comes first that wins where all else is equal.
  struct Order {
    std::vector<std::int64_t> keys;     // one a run, rising
    std::vector<std::uint32_t> starts;  // of the runs in `items`, and their end
    std::vector<std::uint32_t> items;
  };
  // The records of one device in a bucket; the extents of item i begin at i * extents_.size(). An order an extent,
  // then that of the sums, then one in which all are in one run.
  struct Group {
    std::string device;
    std::vector<Item> items;
    std::vector<std::int64_t> values;
    std::vector<std::int64_t> octaves;
    std::vector<Order> orders;
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
  void sort(Group& group) const;
  static Order order_of(const std::vector<std::int64_t>& keys, const std::vector<Item>& items);
  Group& group_for(const Shape& shape, const std::string& device);
  const Bucket* find_bucket(const Shape& shape) const;
  Shape shape_of(const void* problem, std::string_view target) const;
  Asked asked(const RecordQuery& query) const;
  Candidate candidate(const Group& group, std::size_t item, const Asked& asked) const;
  std::size_t best_order(const Group& group, const Asked& asked) const;
  bool make_legal(const RecordQuery& query, Candidate& candidate) const;
  bool take(const RecordQuery& query, Candidate next, Candidate& best) const;
  void take_best(const Group& group, const RecordQuery& query, const Asked& asked, Candidate& best) const;
  static bool better(const Candidate& a, const Candidate& b);
  static bool preferred(const Item& a, const Item& b);
  static FoundRecord to_found(const Candidate& candidate, bool sibling);

  const Family& family_;
  std::vector<const Field*> extents_;
  std::vector<const Field*> others_;
  std::unordered_map<std::uint64_t, std::vector<Bucket>> buckets_;  // by the hash of the shape
  std::size_t size_ = 0;
};

}  // namespace quern

#endif  // QUERN_RECORDS_LOOKUP_H_
