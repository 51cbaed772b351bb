// What activations.cuh has for a GPU alone, on this CPU: its formulas, with each instruction replaced by the function
// that it approximates. That the instructions are as exact as they promise is for the gpu tier.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>

#include "common/activation_reference.h"
#include "support/scratch.h"
#include "unit/api/fake_nvrtc.h"

namespace quern::common {
namespace {

constexpr const char* kSource = R"(
#include "common/activation_reference.h"
using namespace quern::common;
using Function = float (*)(float x, float a);
#define VALUE(name, ...) [](float x, float a) { return activate<Activation::name>(x, a, NarrowStore()); },
#define SLOPE(name, ...) [](float x, float a) { return activate_derivative<Activation::name>(x, a, NarrowStore()); },
extern "C" {
extern const Function narrow_values[], narrow_slopes[];
const Function narrow_values[] = {QUERN_ACTIVATIONS(VALUE)};
const Function narrow_slopes[] = {QUERN_ACTIVATIONS(SLOPE)};
}
)";

std::string replaced(const std::string& text, const char* pattern, const char* by) {
  EXPECT_TRUE(std::regex_search(text, std::regex(pattern))) << "activations.cuh no longer has: " << pattern;
  return std::regex_replace(text, std::regex(pattern), by);
}

// The file as a GPU's compiler sees it.
std::string device_text() {
  std::ifstream file(QUERN_TESTS "/../templates/common/activations.cuh");
  std::ostringstream all;
  all << file.rdbuf();
  std::string text = replaced(all.str(), "#ifdef __CUDA_ARCH__", "#if 1");
  text = replaced(text, R"re(asm\("rcp\.approx[^"]*" : "=f"\((\w+)\) : "f"\(([^;]*)\)\);)re", "$1 = 1.0f / ($2);");
  text = replaced(text, R"re(asm\("ex2\.approx[^"]*" : "=f"\((\w+)\) : "f"\(([^;]*)\)\);)re", "$1 = exp2f($2);");
  text = replaced(text, R"re(asm\("max\.NaN[^"]*" : "=f"\((\w+)\) : "f"\((\w+)\), "f"\(([^;]*)\)\);)re",
                  "$1 = $2 > ($3) || $2 != $2 ? $2 : ($3);");
  EXPECT_EQ(text.find("asm("), std::string::npos) << "an instruction that this test has no function for";
  return text;
}

using Function = float (*)(float x, float a);
struct Functions {
  const Function* values = nullptr;
  const Function* slopes = nullptr;
};

Functions device_functions() {
  const test::Scratch scratch;
  std::filesystem::create_directories(scratch / "common");
  std::ofstream(scratch / "common/activations.cuh") << device_text();
  std::ofstream(scratch / "functions.cpp") << kSource;
  const std::string path = scratch / "functions.so";
  std::string words;
  const bool made = test::run_compiler("-std=c++20 -O1 -shared -fPIC -ffp-contract=off -I" + scratch.path() + " -I" +
                                           QUERN_TESTS "/../templates -I" QUERN_TESTS "/../include -o " + path + " " +
                                           scratch / "functions.cpp",
                                       &words);
  EXPECT_TRUE(made) << words;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  return {static_cast<const Function*>(dlsym(library, "narrow_values")),
          static_cast<const Function*>(dlsym(library, "narrow_slopes"))};
}

class DeviceBranches : public testing::Test {
 protected:
  void SetUp() override {
    static const Functions functions = device_functions();
    functions_ = functions;
    ASSERT_NE(functions_.values, nullptr);
    ASSERT_NE(functions_.slopes, nullptr);
  }
  // Within an error that no 16-bit type shows, or within gelu's bound.
  static void expect_near(float got, double want, double absolute, const char* name, float x) {
    ASSERT_NEAR(got, want, std::max(std::abs(want) * 0x1p-13, absolute)) << name << " at " << x;
  }
  Functions functions_;
};

TEST_F(DeviceBranches, ValuesAreThoseOfTheFormulas) {
  for (std::size_t i = 0; i < std::size(kActivationRows); ++i) {
    const ActivationRow& row = kActivationRows[i];
    for (int step = -12000; step <= 12000; ++step) {
      const float x = (static_cast<float>(step) + 0.37F) / 600;
      expect_near(functions_.values[i](x, row.alpha), row.reference(x, row.alpha), 1e-6, row.name, x);
    }
  }
}

TEST_F(DeviceBranches, DerivativesAreThoseOfTheHost) {
  for (std::size_t i = 0; i < std::size(kActivationRows); ++i) {
    const ActivationRow& row = kActivationRows[i];
    for (int step = -12000; step <= 12000; ++step) {
      const float x = (static_cast<float>(step) + 0.37F) / 600;
      expect_near(functions_.slopes[i](x, row.alpha), row.derivative(x, row.alpha), 3e-6, row.name, x);
    }
  }
}

TEST_F(DeviceBranches, WhatIsNotFiniteStaysSo) {
  for (std::size_t i = 0; i < std::size(kActivationRows); ++i) {
    const ActivationRow& row = kActivationRows[i];
    EXPECT_TRUE(std::isnan(functions_.values[i](NAN, row.alpha))) << row.name;
    for (const float x : {HUGE_VALF, -HUGE_VALF}) {
      const float got = functions_.values[i](x, row.alpha), want = row.value(x, row.alpha);
      EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << row.name << " at " << x << ": " << got;
    }
  }
}

}  // namespace
}  // namespace quern::common
