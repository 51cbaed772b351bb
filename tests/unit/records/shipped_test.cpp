// The records that families ship with: each decides for its own problem, in the tuning space as it is now. A change of
// a space must take its records along.
#include <gtest/gtest.h>

#include "base/text.h"
#include "driver/device.h"
#include "plan/config.h"
#include "plan/variants.h"
#include "quern/families.h"
#include "quern/runtime.h"
#include "records/lookup.h"
#include "records/record_layers.h"

namespace quern {
namespace {

Target target_named(const std::string& text) { return {std::stoi(text.substr(3)), text.back() == 'a' ? "a" : ""}; }

TEST(ShippedRecords, EachDecidesForItsOwnProblem) {
  std::size_t all = 0;
  for (const Family* family : Runtime().families()) {
    const ReadRecords shipped = parse_records(shipped_records(*family), family->name);
    EXPECT_TRUE(shipped.damaged.empty()) << family->name;
    std::vector<const Record*> pointers;
    for (const ReadRecord& item : shipped.records) pointers.push_back(&item.record);
    const FamilyRecords known(*family, pointers, Log(LogLevel::off, {}));
    EXPECT_EQ(known.size(), pointers.size()) << family->name << ": a record's config is not in the tuning space";
    Runtime runtime;
    for (const Record* record : pointers) {
      const Step* const named = step_of_config(*family, record->config);
      ASSERT_NE(named, nullptr) << record->config;
      const Step& step = *named;
      EXPECT_EQ(record->space_digest, space_digest(step)) << record->problem;
      const AnyProblem problem = runtime.parse(record->problem);
      const Target target = target_named(record->target);
      const Config base =
          variants_of(*family, step, problem.data(), target, generic_model(target.arch), {}).front().config;
      const auto found = known.find({problem.data(), target, record->device, base, &step});
      ASSERT_TRUE(found) << record->problem;
      EXPECT_EQ(record->config, config_text(step, problem.data(), found->config)) << record->problem;
      EXPECT_TRUE(found->exact && found->record == record) << record->problem;
      ++all;
    }
  }
  EXPECT_EQ(all, 89U);
}

}  // namespace
}  // namespace quern
