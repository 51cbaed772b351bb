// A layer of the cache below memory: a directory or a pack.
#ifndef QUERN_CACHE_LAYER_H_
#define QUERN_CACHE_LAYER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/entry.h"
#include "cache/key.h"
#include "cache/services.h"
#include "cache/trust.h"
#include "quern/options.h"

namespace quern::cache {

using EntryPointer = std::shared_ptr<const Entry>;

// The images that the driver rejected, by their hashes; usually none.
using Rejected = std::vector<Hash128>;

// One entry on disk, for listings.
struct Item {
  std::string key;    // hex(what)/hex(who)
  std::string layer;  // the path of the layer
  std::uint64_t bytes = 0;
  std::string damage;      // why it is not usable; the fields below are then empty
  bool untrusted = false;  // because it is not trusted
  bool newer = false;      // because a later quern made it, with an unknown schema
  bool refused = false;    // because it is another user's CPU code
  std::string failure;     // instead of an image, the error of a failed compile that is not retried for a while
  std::int64_t created_unix_ns = 0;
  std::int64_t used_unix_ns = 0;  // last hit, to the hour; 0 in read-only layers
  bool prewarmed = false;
  std::string compiler;
  std::string kernel;
  std::string what, who;  // see parse_key_text: family, target and the rest
};

// Counters of a layer since the store was made.
struct LayerReport {
  std::string path;
  std::string kind;  // "directory", "pack", or "missing": it does not exist yet
  bool writable = false;
  std::uint64_t hits = 0;
  std::string unusable;  // why it is not used, or not written to; empty if it is
};

// Why a look-up has no entry to use.
// `refused`: CPU code in a file that the user does not own.
enum class MissReason : std::uint8_t { none, absent, unreadable, untrusted, damaged, foreign, refused, newer };

// The result of reading one entry.
struct Reading {
  std::optional<Entry> entry;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint32_t owner = 0;               // of the file
  MissReason miss = MissReason::absent;  // none if there is an entry
  std::string why;
};

// How much of an entry is read to list it. The header has everything that is shown, and reveals a truncated file; only
// the checksum over the whole file detects each changed byte.
enum class Check : std::uint8_t { header, whole };

// Thread-safe. Any unexpected state is treated as a miss and counted. A layer is opened on first use; a refused one
// logs one warning.
class Layer {
 public:
  Layer(std::string path, Services& services) : path_(std::move(path)), services_(services) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // The entry of this exact compiler, unless its image is a rejected one. REQUIRES: key.who is not empty.
  virtual EntryPointer find_exact(const Key& key, const Rejected& rejected) = 0;
  // Of the entries by other compilers that may serve this key and were not rejected, the newest compiler's; sets
  // `others` if there are only entries that may not.
  virtual EntryPointer find_match(const Key& key, const Rejected& rejected, bool* others) = 0;
  // Every entry.
  virtual std::vector<Item> list(Check check) = 0;
  // The item keys with this prefix, without opening files.
  virtual std::vector<std::string> keys(const std::string& start) = 0;
  // The entry of an Item: see of_its_own_name. REQUIRES: is_item_key(item_key).
  virtual Reading load(const std::string& item_key) = 0;
  virtual LayerReport report() = 0;
  // Untrusted files in it besides the entries of `list`, with their names as keys.
  virtual std::vector<Item> untrusted() { return {}; }

  const std::string& path() const { return path_; }
  void count_hit() { ++hits_; }
  // Counts and logs a skipped entry, if it was skipped.
  void note_skipped(const std::string& path, const Reading& reading);

 protected:
  // The conditions for an entry to serve a key.
  struct Wanted {
    const std::string& what;
    const std::string* who;  // null: any
    const Rejected& rejected;
  };
  // Called for everything that is skipped because it is not trusted.
  virtual void on_untrusted(const std::string& /*path*/, const std::string& /*why*/) {}
  // Drops the entry of a reading if it is another key's.
  static void expect(Reading& reading, const Wanted& wanted);
  // The reading's entry, if `wanted` accepts it.
  EntryPointer accept(const std::string& path, Reading reading, const Wanted& wanted);

  const std::string path_;
  Services& services_;
  std::atomic<std::uint64_t> hits_{0};

 private:
  std::atomic<bool> warned_of_refused_{false};
};

// Parses the bytes into the reading, as an entry or the reason why they are not one.
void parse_into(Reading& reading, std::string_view bytes);
// The same for an entry's head, from a file of `file_bytes`.
void parse_head_into(Reading& reading, std::string_view head, std::uint64_t file_bytes);
// The same for an entry's description: `read` gives the first `most` bytes of a file, and the file's size in
// Reading::bytes.
Reading read_description(const std::function<Reading(std::size_t most, std::string* bytes)>& read);
bool is_damaged(const Item& item);
bool is_rejected(const Entry& entry, const Rejected& rejected);
bool is_hash(std::string_view name);                                    // 32 hexadecimal digits
bool is_newer_name(std::string_view name);                              // 32, a dot and a schema above kEntrySchema
bool is_item_key(std::string_view key);                                 // two of them with a slash in between
std::string item_key_of(const Entry& entry);                            // from its own texts
Reading of_its_own_name(const std::string& item_key, Reading reading);  // drops an entry of another name
Reading if_trusted(Reading reading, const Trust& trust, std::uint32_t user);  // drops another user's CPU code
bool newer(const Entry& left, const Entry& right);                            // of two entries for one `what`
Item describe(const std::string& layer, const std::string& item_key, Reading reading);

}  // namespace quern::cache

#endif  // QUERN_CACHE_LAYER_H_
