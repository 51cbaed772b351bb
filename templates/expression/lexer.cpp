#include "expression/lexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "expression/diagnostic.h"

namespace quern::expression {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

// What other languages have.
struct Foreign {
  std::string_view symbol;
  const char* meant;
};
constexpr Foreign kForeign[] = {
    {"**", "write pow(x, y)"},
    {"&&", "write and"},
    {"||", "write or"},
    {"+=", "write y = y + …"},
    {"-=", "write y = y - …"},
    {"*=", "write y = y * …"},
    {"/=", "write y = y / …"},
    {"//", "write floor(x / y); # begins a comment"},
    {"^", "write pow(x, y)"},
    {"%", "write x - y * floor(x / y)"},
    {"?", "write where(condition, a, b)"},
    {"!", "write not"},
    {"&", "write and"},
    {"|", "write or"},
    {"[", "a name is the whole operand"},
    {"{", "write parentheses"},
    {"@", "products of matrices are not there"},
    {"'", "write d(expression, name)"},
};

constexpr std::string_view kTwo[] = {"<=", ">=", "==", "!="};
constexpr std::string_view kOne = "+-*/<>=(),:";

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    while (skip_spaces(), at_ < text_.size()) take();
    const std::size_t end = tokens_.empty() ? text_.size() : tokens_.back().at + tokens_.back().text.size();
    tokens_.push_back({Token::Kind::end, text_.substr(end, 0), end});
    return std::move(tokens_);
  }

 private:
  char here(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void add(Token::Kind kind, std::size_t size) {
    tokens_.push_back({kind, text_.substr(at_, size), at_});
    at_ += size;
  }

  // And comments, and newlines in parentheses.
  void skip_spaces() {
    for (; at_ < text_.size(); ++at_) {
      const char c = here();
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return;
      const bool newline = here() == '\n';
      if (newline ? open_ == 0 : here() != ' ' && here() != '\t' && here() != '\r') return;
    }
  }

  void take() {
    const char c = here();
    if (is_letter(c)) return take_word();
    if (is_digit(c) || (c == '.' && is_digit(here(1)))) return take_number();
    if (c == ';' || c == '\n') return add(Token::Kind::separator, 1);
    take_symbol();
  }

  void take_word() {
    std::size_t size = 1;
    while (is_word(here(size))) ++size;
    add(Token::Kind::name, size);
  }

  std::size_t digits_from(std::size_t ahead) const {
    while (is_digit(here(ahead))) ++ahead;
    return ahead;
  }

  void take_number() {
    std::size_t size = digits_from(0);
    if (here(size) == '.') size = digits_from(size + 1);
    if (here(size) == 'e' || here(size) == 'E') {
      const std::size_t sign = here(size + 1) == '+' || here(size + 1) == '-' ? 1 : 0;
      if (is_digit(here(size + 1 + sign))) size = digits_from(size + 1 + sign);
    }
    if (is_word(here(size)))
      throw Refused{at_ + size, cat("a number ends before \"", here(size), "\"; write * between factors, and 1e-5")};
    if (here(size) == '.') throw Refused{at_ + size, "a number has one point"};
    add(Token::Kind::number, size);
  }

  void take_symbol() {
    const std::string_view two = text_.substr(at_, 2), one = text_.substr(at_, 1);
    for (const std::string_view symbol : kTwo) {
      if (two == symbol) return add(Token::Kind::symbol, 2);
    }
    refuse_foreign(two);
    if (kOne.find(here()) == std::string_view::npos) refuse_character();
    if (one == "(") ++open_;
    if (one == ")" && open_ > 0) --open_;
    add(Token::Kind::symbol, 1);
  }

  void refuse_foreign(std::string_view next) const {
    for (const Foreign& foreign : kForeign) {
      if (next.substr(0, foreign.symbol.size()) == foreign.symbol)
        throw Refused{at_, cat("unknown symbol ", foreign.symbol, ": ", foreign.meant)};
    }
  }

  [[noreturn]] void refuse_character() const {
    const char c = here();
    if (c == '_') throw Refused{at_, "a name begins with a letter"};
    if (c > ' ' && c <= '~') throw Refused{at_, cat("unknown character ", c)};
    throw Refused{
        at_, cat(static_cast<unsigned char>(c) < 0x80 ? "a control character" : "a character that is not ASCII", " (0x",
                 to_hex(&c, 1), "): names are letters, digits and _")};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int open_ = 0;  // parentheses
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) { return Lexer(text).all(); }

}  // namespace quern::expression
