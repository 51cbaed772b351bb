// The content-addressed key of an image: canonical text of everything that determines it, in two parts, and the hashes
// of both.
#ifndef QUERN_CACHE_KEY_H_
#define QUERN_CACHE_KEY_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace quern::cache {

// Incremented when the meaning of a field changes, so that older entries are no longer found.
inline constexpr int kKeySchema = 1;

// Canonical text: one line "LENGTH:LABEL=LENGTH:VALUE" per field, so that different lists of fields always give
// different texts. Values may hold any byte. The order of the fields matters.
class KeyText {
 public:
  KeyText& field(std::string_view label, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A hash only names an entry: look-ups compare the texts as well.
struct Key {
  std::string what;  // input: schema, sources, constants, options, architecture
  std::string who;   // the compiler's exact build. Empty: no compiler was found
  Hash128 what_hash, who_hash;

  // The path of its entry in a store's directory: hex(what)/hex(who).
  std::string path() const;
  friend bool operator==(const Key&, const Key&) = default;
};

using HashFunction = Hash128 (*)(std::string_view);

// The key of the two texts. Adds a field "schema" with kKeySchema in front of `what`. `hash` lets tests force a
// collision.
Key make_key(std::string_view what, std::string who, HashFunction hash = hash128);

// The fields of a key text. Tolerant: it stops silently at the first invalid field.
std::vector<std::pair<std::string, std::string>> parse_key_text(std::string_view text);

}  // namespace quern::cache

#endif  // QUERN_CACHE_KEY_H_
