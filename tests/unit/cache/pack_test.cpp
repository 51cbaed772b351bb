// The pack format, export and import.
#include "cache/pack.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/transfer.h"
#include "support.h"

namespace quern::cache {
namespace {

class Pack : public ::testing::Test {
 protected:
  void SetUp() override {
    Store store(in(scratch_ / "cache"), silent());
    for (const char* name : {"a", "b", "c"}) store.put(key_named(name), image(name));
    store.put(key_named("a", "13.0.99"), prewarmed("newer a", 99));
    const Transfer done = export_pack(store, path_);
    EXPECT_EQ(done.entries, 4U);
    EXPECT_EQ(done.bytes, std::filesystem::file_size(path_));
    EXPECT_EQ(done.damaged, 0U);
  }
  std::optional<PackIndex> index(std::string* why = nullptr) const {
    const OpenFile file(real_file_system(), path_, O_RDONLY);
    return read_pack_index(real_file_system(), file.get(), std::filesystem::file_size(path_), why);
  }
  // The number of the four images that a store with only this pack serves.
  int served() const {
    StoreSettings settings = in("", CacheMode::read_only, CacheMatch::exact);
    settings.layers = {path_};
    Store store(settings, silent());
    int count = 0;
    for (const char* name : {"a", "b", "c"}) {
      const EntryPointer entry = store.find(key_named(name));
      if (!entry) continue;
      EXPECT_EQ(entry->cubin, name);
      ++count;
    }
    const EntryPointer newer = store.find(key_named("a", "13.0.99"));
    EXPECT_TRUE(!newer || newer->cubin == "newer a");
    return count + (newer ? 1 : 0);
  }

  Scratch scratch_;
  const std::string path_ = scratch_ / "all.pack";
};

TEST_F(Pack, HoldsEveryEntryInOrder) {
  const auto read = index();
  ASSERT_TRUE(read);
  ASSERT_EQ(read->rows().size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_LT(read->rows()[i - 1].key(), read->rows()[i].key());
  EXPECT_EQ(read->find(key_named("a").what_hash).size(), 2U);
  EXPECT_EQ(read->find(key_named("d").what_hash).size(), 0U);
  EXPECT_EQ(served(), 4);
}

TEST_F(Pack, TheSameEntriesGiveTheSameBytes) {
  Store store(in(scratch_ / "cache"), silent());
  export_pack(store, scratch_ / "again.pack");
  EXPECT_EQ(read_file(scratch_ / "again.pack"), read_file(path_));
}

// Whatever byte is changed, the served images are correct, and at least one is missed.
TEST_F(Pack, EverySingleByteFlipIsFound) {
  const std::string good = *read_file(path_);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] ^= static_cast<char>(1 << (i % 8));
    overwrite(path_, bytes);
    ASSERT_LT(served(), 4) << i;
  }
}

TEST_F(Pack, EveryTruncationAndAdditionIsFound) {
  const std::string good = *read_file(path_);
  for (std::size_t size = 0; size < good.size(); size += 7) {
    overwrite(path_, good.substr(0, size));
    ASSERT_EQ(served(), 0) << size;
  }
  overwrite(path_, good + "x");
  EXPECT_EQ(served(), 0);
}

TEST_F(Pack, ReasonsSayWhatIsWrong) {
  const std::string good = *read_file(path_);
  const auto why = [&](const std::string& bytes) {
    overwrite(path_, bytes);
    std::string reason;
    EXPECT_FALSE(index(&reason));
    return reason;
  };
  EXPECT_NE(why("x" + good.substr(1)).find("first bytes"), std::string::npos);
  EXPECT_NE(why("").find("too short"), std::string::npos);
  std::string schema = good;
  schema[8] = 9;
  EXPECT_NE(why(schema).find("schema"), std::string::npos);
  EXPECT_NE(why(good + "x").find("bytes"), std::string::npos);
}

TEST_F(Pack, WhatIsCutShortWhileItIsOpenIsAMiss) {
  StoreSettings settings = in("", CacheMode::read_only);
  settings.layers = {path_};
  Store store(settings, silent());
  EXPECT_NE(store.find(key_named("a")), nullptr);
  std::filesystem::resize_file(path_, 30);
  EXPECT_EQ(store.find(key_named("b")), nullptr);
  EXPECT_EQ(store.find(key_named("c")), nullptr);
  EXPECT_EQ(store.counters().unreadable, 1U);
  EXPECT_EQ(store.counters().refused, 1U) << "the file now at that path is not a pack";
}

TEST_F(Pack, IsReplacedUnderAReaderWithoutHarm) {
  StoreSettings settings = in("", CacheMode::read_only);
  settings.layers = {path_};
  Store store(settings, silent());
  EXPECT_NE(store.find(key_named("a")), nullptr);
  Store empty(in(scratch_ / "empty"), silent());
  export_pack(empty, path_);
  EXPECT_NE(store.find(key_named("b")), nullptr) << "the file that was opened";
}

TEST_F(Pack, ImportBringsEveryEntryMarkedAsMadeForAll) {
  Store store(in(scratch_ / "other"), silent());
  const Transfer done = import_pack(store, path_);
  EXPECT_EQ(done.entries, 4U);
  EXPECT_EQ(done.known, 0U);
  const Transfer again = import_pack(store, path_);
  EXPECT_EQ(again.entries, 0U);
  EXPECT_EQ(again.known, 4U);
  Store later(in(scratch_ / "other"), silent());
  EXPECT_EQ(later.find(key_named("b", "another compiler"))->cubin, "b");
  EXPECT_EQ(later.find(key_named("a", "another compiler"))->cubin, "a");
}

TEST_F(Pack, ImportMarksWhatWasMadeOnDemandHereToo) {
  Store store(in(scratch_ / "other"), silent());
  store.put(key_named("b"), image("b"));
  EXPECT_EQ(store.find(key_named("b", "another compiler")), nullptr);
  EXPECT_EQ(import_pack(store, path_).entries, 4U);
  Store later(in(scratch_ / "other"), silent());
  EXPECT_NE(later.find(key_named("b", "another compiler")), nullptr);
}

// 500 images were "imported" into a cache of 6, and the ones in use were evicted.
TEST_F(Pack, ThatIsLargerThanTheLimitsIsNotImported) {
  for (const Limits& limits : {Limits{std::uint64_t{1} << 30, 3}, Limits{20'000, 1000}}) {
    const Scratch scratch;
    StoreSettings settings = in(scratch / "cache");
    settings.writer.limits = limits;
    Store store(settings, silent());
    store.put(key_named("in use"), image());
    try {
      import_pack(store, path_);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(error.sentence.find("has 4 images"), std::string::npos) << error.sentence;
      EXPECT_NE(error.sentence.find("QUERN_CACHE_MAX_ENTRIES"), std::string::npos) << error.sentence;
    }
    EXPECT_EQ(store.list().size(), 1U);
    EXPECT_NE(Store(settings, silent()).find(key_named("in use")), nullptr);
  }
}

TEST_F(Pack, ADamagedEntryIsLeftOutOfAnImport) {
  std::string bytes = *read_file(path_);
  bytes[bytes.find("newer a")] ^= 1;
  overwrite(path_, bytes);
  Store store(in(scratch_ / "other"), silent());
  const Transfer done = import_pack(store, path_);
  EXPECT_EQ(done.entries, 3U);
  EXPECT_EQ(done.damaged, 1U);
}

Entry entry_named(const std::string& name) {
  Entry entry = image(name);
  entry.what = key_named(name).what;
  entry.who = key_named(name).who;
  return entry;
}

TEST_F(Pack, IsAddedTo) {
  const auto entry = std::make_shared<const Entry>(entry_named("d"));
  EXPECT_EQ(add_to_pack({entry}, path_).entries, 5U);
  EXPECT_EQ(served(), 4);
  EXPECT_EQ(add_to_pack({entry}, scratch_ / "new.pack").entries, 1U);
  EXPECT_THROW(add_to_pack({}, scratch_ / "cache"), Error);
}

TEST_F(Pack, ThatManyProcessesAddToLosesNothing) {
  constexpr int kProcesses = 8;
  const std::string path = scratch_ / "shared.pack";
  std::vector<::pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int part = 0; part < 2; ++part)
      add_to_pack({std::make_shared<const Entry>(entry_named(cat(i, " ", part)))}, path);
    ::_exit(0);
  }
  for (const ::pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  Store store(in(scratch_ / "other"), silent());
  EXPECT_EQ(import_pack(store, path).entries, 2U * kProcesses);
}

TEST_F(Pack, WhatAKilledWriterLeftIsTakenByTheNext) {
  const std::string path = scratch_ / "packs/killed.pack";
  std::filesystem::create_directories(scratch_ / "packs");
  const ::pid_t child = ::fork();
  if (child == 0) {
    PackWriter writer(real_file_system(), path);
    writer.add(entry_named("never there"));
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(files_below(scratch_ / "packs").size(), 1U);
  EXPECT_EQ(add_to_pack({std::make_shared<const Entry>(entry_named("a"))}, path).entries, 1U);
  EXPECT_EQ(files_below(scratch_ / "packs"), std::vector<std::string>{path});
}

TEST_F(Pack, AWriterThatIsStuckIsNotWaitedForForEver) {
  const std::string path = scratch_ / "stuck.pack";
  const PackWriter stuck(real_file_system(), path);
  try {
    const PackWriter other(real_file_system(), path, std::chrono::milliseconds(30));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::io);
    EXPECT_NE(error.sentence.find(".stuck.pack.staging"), std::string::npos) << error.sentence;
  }
}

// As on a file system without locks.
class NoLocks : public ForwardingFileSystem {
 public:
  long try_lock(int) override { return -ENOLCK; }
};

TEST_F(Pack, IsWrittenWhereThereAreNoLocks) {
  NoLocks files;
  const std::string path = scratch_ / "packs/unlocked.pack";
  std::filesystem::create_directories(scratch_ / "packs");
  PackWriter first(files, path);
  PackWriter second(files, path);
  for (PackWriter* writer : {&first, &second}) {
    writer->add(entry_named("a"));
    writer->finish();
  }
  EXPECT_EQ(files_below(scratch_ / "packs"), std::vector<std::string>{path});
  Store store(in(scratch_ / "other"), silent());
  EXPECT_EQ(import_pack(store, path).entries, 1U);
}

TEST_F(Pack, ADamagedEntryThatIsAddedToIsCounted) {
  std::string bytes = *read_file(path_);
  bytes[bytes.find("newer a")] ^= 1;
  overwrite(path_, bytes);
  const Transfer done = add_to_pack({std::make_shared<const Entry>(entry_named("d"))}, path_);
  EXPECT_EQ(done.entries, 4U);
  EXPECT_EQ(done.damaged, 1U);
}

TEST_F(Pack, ThatCannotBeWrittenLeavesNothingBehind) {
  Store store(in(scratch_ / "cache"), silent());
  try {
    export_pack(store, scratch_ / "no/such/folder.pack");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_NE(error.sentence.find("no/such: No such file or directory"), std::string::npos) << error.sentence;
  }
}

}  // namespace
}  // namespace quern::cache
