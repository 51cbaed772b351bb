// A program: a tree, the operands that it reads and the outputs that it makes.
#ifndef QUERN_EXPRESSION_PROGRAM_H_
#define QUERN_EXPRESSION_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expression/diagnostic.h"
#include "expression/tree.h"

namespace quern::expression {

inline constexpr int kMostNodes = 1024;
inline constexpr int kMostOperands = 16;  // in memory: inputs, those in place included
inline constexpr int kMostOutputs = 8;
inline constexpr int kMostLetters = 64;  // of a name
inline constexpr int kMostNumbers = 16;  // literals, number operands and extents

struct Operand {
  std::string name;
  DType dtype = DType::none;  // none: the problem's
  Kind kind = Kind::full;     // constant: a number of the launch, not in memory

  bool in_memory() const { return kind != Kind::constant; }
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Output {
  std::string name;
  DType dtype = DType::none;
  Kind kind = Kind::full;
  Id value = -1;
  int in_place = -1;       // the input that it replaces
  bool quantized = false;  // by the kernel, after the program; dtype is that of the numbers before
  bool saved = false;      // the gradient reads it instead of computing its value again

  friend bool operator==(const Output&, const Output&) = default;
};

// Nodes and operands are in the order of their first use, outputs in that of the text. Equal programs are equal in
// every member.
struct Program {
  Tree tree;
  std::vector<Operand> inputs;
  std::vector<Output> outputs;
};
bool operator==(const Program& a, const Program& b);

// A program, or what is wrong.
struct Parsed {
  Program program;
  Diagnostic error;  // without a message: the program is there

  explicit operator bool() const { return error.message.empty(); }
};

Parsed parse(std::string_view text);

// A number that a launch passes to the kernel.
struct Number {
  enum class Source : std::uint8_t { literal, operand, width, rows };
  Source source;
  Id node;
  float value = 0;   // of a literal
  int operand = -1;  // the input
};
// In the order of their first use.
std::vector<Number> numbers(const Program& program);

// The place among the inputs in memory of each input; -1: it is not in memory.
std::vector<int> memory_places(const Program& program);

// The kind of an output that declares none.
Kind default_kind(const Node& value);

// A node whose value is read from an input.
struct Given {
  Id value;
  int input;
};

// The program without nodes and inputs that no output needs, in order. `outputs` are of `tree`.
Program in_order(const Tree& tree, const std::vector<Operand>& inputs, const std::vector<Output>& outputs,
                 const std::vector<Given>& given = {});

inline bool is_too_long(std::string_view name) { return name.size() > static_cast<std::size_t>(kMostLetters); }

// The limits. "" or the reason.
std::string too_large(const Program& program);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_PROGRAM_H_
