// A failed compile, as the store remembers it (negative caching). The bytes are described in FORMAT.md.
#ifndef QUERN_CACHE_FAILURE_H_
#define QUERN_CACHE_FAILURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::cache {

struct Failure {
  std::string what, who;  // the full key texts, compared before it is used
  std::string sentence;   // of the Error
  std::string log;        // the compiler's
  std::int64_t created_unix_ns = 0;

  friend bool operator==(const Failure&, const Failure&) = default;
};

// As for an entry: equal failures give equal bytes; any bytes may be parsed, and any accidental change is detected.
// `why_not` may be null.
std::string serialize(const Failure& failure);
std::optional<Failure> parse_failure(std::string_view bytes, std::string* why_not);

}  // namespace quern::cache

#endif  // QUERN_CACHE_FAILURE_H_
