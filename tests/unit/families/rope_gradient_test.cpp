// rope's gradient in every form: the adjoint of the forward pass, and what finite differences give.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sanitizers.h"
#include "testbench/operands.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using Values = std::vector<float>;

// A form of f32, of which both passes have the same table, positions and sequences.
class Form {
 public:
  Form(const std::string& fields, const std::string& rank)
      : forward_(test::problem("rope dtype=f32 pass=forward " + fields)),
        backward_(test::problem("rope dtype=f32 pass=backward " + fields)),
        given_(forward_.family(), forward_.data()),
        scalars_(forward_.family()) {
    given_.generate(3, false);
    if (!rank.empty()) scalars_.parse_scalar("cp_rank", rank);
    Random random(4);
    for (const int q_or_k : {0, 1}) count_ += static_cast<std::size_t>(given_.bytes(q_or_k)) / sizeof(float);
    // Generated angles have infinities.
    const int angles = place("angles");
    for (std::int64_t at = 0; at < given_.bytes(angles); at += 4) {
      const auto angle = static_cast<float>(8 * random.unit() - 4);
      std::memcpy(given_.data(angles) + at, &angle, sizeof(angle));
    }
  }

  // Elements of q and k together.
  std::size_t count() const { return count_; }
  Values forward(const Values& x) const { return run(forward_, x); }
  Values backward(const Values& y) const { return run(backward_, y); }

 private:
  int place(const std::string& name) const {
    int i = 0;
    while (given_.name(i) != name) ++i;
    return i;
  }

  // Tokens of no sequence are not written, and stay 0.
  Values run(const AnyProblem& problem, const Values& x) const {
    HostOperands host(problem.family(), problem.data());
    for (int i = 0; i < host.size(); ++i) {
      if (host.bytes(i) != 0) std::memcpy(host.data(i), given_.data(i), static_cast<std::size_t>(host.bytes(i)));
    }
    const float* from = x.data();
    for (const char* name : {"q", "k"}) {
      const int in = place(name), out = place(std::string(name) + "_out");
      const auto size = static_cast<std::size_t>(host.bytes(in));
      if (size == 0) continue;
      std::memcpy(host.data(in), from, size);
      std::memset(host.data(out), 0, size);
      from += size / sizeof(float);
    }
    const HostOperands got = host.reference(scalars_);
    Values result;
    for (const char* name : {"q_out", "k_out"}) {
      const auto* const begin = reinterpret_cast<const float*>(got.data(place(name)));
      result.insert(result.end(), begin, begin + got.bytes(place(name)) / 4);
    }
    return result;
  }

  AnyProblem forward_, backward_;
  HostOperands given_;
  AnyArgs scalars_;
  std::size_t count_ = 0;
};

// Numbers from -4 to 4, as those of the tables; so a product of two of them and a sum of two such are below 32.
constexpr double kLargest = 32;

Values numbers(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  Values values(count);
  for (float& value : values) value = static_cast<float>(8 * random.unit() - 4);
  return values;
}

double product(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

struct Shared {
  std::string fields, rank;
};
const std::vector<Shared>& forms() {
  static const std::vector<Shared> forms = [] {
    std::vector<Shared> all;
    const std::string shape = "batch=2 seq=4 heads=2 kv_heads=1 ", dims = "head_dim=10 rotary_dim=8 rotary_offset=1 ";
    for (const char* style : {"style=half ", "style=interleaved "}) {
      for (const char* table : {"", "table=doubled ", "table=joined ", "table=angles ", "table=computed "}) {
        const std::string rest = shape + dims + style + table;
        all.push_back({rest, ""});
        all.push_back({rest + "layout=thd", ""});
        for (const char* rank : {"0", "1"}) {
          all.push_back({rest + "cp_size=2", rank});
          all.push_back({rest + "cp_size=2 layout=thd position=starts table_rows=" +
                             (table == std::string("table=computed ") ? "0" : "30"),
                         rank});
        }
        if (table == std::string("table=angles ")) continue;
        const std::string rows = table == std::string("table=computed ") ? "" : " table_rows=9";
        for (const char* sections : {"sections=1,3", "sections=2,1,1 section_style=interleaved",
                                     "sections=2,2 section_style=restarted", "sections=1,3 section_style=apart"})
          all.push_back({rest + "position=ids " + sections + rows, ""});
      }
    }
    return all;
  }();
  return forms;
}

// <rope(x), y> = <x, backward(y)>: the derivative of a linear map is its adjoint.
TEST(RopeGradient, IsTheAdjointInEveryForm) {
  for (const auto& [fields, rank] : forms()) {
    const Form form(fields, rank);
    const Values x = numbers(1, form.count()), y = numbers(2, form.count());
    const Values there = form.forward(x), back = form.backward(y);
    // Each element of a result is within 2^-23 of 32, and is multiplied by at most 4.
    const double bound = 2 * 0x1p-23 * kLargest * 4 * static_cast<double>(form.count());
    EXPECT_NEAR(product(there, y), product(x, back), bound) << fields << " " << rank;
    EXPECT_GT(std::abs(product(there, y) - product(x, y)), 0.1) << fields << " " << rank << ": nothing is rotated";
  }
}

// Differences of a linear map are exact but for roundings, at any distance.
TEST(RopeGradient, IsThatOfFiniteDifferencesInEveryForm) {
  constexpr std::size_t kStep = QUERN_ADDRESS_SANITIZER ? 7 : 1;
  for (const auto& [fields, rank] : forms()) {
    const Form form(fields, rank);
    const Values x = numbers(5, form.count()), y = numbers(6, form.count()), gradient = form.backward(y);
    for (std::size_t i = 0; i < form.count(); i += kStep) {
      Values above = x, below = x;
      above[i] += 1;
      below[i] -= 1;
      // The two elements of a pair have an error each, there and back.
      ASSERT_NEAR((product(form.forward(above), y) - product(form.forward(below), y)) / 2, gradient[i],
                  4 * 0x1p-23 * 1.25 * kLargest * 4)
          << fields << " " << rank << " " << i;
    }
  }
}

}  // namespace
}  // namespace quern
