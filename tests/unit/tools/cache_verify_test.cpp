// `quern cache verify` and `prune --outdated` with images of other programs.
#include <gtest/gtest.h>

#include "api/runtime_state.h"
#include "cache/key.h"
#include "commands/cache_actions.h"
#include "quern/runtime.h"
#include "support/scratch.h"

namespace quern::tool {
namespace {

std::string what_of(int schema, const std::string& family, const std::string& source) {
  return cache::KeyText()
      .field("schema", std::to_string(schema))
      .field("family", family)
      .field("target", "sm_90a")
      .field("source", source)
      .text();
}

class Outdated : public testing::Test {
 protected:
  Outdated() : runtime_(options()) {}
  Options options() const {
    Options made;
    made.cache.directory = scratch_ / "cache";
    return made;
  }
  std::string why(int schema, const std::string& family) const {
    return why_outdated(runtime_, what_of(schema, family, "gather/gather.cu 0123"));
  }
  const test::Scratch scratch_;
  Runtime runtime_;
};

TEST_F(Outdated, AnApplicationsOwnFamilyIsNot) { EXPECT_EQ(why(cache::kKeySchema, "mine"), ""); }
TEST_F(Outdated, ALaterSchemaIsNot) { EXPECT_EQ(why(cache::kKeySchema + 1, "gather"), ""); }
TEST_F(Outdated, AnEarlierSchemaIs) { EXPECT_NE(why(cache::kKeySchema - 1, "gather"), ""); }
TEST_F(Outdated, AnotherSourceOfAFamilyThatIsHereIs) {
  EXPECT_EQ(why(cache::kKeySchema, "gather"), "made from another gather/gather.cu");
}

TEST_F(Outdated, PruneLeavesWhatAnApplicationMade) {
  cache::Store& store = runtime_.state().store;
  cache::Entry entry;
  entry.what = what_of(cache::kKeySchema, "mine", "mine/mine.cu 0123");
  entry.who = cache::KeyText().field("compiler", "made up").text();
  entry.kernel = "quern_mine";
  entry.cubin = "image";
  const cache::Key key = cache::make_key(entry.what, entry.who);
  store.put(key, entry);
  store.flush();
  ASSERT_EQ(store.list().size(), 1U);
  const Global global;
  CacheArguments arguments;
  arguments.outdated = true;
  arguments.json = true;
  arguments.global = &global;
  testing::internal::CaptureStdout();
  EXPECT_EQ(cache_prune(runtime_, arguments), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("\"outdated\":0"), std::string::npos) << out;
  EXPECT_EQ(store.list().size(), 1U);
}

}  // namespace
}  // namespace quern::tool
