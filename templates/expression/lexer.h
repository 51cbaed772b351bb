// Cuts a text into tokens.
#ifndef QUERN_EXPRESSION_LEXER_H_
#define QUERN_EXPRESSION_LEXER_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::expression {

struct Token {
  enum class Kind : std::uint8_t {
    name,
    number,
    symbol,
    separator,  // of statements: a semicolon, or a newline outside parentheses
    end,
  };
  Kind kind;
  std::string_view text;
  std::size_t at;  // its first byte

  bool is(std::string_view wanted) const { return (kind == Kind::name || kind == Kind::symbol) && text == wanted; }
};

// The last one is `end`. Throws Refused at a character that no token has.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_LEXER_H_
