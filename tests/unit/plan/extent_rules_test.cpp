// What a launch checks of an extent that it closes: as much as prepare does of the same problem with that extent.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "base/sanitizers.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

constexpr std::int64_t kExtents[] = {0,   1,   2,    31,    32,        33,        64,        96,
                                     127, 128, 4096, 65537, 1LL << 31, 1LL << 40, kMaxExtent};

std::int64_t some_extent(std::mt19937_64& random) { return kExtents[random() % std::size(kExtents)]; }

std::string some_value(const Field& field, std::mt19937_64& random) {
  if (field.kind == FieldKind::choice) {
    std::size_t count = 0;
    while (field.choices[count] != nullptr) ++count;
    return field.choices[random() % count];
  }
  if (field.kind == FieldKind::dtype) return kDTypes[random() % kDTypeCount].name;
  if (field.kind != FieldKind::list) return std::to_string(some_extent(random));
  const auto entry = [&] {
    return field.dtypes != 0 ? kDTypes[random() % kDTypeCount].name : std::to_string(some_extent(random));
  };
  std::string values = entry();
  for (std::uint64_t more = random() % 4; more > 0; --more) values += "," + entry();
  return values;
}

// A bench case with up to three other values, and with open extents.
AnyProblem some_open_problem(const Family& family, std::mt19937_64& random) {
  AnyProblem p = test::problem(family.bench_cases[static_cast<int>(random() % family.bench_cases.count)]);
  for (std::uint64_t changes = random() % 4; changes > 0; --changes) {
    const Field& field = family.fields[static_cast<int>(random() % family.fields.count)];
    try {
      p.set(field.name, some_value(field, random));
    } catch (const Error&) {  // of a type that the field does not take, say
    }
  }
  for (const LaunchExtent& extent : family.launch_extents) {
    const Field& field = *find_field(family, extent.field);
    if (field.may_be_open && random() % 4 != 0) p.set(field.name, "open");
  }
  return p;
}

class ExtentRules : public ::testing::TestWithParam<const Family*> {};
INSTANTIATE_TEST_SUITE_P(Plan, ExtentRules, ::testing::ValuesIn(builtin_families()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST_P(ExtentRules, RefuseWhatAllRulesRefuse) {
  const Family& family = *GetParam();
  std::mt19937_64 random(7);
  int accepted = 0, refused = 0;
  constexpr int kDrawn = QUERN_ADDRESS_SANITIZER ? 8000 : 40000;
  for (int i = 0; i < kDrawn; ++i) {
    AnyProblem p = some_open_problem(family, random);
    const std::vector<const Field*> open = open_extents(family, p.data());
    if (open.empty() || !family.check(p.data()).empty()) continue;
    for (const Field* field : open) set_integer(*field, p.data(), some_extent(random));
    const std::string sentence = family.check(p.data());
    ASSERT_EQ(family.check_extents(p.data()), sentence) << p.text();
    ++(sentence.empty() ? accepted : refused);
  }
  if (family.launch_extents.count == 0 || family.check_extents == family.check) return;
  EXPECT_GT(accepted, kDrawn / 80);
  EXPECT_GT(refused, kDrawn / 80);
}

}  // namespace
}  // namespace quern
