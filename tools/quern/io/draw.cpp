#include "io/draw.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include "base/hash.h"
#include "base/text.h"
#include "plan/problem.h"
#include "quern/error.h"

namespace quern::tool {
namespace {

constexpr int kMostTries = 10000;  // for one problem

Error wrong_row(const Family& family, std::string_view row, std::string_view why) {
  return Error(Code::bad_input, Stage::tool, cat(family.name, ": the distribution \"", row, "\": ", why));
}

// What LOW..HIGH/STEP says.
struct Integers {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t step = 1;
};

std::optional<Integers> parse_integers(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto low = parse_integer(text.substr(0, dots));
  const auto high = parse_integer(text.substr(dots + 2, slash - dots - 2));
  const auto step = slash == text.size() ? 1 : parse_integer(text.substr(slash + 1));
  if (!low || !high || !step || *step < 1) return std::nullopt;
  return Integers{*low, *high, *step};
}

std::uint64_t seed_of(const std::string& text) { return hash64(text.data(), text.size()); }

class Draws {
 public:
  Draws(const Family& family, std::uint64_t seed) : family_(family), random_(seed_of(cat(family.name, " ", seed))) {}

  // Fields that no row sets keep their defaults. It may be illegal.
  AnyProblem draw() {
    AnyProblem problem(family_);
    for (const char* row : family_.draws) {
      const std::vector<std::string_view> choices = split(row, '|');
      if (choices.empty()) throw wrong_row(family_, row, "it is empty");
      for (const std::string_view word : split(choices[random_() % choices.size()], ' ')) {
        if (!word.empty()) set(problem, row, word);
      }
    }
    return problem;
  }

 private:
  void set(AnyProblem& problem, std::string_view row, std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) throw wrong_row(family_, row, cat("\"", word, "\" is not FIELD=VALUE"));
    const std::string_view value = word.substr(equals + 1);
    const bool drawn = value.find("..") != std::string_view::npos;
    problem.set(word.substr(0, equals), drawn ? cat(integer(row, value)) : std::string(value));
  }

  // Its logarithm is uniform.
  std::int64_t integer(std::string_view row, std::string_view text) {
    const auto integers = parse_integers(text);
    const std::int64_t step = integers ? integers->step : 1;
    const std::int64_t least = integers ? (integers->low + step - 1) / step : 0;
    const std::int64_t most = integers ? integers->high / step : 0;
    if (least < 1 || most < least)
      throw wrong_row(family_, row, cat("\"", text, "\" is not LOW..HIGH or LOW..HIGH/STEP with 1 <= LOW <= HIGH"));
    const double uniform = static_cast<double>(random_() >> 11) * 0x1p-53;  // below 1
    const double low = std::log(static_cast<double>(least)), high = std::log(static_cast<double>(most) + 1);
    const auto drawn = static_cast<std::int64_t>(std::exp(low + uniform * (high - low)));
    return std::clamp(drawn, least, most) * step;
  }

  const Family& family_;
  std::mt19937_64 random_;
};

bool is_legal(const AnyProblem& problem) {
  try {
    check_problem(problem.family(), problem.data());
  } catch (const Error&) {
    return false;
  }
  const std::int64_t bytes = problem.family().bytes(problem.data());
  return bytes >= kLeastDrawnBytes && bytes <= kMostDrawnBytes;
}

}  // namespace

std::vector<AnyProblem> draw_problems(const Family& family, int count, std::uint64_t seed) {
  if (family.draws.count == 0)
    throw Error(Code::bad_input, Stage::tool,
                cat(family.name, " has no distribution to draw from; give its descriptor the table kDraws"));
  Draws draws(family, seed);
  std::vector<AnyProblem> problems;
  std::set<std::string> known;
  for (int tries = 0; static_cast<int>(problems.size()) < count; ++tries) {
    if (tries == kMostTries)
      throw Error(Code::bad_input, Stage::tool,
                  cat(family.name, ": none of ", kMostTries, " drawn problems is a new one that is legal and has ",
                      human_bytes(kLeastDrawnBytes), " to ", human_bytes(kMostDrawnBytes), " to move"));
    AnyProblem problem = draws.draw();
    if (const auto open = open_extents(family, problem.data()); !open.empty())
      throw wrong_row(family, "", cat("no row closes ", open.front()->name));
    if (!is_legal(problem) || !known.insert(problem.text()).second) continue;
    problems.push_back(std::move(problem));
    tries = -1;
  }
  return problems;
}

std::vector<AnyProblem> draw_problems(const Runtime& runtime, const std::vector<std::string>& names, int count,
                                      std::uint64_t seed) {
  std::vector<const Family*> families;
  for (const std::string& name : names) families.push_back(&runtime.family(name));
  if (names.empty()) families = runtime.families();
  std::vector<AnyProblem> problems;
  for (const Family* family : families) {
    if (names.empty() && family->draws.count == 0) continue;
    for (AnyProblem& problem : draw_problems(*family, count, seed)) problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace quern::tool
