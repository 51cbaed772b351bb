// Random expressions, which know their own text in several spellings and their value.
#ifndef QUERN_TESTS_SUPPORT_DRAWN_H_
#define QUERN_TESTS_SUPPORT_DRAWN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "support/naive.h"

namespace quern::test::expressions {

// QUERN_TEST_SEED, or another one each time. Printed.
std::uint64_t seed_of_run();

struct Drawn;
using DrawnPointer = std::shared_ptr<const Drawn>;

struct Drawn {
  enum class Form : std::uint8_t { input, number, constant, infix, prefix, call, slope, round };
  Form form;
  std::string name;  // of the input, the operator or the function
  double value = 0;  // of a number
  std::vector<DrawnPointer> arguments = {};
};

struct Vocabulary {
  std::vector<std::string> inputs = {"x", "y", "z"};
  bool rounds = true;
};

// A number, or a condition. No value is far from 1, and no function is outside its domain.
DrawnPointer draw(Random& random, const Vocabulary& words, int depth);
DrawnPointer draw_condition(Random& random, const Vocabulary& words, int depth);

// With parentheses around everything.
std::string plain_text(const Drawn& drawn);

// The same program another way: random spaces, comments and new lines, numbers as 2.0 or 2e0, parentheses where they
// are not needed, locals of any names.
class OtherSpelling {
 public:
  explicit OtherSpelling(Random& random) : random_(random) {}
  // The value; its locals are before it in `statements`.
  std::string text(const Drawn& drawn);
  std::string space();
  std::string separator();
  std::string statements;

 private:
  std::string arguments(const Drawn& drawn, const char* between);

  Random& random_;
  int locals_ = 0;
};

// Whether the input is in it.
bool reads(const Drawn& drawn, const std::string& input);

template <class T>
using Inputs = std::function<T(const std::string& name)>;

template <class T>
T value_of(const Drawn& drawn, const Inputs<T>& inputs);

inline bool holds(const Drawn& drawn, const std::vector<double>& values) {
  if (drawn.name == "and") return values[0] != 0 && values[1] != 0;
  if (drawn.name == "or") return values[0] != 0 || values[1] != 0;
  return naive_compares(drawn.name, values[0], values[1]);
}

template <class T>
T value_of_call(const Drawn& drawn, const std::vector<T>& v) {
  if (drawn.name == "where") return plain(v[0]) != 0 ? v[1] : v[2];
  if (drawn.name == "fma") return v[0] * v[1] + v[2];
  if (drawn.name == "clamp") return plain(v[0]) < plain(v[1]) ? v[1] : plain(v[0]) > plain(v[2]) ? v[2] : v[0];
  const T alpha = v.size() == 2                ? v[1]
                  : drawn.name == "elu"        ? T(1.0)
                  : drawn.name == "leaky_relu" ? T(static_cast<double>(0.01F))
                  : drawn.name == "qgelu"      ? T(static_cast<double>(1.702F))
                  : drawn.name == "situ"       ? T(4.0)
                                               : T(0.0);
  const T activated = naive_activation(drawn.name, v[0], alpha);
  if (!std::isnan(plain(activated)) || std::isnan(plain(v[0]))) return activated;
  return v.size() == 1 ? naive_of_one(drawn.name, v[0]) : naive_of_two(drawn.name, v[0], v[1]);
}

// The derivative of an activation, by one more level of dual numbers.
template <class T>
T value_of_slope(const Drawn& drawn, const std::vector<T>& v) {
  Drawn value = drawn;
  value.name.resize(value.name.size() - std::string("_slope").size());
  std::vector<Dual<T>> up = {{v[0], T(1.0)}};
  if (v.size() > 1) up.push_back({v[1], T(0.0)});
  return value_of_call(value, up).d;
}

template <class T>
T value_of(const Drawn& drawn, const Inputs<T>& inputs) {
  using Form = Drawn::Form;
  if (drawn.form == Form::input) return inputs(drawn.name);
  if (drawn.form == Form::number || drawn.form == Form::constant) return T(drawn.value);
  std::vector<T> values;
  for (const DrawnPointer& argument : drawn.arguments) values.push_back(value_of(*argument, inputs));
  if (drawn.form == Form::slope) return value_of_slope(drawn, values);
  if (drawn.form == Form::call) return value_of_call(drawn, values);
  if (drawn.form == Form::round) return naive_of_one("round", values[0]);
  if (drawn.name == "not") return T(plain(values[0]) == 0 ? 1.0 : 0.0);
  if (drawn.form == Form::prefix) return naive_of_one("-", values[0]);
  if (std::string("+-*/").find(drawn.name) != std::string::npos) return naive_of_two(drawn.name, values[0], values[1]);
  return T(holds(drawn, {plain(values[0]), plain(values[1])}) ? 1.0 : 0.0);
}

}  // namespace quern::test::expressions

#endif  // QUERN_TESTS_SUPPORT_DRAWN_H_
