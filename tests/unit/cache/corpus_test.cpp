// The inputs kept from fuzzing, run through the same functions.
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <vector>

#include "base/files.h"
#include "fuzz/targets.h"

namespace quern::fuzz {
namespace {

struct Target {
  const char* name;
  void (*run)(std::string_view);
  friend std::ostream& operator<<(std::ostream& out, const Target& target) { return out << target.name; }
};
#define QUERN_FUZZ_ROW(name) {#name, name},
constexpr Target kTargets[] = {QUERN_FUZZ_TARGETS(QUERN_FUZZ_ROW)};
#undef QUERN_FUZZ_ROW

// In memory of exactly their size, so that a sanitizer detects a read past the end.
std::vector<char> bytes_of(const std::string& path) {
  const std::string text = read_file(path).value();
  return {text.begin(), text.end()};
}

class Corpus : public testing::TestWithParam<Target> {};

TEST_P(Corpus, HoldsNoFinding) {
  int inputs = 0;
  for (const auto& input :
       std::filesystem::directory_iterator(std::string(QUERN_TESTS "/fuzz/corpus/") + GetParam().name)) {
    const std::vector<char> bytes = bytes_of(input.path().string());
    EXPECT_NO_THROW(GetParam().run({bytes.data(), bytes.size()})) << input.path();
    ++inputs;
  }
  EXPECT_GT(inputs, 0);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace quern::fuzz
