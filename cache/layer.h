// A place where images lie beside memory: a directory or a pack.
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

// One entry on disk, for people.
struct Item {
  std::string key;    // hex(what)/hex(who)
  std::string layer;  // the path of the layer
  std::uint64_t bytes = 0;
  std::string damage;      // why it serves nobody; the fields below are then empty
  bool untrusted = false;  // which is that it is not trusted
  bool newer = false;      // which is that a later quern made it, with a schema that is not known here
  bool refused = false;    // which is that it is another user's CPU code
  std::string failure;     // no image, but the sentence of a compile that failed and is not tried again for a while
  std::int64_t created_unix_ns = 0;
  std::int64_t used_unix_ns = 0;  // last hit, to the hour; 0 in layers that are not written to
  bool prewarmed = false;
  std::string compiler;
  std::string kernel;
  std::string what, who;  // see parse_key_text: family, target and the rest
};

// What a layer did since the store was made.
struct LayerReport {
  std::string path;
  std::string kind;  // "directory", "pack", or "missing": nothing is there yet
  bool writable = false;
  std::uint64_t hits = 0;
  std::string unusable;  // why it is not used, or not written to; empty if it is
};

// Why a place has no entry to use.
// `refused`: an image that is CPU code, of a file that the user does not own.
enum class Oddity : std::uint8_t { none, absent, unreadable, untrusted, damaged, foreign, refused, newer };

// What came of reading one place.
struct Reading {
  std::optional<Entry> entry;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint32_t owner = 0;         // of the file
  Oddity oddity = Oddity::absent;  // none where there is an entry
  std::string why;
};

// How much of an entry is read to list it. A header tells all that people see of it, and a file that is cut short; only
// the checksum over the whole finds each changed byte.
enum class Check : std::uint8_t { header, whole };

// Thread-safe. Whatever is odd is a miss and counts. A layer is looked at on first use, and one that is refused costs
// one warning.
class Layer {
 public:
  Layer(std::string path, Services& services) : path_(std::move(path)), services_(services) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // The entry that this very compiler made, unless its image is a rejected one. REQUIRES: key.who is not empty.
  virtual EntryPointer find_exact(const Key& key, const Rejected& rejected) = 0;
  // The newest compiler's among those that may serve another's key and were not rejected; `others` is set where there
  // are only such that may not.
  virtual EntryPointer find_match(const Key& key, const Rejected& rejected, bool* others) = 0;
  // Every entry.
  virtual std::vector<Item> list(Check check) = 0;
  // The item keys that start like this, without a look at what is there.
  virtual std::vector<std::string> keys(const std::string& start) = 0;
  // The entry of an Item, whichever it is: see of_its_own_name. REQUIRES: is_item_key(item_key).
  virtual Reading load(const std::string& item_key) = 0;
  virtual LayerReport report() = 0;
  // What is not trusted in it besides the entries of `list`, each under its name instead of a key.
  virtual std::vector<Item> untrusted() { return {}; }

  const std::string& path() const { return path_; }
  void count_hit() { ++hits_; }
  // Counts and logs what was passed over, if anything was.
  void pass_over(const std::string& path, const Reading& reading);

 protected:
  // What an entry must be to serve.
  struct Wanted {
    const std::string& what;
    const std::string* who;  // null: any
    const Rejected& rejected;
  };
  // Called for everything that is passed over since it is not trusted.
  virtual void untrusted_is_passed_over(const std::string& /*path*/, const std::string& /*why*/) {}
  // Takes the entry of a reading away if it is another key's.
  static void expect(Reading& reading, const Wanted& wanted);
  // The reading's entry, if it is one of these.
  EntryPointer accept(const std::string& path, Reading reading, const Wanted& wanted);

  const std::string path_;
  Services& services_;
  std::atomic<std::uint64_t> hits_{0};

 private:
  std::atomic<bool> warned_of_refused_{false};
};

// Makes the reading's entry of the bytes, or says what is odd with them.
void parse_into(Reading& reading, std::string_view bytes);
// The same of an entry's head, which is of a file of `file_bytes`.
void parse_head_into(Reading& reading, std::string_view head, std::uint64_t file_bytes);
// The same of an entry's description: `read` gives the first so many bytes of a file, its size in Reading::bytes.
Reading read_description(const std::function<Reading(std::size_t most, std::string* bytes)>& read);
bool is_damaged(const Item& item);
bool is_rejected(const Entry& entry, const Rejected& rejected);
bool is_hash(std::string_view name);                                    // 32 hexadecimal digits
bool is_newer_name(std::string_view name);                              // 32, a dot and a schema above kEntrySchema
bool is_item_key(std::string_view key);                                 // two of them with a slash between
std::string item_key_of(const Entry& entry);                            // by its own texts
Reading of_its_own_name(const std::string& item_key, Reading reading);  // without an entry of another name
Reading if_believed(Reading reading, const Trust& trust, std::uint32_t user);  // without CPU code of another's
bool newer(const Entry& left, const Entry& right);                             // of two entries for one `what`
Item describe(const std::string& layer, const std::string& item_key, Reading reading);

}  // namespace quern::cache

#endif  // QUERN_CACHE_LAYER_H_
