// Parses expressions. Who owns the names says what they are.
#ifndef QUERN_EXPRESSION_GRAMMAR_H_
#define QUERN_EXPRESSION_GRAMMAR_H_

#include <algorithm>
#include <string>
#include <vector>

#include "expression/diagnostic.h"
#include "expression/lexer.h"
#include "expression/tree.h"

namespace quern::expression {

inline constexpr int kMostNesting = 128;  // of parentheses, calls, signs and `not` in a text

// What an expression means by its names and literals. All may throw Refused.
class Names {
 public:
  virtual ~Names() = default;
  virtual Id read(const Token& name) = 0;
  virtual Id literal(float value, const Token& at) = 0;
  virtual Id derivative(Id value, const Token& name, std::size_t at) = 0;
  // Called after each node is made.
  virtual void check_size(const Token& at) = 0;
  // Whether alpha may be written where a formula does not have it, as the table of functions does.
  virtual bool takes_any_alpha() const { return false; }
};

// A part of the text and the node that it is.
struct Part {
  Id id;
  std::size_t at;  // its first byte
};

class Grammar {
 public:
  // `tokens` must outlive the grammar and end with `end`.
  Grammar(const std::vector<Token>& tokens, Tree& tree, Names& names) : tokens_(tokens), tree_(tree), names_(names) {}

  const Token& here(std::size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  bool ended() const { return here().kind == Token::Kind::separator || here().kind == Token::Kind::end; }
  Token take() { return tokens_[std::min(next_++, tokens_.size() - 1)]; }
  bool take_if(std::string_view symbol);
  // Throws Refused at the token if it is another one.
  void expect(std::string_view symbol, const char* why);

  Part expression() { return binary(0); }
  // A number, not a condition: `where` names it.
  Part number(const char* where);

  [[noreturn]] static void refuse(std::size_t at, std::string message) { throw Refused{at, std::move(message)}; }

 private:
  class Deeper;

  Part binary(int level);
  Part comparison();
  Part prefix(int function);
  Part unary();
  Part primary();
  Part constant();
  Part literal();
  Part parenthesized();
  Part call();
  Part derivative(const Token& name);
  Part special(const Token& name, const std::vector<Part>& arguments);
  std::vector<Part> arguments();
  DType dtype();
  Id make(int function, const std::vector<Part>& parts, const Token& at, DType dtype = DType::none);
  void check_arguments(const Function& f, const std::vector<Part>& parts) const;
  bool is_call_of(const char* name) const { return here().is(name) && here(1).is("("); }

  const std::vector<Token>& tokens_;
  Tree& tree_;
  Names& names_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

// How deeply the grammar will nest, or more.
int nesting_of(const std::vector<Token>& tokens);

// The value of a number's text, as the nearest float. Throws Refused.
float float_of(const Token& number);

// The row of a call; throws Refused, with what to type, if there is none.
int function_of_call(const Token& name, std::size_t arguments, bool takes_any_alpha);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_GRAMMAR_H_
