// What an image is called: canonical text of everything that decides it, in two parts, and the hashes of both.
#ifndef QUERN_CACHE_KEY_H_
#define QUERN_CACHE_KEY_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace quern::cache {

// Rises when the meaning of a field changes, so that older entries are no longer found.
inline constexpr int kKeySchema = 1;

// Canonical text: a line "LENGTH:LABEL=LENGTH:VALUE" a field, so that no two lists of fields give one text. Values may
// hold any byte. The order of the fields counts.
class KeyText {
 public:
  KeyText& field(std::string_view label, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A hash is a name, never a proof: look-ups compare the texts as well.
struct Key {
  std::string what;  // what is to be built: schema, sources, constants, options, architecture
  std::string who;   // who builds it: the compiler's exact build. Empty: no compiler was found
  Hash128 what_hash, who_hash;

  // Where its entry lies in a store's directory: hex(what)/hex(who).
  std::string path() const;
  friend bool operator==(const Key&, const Key&) = default;
};

using HashFunction = Hash128 (*)(std::string_view);

// The key of the two texts. A field "schema" with kKeySchema is put in front of `what`, so that nobody can forget it.
// `hash` is a test's way to a collision.
Key make_key(std::string_view what, std::string who, HashFunction hash = hash128);

// The fields of a key text. Tolerant: it stops in silence where the text is not one.
std::vector<std::pair<std::string, std::string>> parse_key_text(std::string_view text);

}  // namespace quern::cache

#endif  // QUERN_CACHE_KEY_H_
