// Whether a text has some words in it.
#ifndef QUERN_TESTS_SUPPORT_HAS_H_
#define QUERN_TESTS_SUPPORT_HAS_H_

#include <string_view>

namespace quern::test {

inline bool has(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_HAS_H_
