// The command line's queries of a store: its entries, their keys, one of them.
#include <algorithm>
#include <map>

#include "cache/store.h"
#include "support.h"

namespace quern::cache {
namespace {

TEST(Store, ListsLoadsAndClears) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  store.put(key_named("gather"), image("one"));
  store.put(key_named("gather", "other"), prewarmed("two"));
  store.put(key_named("rope"), image("three"));
  overwrite(path_of(scratch, key_named("rope")), "damaged");
  const auto items = store.list();
  ASSERT_EQ(items.size(), 3U);
  for (const Item& item : items) {
    std::string why;
    const auto entry = store.load(item.key, &why);
    EXPECT_EQ(entry == nullptr, !item.damage.empty()) << why;
    EXPECT_EQ(item.bytes, std::filesystem::file_size(item.layer + "/" + item.key));
    EXPECT_EQ(item.kernel, entry ? "quern_gather" : "");
    EXPECT_EQ(item.prewarmed, entry && entry->prewarmed);
  }
  EXPECT_EQ(store.clear(), 3U);
  EXPECT_TRUE(store.list().empty());
  EXPECT_TRUE(files_below(scratch / "cache").empty());
  EXPECT_EQ(store.find(key_named("gather")), nullptr);
}

// Listing 100,000 entries took 3.6 s and more while all of their bytes were read.
TEST(Store, AListByHeadersReadsTheBeginningsAlone) {
  class CountedReads : public ForwardingFileSystem {
   public:
    long read(int file, void* to, std::size_t bytes) override {
      return count(ForwardingFileSystem::read(file, to, bytes));
    }
    long read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) override {
      return count(ForwardingFileSystem::read_at(file, to, bytes, offset));
    }
    long count(long got) {
      most = std::max(most, got);
      return got;
    }
    long most = 0;
  };
  const Scratch scratch;
  Entry large = image(std::string(1'000'000, 'x'));
  large.compiler = std::string(9000, 'c');
  {
    Store store(in(scratch / "cache"), silent());
    store.put(key_named("large"), large);
    store.put(key_named("flipped"), image(std::string(8000, 'y')));
    store.put(key_named("short"), image(std::string(8000, 'z')));
  }
  const std::string flipped = path_of(scratch, key_named("flipped"));
  std::string bytes = *read_file(flipped);
  bytes[bytes.size() - 100] ^= 1;
  overwrite(flipped, bytes);
  std::filesystem::resize_file(path_of(scratch, key_named("short")), 7000);
  CountedReads files;
  Store store(in(scratch / "cache"), silent(), files);
  std::map<std::string, Item> by_key;
  for (Item& item : store.list(Check::header)) by_key[item.key] = std::move(item);
  EXPECT_LT(files.most, 20'000);
  EXPECT_EQ(by_key[key_named("large").path()].compiler, large.compiler);
  EXPECT_EQ(by_key[key_named("large").path()].what, key_named("large").what);
  EXPECT_EQ(by_key[key_named("flipped").path()].damage, "") << "a checksum takes the whole file";
  EXPECT_NE(by_key[key_named("short").path()].damage.find("size is 7000 bytes"), std::string::npos);
  for (Item& item : store.list()) by_key[item.key] = std::move(item);
  EXPECT_EQ(by_key[key_named("flipped").path()].damage, "the checksum differs");
}

TEST(Store, KeysAreFoundWithoutOpeningAFile) {
  const Scratch scratch;
  test::InterceptedFiles files;
  Store store(in(scratch / "cache"), silent(), files);
  for (const char* name : {"a", "b", "c"}) store.put(key_named(name), image());
  int opened = 0;
  files.set_hook([&](const test::FileCall& call) {
    opened += call.name == std::string("open") ? 1 : 0;
    return 0L;
  });
  EXPECT_EQ(store.keys("").size(), 3U);
  const std::string key = key_named("b").path();
  for (const std::size_t length : {std::size_t{8}, std::size_t{40}, key.size()})
    EXPECT_EQ(store.keys(key.substr(0, length)), std::vector<std::string>{key});
  EXPECT_TRUE(store.keys(key + "0").empty());
  EXPECT_TRUE(store.keys("x").empty());
  EXPECT_EQ(opened, 0);
}

TEST(Store, LoadHandsOutNoOtherKeysImage) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  store.put(key_named("a"), image("a"));
  store.put(key_named("b"), image("b"));
  store.flush();
  const std::string a = path_of(scratch, key_named("a"));
  const std::string b = path_of(scratch, key_named("b"));
  const std::string bytes = *read_file(a);
  overwrite(a, *read_file(b));
  overwrite(b, bytes);
  for (const char* name : {"a", "b"}) {
    std::string why;
    EXPECT_EQ(store.load(key_named(name).path(), &why), nullptr);
    EXPECT_EQ(why, "holds another key's entry");
  }
}

TEST(Store, LoadTakesNothingButKeys) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  overwrite(scratch / "secret", "x");
  std::string why;
  EXPECT_EQ(store.load("../secret", &why), nullptr);
  EXPECT_NE(why.find("invalid key"), std::string::npos);
  EXPECT_EQ(store.load(key_named("a").path(), &why), nullptr);
  EXPECT_EQ(why, "No such file or directory");
}

}  // namespace
}  // namespace quern::cache
