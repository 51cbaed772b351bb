#include "pointwise/program.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "base/text.h"
#include "common/activation_reference.h"
#include "common/host_types.h"
#include "expression/emit.h"
#include "expression/print.h"
#include "expression/stages.h"

namespace quern::pointwise::program {
namespace {

using expression::Kind;
using expression::Node;
using expression::Parsed;
using expression::Program;

Spread spread_of(Kind kind) {
  if (kind == Kind::row) return Spread::row;
  if (kind == Kind::column) return Spread::column;
  return kind == Kind::scalar ? Spread::scalar : Spread::full;
}

void add_entries(const Program& program, Summary& s) {
  for (const expression::Operand& input : program.inputs) {
    if (!input.in_memory()) continue;
    s.entries[s.inputs++] = {input.dtype, spread_of(input.kind)};
    s.full_inputs += input.kind == Kind::full ? 1 : 0;
    s.has_row = s.has_row || input.kind == Kind::row;
    s.has_column = s.has_column || input.kind == Kind::column;
  }
  for (const expression::Output& output : program.outputs) {
    s.entries[s.inputs + s.outputs++] = {output.dtype, spread_of(output.kind)};
    s.sums += output.kind == Kind::row || output.kind == Kind::scalar ? 1 : 0;
    s.totals += output.kind == Kind::scalar ? 1 : 0;
    s.column_outputs += output.kind == Kind::column ? 1 : 0;
  }
}

void add_numbers(const Program& program, Summary& s) {
  std::vector<int> given(program.inputs.size(), -1);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!program.inputs[i].in_memory()) given[i] = s.given++;
  }
  for (const expression::Number& number : expression::numbers(program)) {
    const int place = number.operand < 0 ? -1 : given[static_cast<std::size_t>(number.operand)];
    s.values[s.numbers++] = {number.source, place, number.value};
  }
}

Summary summary_of(const Program& program) {
  Summary s;
  add_entries(program, s);
  add_numbers(program, s);
  const expression::Stages stages = expression::stages(program);
  s.rounds = static_cast<int>(stages.rounds.size());
  s.reductions = static_cast<int>(stages.reductions().size());
  s.kept = static_cast<int>(stages.kept.size());
  s.needs_inputs_beside_kept = stages.needs_inputs_beside_kept;
  for (const Node& node : program.tree.nodes()) s.inexact += node.is_inexact() ? 1 : 0;
  return s;
}

// ---- The texts that were seen

using Expr = decltype(Pointwise::expr);

struct Known {
  std::string text;
  Summary summary;
  Expr canonical;
  const Known* next;
};

// Null: the text does not parse.
Known* make_known(std::string_view text) {
  const Parsed parsed = expression::parse(text);
  if (!parsed) return nullptr;
  const std::string printed = expression::print(parsed.program);
  const bool fits = printed.size() <= sizeof(Expr::bytes);
  return new Known{std::string(text), summary_of(parsed.program), fits ? std::string_view(printed) : text, nullptr};
}

constinit std::atomic<const Known*> known_texts[256] = {};
constinit thread_local const Known* last_known = nullptr;

// Quicker for the few letters of most programs than a hash of good quality, which a launch would wait for.
std::size_t place_of(std::string_view text) {
  std::uint64_t mixed = text.size();
  for (std::size_t at = 0; at < text.size(); at += sizeof(mixed)) {
    std::uint64_t word = 0;
    if (at + sizeof(word) <= text.size())
      std::memcpy(&word, text.data() + at, sizeof(word));
    else
      std::memcpy(&word, text.data() + at, text.size() - at);
    mixed = (mixed ^ word) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 32;
  }
  return mixed % std::size(known_texts);
}

const Known* find_or_make(std::string_view text) {
  std::atomic<const Known*>& first = known_texts[place_of(text)];
  for (const Known* each = first.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    if (each->text == text) return each;
  }
  Known* const made = make_known(text);
  if (made == nullptr) return nullptr;
  made->next = first.load(std::memory_order_relaxed);
  while (!first.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return made;
}

// Null: the text does not parse.
const Known* known(std::string_view text) {
  if (last_known == nullptr || last_known->text != text) last_known = find_or_make(text);
  return last_known;
}

constexpr Summary kNoProgram = {};

}  // namespace

const Summary& summary(const Pointwise& p) {
  const Known* const own = known(p.expr.view());
  return own == nullptr ? kNoProgram : own->summary;
}

Program parsed(const Pointwise& p) { return expression::parse(p.expr.view()).program; }

std::string_view canonical(const void* value) {
  const Expr& given = *static_cast<const Expr*>(value);
  const Known* const own = known(given.view());
  const Expr& text = own == nullptr ? given : own->canonical;
  return {reinterpret_cast<const char*>(&text), sizeof(text.count) + text.view().size()};
}

namespace {

// The fields that a program goes with; all others are of the operations.
bool goes_with_program(std::string_view field) {
  constexpr std::string_view kFields[] = {"rows",    "width", "dtype",  "expr",
                                          "scaling", "mode",  "policy", "scale_layout"};
  return std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields);
}

std::string unused_field(const Pointwise& p) {
  const Family& family = Pointwise::family();
  const auto* const given = reinterpret_cast<const unsigned char*>(&p);
  const auto* const usual = static_cast<const unsigned char*>(family.default_problem);
  for (const Field& field : family.fields) {
    const std::size_t size = field.kind == FieldKind::integer ? sizeof(std::int64_t) : 1;
    if (goes_with_program(field.name) || std::memcmp(given + field.offset, usual + field.offset, size) == 0) continue;
    return cat(field.name, " is not for a problem with expr, whose program says it all; leave ", field.name, " out");
  }
  return {};
}

// Of a program: the results of that many reductions pass from warp to warp.
std::string too_many(const Summary& s) {
  if (s.reductions <= kMostReductions) return {};
  return cat("expr has ", s.reductions, " reductions along rows; at most ", kMostReductions, " are possible");
}

}  // namespace

std::string check(const Pointwise& p) {
  const Parsed parsed = expression::parse(p.expr.view());
  if (!parsed) return cat("expr does not parse: ", parsed.error.text());
  if (std::string sentence = too_many(summary(p)); !sentence.empty()) return sentence;
  const std::size_t size = expression::print(parsed.program).size();
  if (size > sizeof(Expr::bytes))
    return cat("expr takes ", size, " letters as it is kept, with each common part once; at most ", sizeof(Expr::bytes),
               " are possible");
  return unused_field(p);
}

Inexact inexact_of(const Pointwise& p, int output) {
  const Program program = parsed(p);
  const expression::Output& made = program.outputs[static_cast<std::size_t>(output)];
  const Entry& entry = summary(p).entries[summary(p).inputs + output];
  std::vector<bool> needed(program.tree.nodes().size());
  needed[static_cast<std::size_t>(made.value)] = true;
  Inexact inexact;
  for (expression::Id id = made.value; id >= 0; --id) {  // a node is after its arguments
    if (!needed[static_cast<std::size_t>(id)]) continue;
    const Node& node = program.tree[id];
    for (const expression::Id used : node.used()) needed[static_cast<std::size_t>(used)] = true;
    if (!node.is_inexact()) continue;
    ++inexact.all;
    if (id != made.value || !expression::stores_narrow(node, made_dtype(p, entry))) ++inexact.in_fp32;
  }
  return inexact;
}

std::string name_of(const Pointwise& p, int entry) {
  const Program program = parsed(p);
  for (const expression::Operand& input : program.inputs) {
    if (input.in_memory() && entry-- == 0) return input.name;
  }
  return program.outputs[static_cast<std::size_t>(entry)].name;
}

std::string name_of_number(const Pointwise& p, int number) {
  const Program program = parsed(p);
  for (const expression::Operand& input : program.inputs) {
    if (!input.in_memory() && number-- == 0) return input.name;
  }
  return {};
}

}  // namespace quern::pointwise::program
