// Two versions of quern with different entry schemas share a directory: neither removes the other's images.
#include <gtest/gtest.h>

#include <sstream>

#include "cache/codec.h"
#include "cache/store.h"
#include "cache/transfer.h"
#include "support.h"

namespace quern::cache {
namespace {

constexpr std::size_t kSchemaAt = 8;

// An entry as a later quern would make it, as far as this one can know.
std::string of_schema(unsigned char schema, const Key& key) {
  Entry entry = image();
  entry.what = key.what;
  entry.who = key.who;
  std::string bytes = serialize(entry);
  bytes.resize(bytes.size() - kChecksumBytes);
  bytes[kSchemaAt] = static_cast<char>(schema);
  put_checksum(bytes);
  return bytes;
}

std::string contents(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

class Schemas : public testing::Test {
 protected:
  std::string path() const { return scratch_ / "cache/" + key_.path(); }
  void store_first() {
    Store store(in(scratch_ / "cache"), silent());
    store.put(key_, image());
  }
  const Scratch scratch_;
  const Key key_ = key_named("gather");
  Builder builder_;
};

TEST_F(Schemas, ALaterOnesEntryIsAMissAndStays) {
  const std::string later = of_schema(kEntrySchema + 1, key_);
  store_first();
  overwrite(path(), later);
  Store store(in(scratch_ / "cache"), silent());
  EXPECT_EQ(store.get_or_build(key_, builder_.build()).origin, Origin::built);
  store.flush();
  EXPECT_EQ(contents(path()), later) << "it was overwritten";
  EXPECT_EQ(store.counters().newer, 1U);
  EXPECT_EQ(store.counters().damaged, 0U);
  EXPECT_EQ(store.counters().not_stored, 1U);
}

TEST_F(Schemas, ALaterOnesNameIsNotOursToWrite) {
  const std::string later = of_schema(kEntrySchema + 1, key_);
  store_first();
  std::filesystem::remove(path());
  overwrite(path() + ".2", later);
  Store store(in(scratch_ / "cache"), silent());
  EXPECT_EQ(store.get_or_build(key_, builder_.build()).origin, Origin::built);
  store.flush();
  EXPECT_EQ(contents(path() + ".2"), later);
  Store again(in(scratch_ / "cache"), silent());
  EXPECT_EQ(again.get_or_build(key_, builder_.build()).origin, Origin::disk) << "both are there";
}

TEST_F(Schemas, TheListTellsLaterFromDamaged) {
  store_first();
  overwrite(path() + ".2", of_schema(kEntrySchema + 1, key_));
  overwrite(path() + ".3", "no entry");
  overwrite(path() + ".1", "no name of ours");
  overwrite(path() + ".x", "no name of ours");
  Store store(in(scratch_ / "cache"), silent());
  const std::vector<Item> items = store.list();
  ASSERT_EQ(items.size(), 3U);
  EXPECT_FALSE(items[0].newer || is_damaged(items[0]));
  EXPECT_TRUE(items[1].newer && !is_damaged(items[1])) << items[1].damage;
  EXPECT_TRUE(!items[2].newer && is_damaged(items[2])) << items[2].damage;
  EXPECT_EQ(export_pack(store, scratch_ / "all.pack").entries, 1U) << "an unreadable entry is not exported";
}

TEST_F(Schemas, AnotherSchemaWithoutItsChecksumIsDamage) {
  std::string bytes = of_schema(kEntrySchema + 1, key_);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_FALSE(is_of_newer_schema(bytes));
  EXPECT_FALSE(is_of_newer_schema(of_schema(0, key_))) << "an earlier one is not kept";
  EXPECT_TRUE(is_of_newer_schema(of_schema(kEntrySchema + 1, key_)));
  EXPECT_FALSE(is_of_newer_schema(""));
}

TEST_F(Schemas, LimitsAndClearTakeLaterOnesAsAllOthers) {
  store_first();
  overwrite(path() + ".2", of_schema(kEntrySchema + 1, key_));
  Store store(in(scratch_ / "cache"), silent());
  EXPECT_EQ(store.clear(), 2U);
  EXPECT_FALSE(std::filesystem::exists(path() + ".2"));
}

}  // namespace
}  // namespace quern::cache
