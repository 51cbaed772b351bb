// Packs with entries of two zstd frames; a hit decompresses the first.
#include <algorithm>
#include <random>

#include "cache/codec.h"
#include "cache/pack.h"
#include "cache/transfer.h"
#include "support.h"

namespace quern::cache {
namespace {

Entry entry_with(const std::string& name, const std::string& cubin, const std::string& ptx) {
  Entry entry = image(cubin);
  entry.what = key_named(name).what;
  entry.who = key_named(name).who;
  entry.ptx = ptx;
  entry.source = "source of " + name;
  entry.log = "log of " + name;
  entry.created_unix_ns = 1;
  return entry;
}

std::string long_text(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += cat("mov.b32 %r", i % 61, ", %r", i % 59, ";\n");
  return text;
}

class CompressedPack : public ::testing::Test {
 protected:
  void SetUp() override { write({entry_with("a", "cubin of a", "ptx of a"), entry_with("b", "", "only ptx")}); }
  void write(const std::vector<Entry>& entries) {
    std::vector<EntryPointer> pointers;
    for (const Entry& entry : entries) pointers.push_back(std::make_shared<const Entry>(entry));
    std::filesystem::remove(path_);
    add_to_pack(pointers, path_, PackForm::compressed);
  }
  StoreSettings reading() const {
    StoreSettings settings = in("", CacheMode::read_only);
    settings.layers = {path_};
    return settings;
  }
  // The names of the served images; checks that each served image is correct.
  std::string served() const {
    std::string names;
    Store store(reading(), silent());
    const EntryPointer a = store.find(key_named("a")), b = store.find(key_named("b"));
    EXPECT_TRUE(!a || a->cubin == "cubin of a");
    EXPECT_TRUE(!b || (b->cubin.empty() && b->ptx == "only ptx"));
    return cat(a ? "a" : "", b ? "b" : "");
  }
  // The names of the entries that are complete.
  std::string sound() const {
    std::string keys;
    Store store(reading(), silent());
    for (const Item& item : store.list()) {
      if (item.damage.empty()) keys += item.key == key_named("a").path() ? "a" : "b";
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  // With a correct checksum of the index.
  void overwrite_sealed(std::string bytes, std::size_t index) {
    const std::string covered =
        bytes.substr(0, kPackHeaderBytes) + bytes.substr(index, bytes.size() - index - kChecksumBytes);
    bytes.resize(bytes.size() - kChecksumBytes);
    put_hash(bytes, hash128(covered));
    overwrite(path_, bytes);
  }

  Scratch scratch_;
  const std::string path_ = scratch_ / "a.pack";
};

TEST_F(CompressedPack, GivesBackWhatWasPutIn) {
  std::mt19937_64 random(7);
  std::vector<Entry> entries;
  for (int i = 0; i < 40; ++i) {
    const auto text = [&] {
      std::string bytes(random() % 5 == 0 ? 0 : random() % 3000, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random() % (1 + random() % 255));
      return bytes;
    };
    entries.push_back(entry_with(cat(i), text(), text()));
    entries.back().source = text();
    entries.back().log = text();
  }
  entries.push_back(entry_with("large", long_text(5'000'000), std::string(3'000'000, 'x')));
  write(entries);
  Store store(reading(), silent());
  for (const Entry& entry : entries) {
    const EntryPointer loaded = store.load(item_key_of(entry), nullptr);
    ASSERT_NE(loaded, nullptr);
    EXPECT_EQ(*loaded, entry);
    const EntryPointer hit = store.find({entry.what, entry.who, hash128(entry.what), hash128(entry.who)});
    ASSERT_NE(hit, nullptr);
    EXPECT_TRUE(hit->texts_elsewhere);
    EXPECT_EQ(hit->cubin, entry.cubin);
    EXPECT_EQ(hit->ptx, entry.cubin.empty() ? entry.ptx : "");
    EXPECT_EQ(hit->numbers, entry.numbers);
    EXPECT_EQ(*store.whole(hit), entry);
  }
  write({});
  EXPECT_EQ(served(), "");
}

TEST_F(CompressedPack, IsMuchSmaller) {
  const Entry entry = entry_with("a", long_text(20'000), long_text(60'000));
  write({entry});
  EXPECT_LT(std::filesystem::file_size(path_), 20'000U);
}

TEST_F(CompressedPack, EveryFlippedBitIsFound) {
  const std::string good = *read_file(path_);
  EXPECT_EQ(served(), "ab");
  EXPECT_EQ(sound(), "ab");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] ^= static_cast<char>(1 << (i % 8));
    overwrite(path_, bytes);
    ASSERT_NE(sound(), "ab") << i;
    served();  // the rest may be damaged, the head must be correct
  }
}

TEST_F(CompressedPack, EveryTruncationIsFound) {
  const std::string good = *read_file(path_);
  for (std::size_t size = 0; size < good.size(); size += 3) {
    overwrite(path_, good.substr(0, size));
    ASSERT_EQ(served(), "") << size;
  }
}

// Each number of a row, with correct checksums.
TEST_F(CompressedPack, RowsThatLieAreRefusedOrServeNobody) {
  const std::string good = *read_file(path_);
  const std::size_t index = good.size() - kPackFooterBytes - 2 * kCompressedRowBytes;
  const auto number_at = [&](std::size_t at) {
    return Reader(std::string_view(good).substr(at)).number<std::uint64_t>();
  };
  for (const std::size_t field : {32U, 40U, 64U, 72U, 80U}) {
    const std::uint64_t truth = number_at(index + field);
    for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{1}, truth - 1, truth + 1, 2 * truth,
                                    std::uint64_t{1} << 28, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
      std::string bytes = good;
      std::string number;
      put_number(number, lie);
      bytes.replace(index + field, number.size(), number);
      overwrite_sealed(bytes, index);
      ASSERT_NE(sound(), "ab") << field << ": " << lie;
      ASSERT_LE(served().size(), 2U);
    }
  }
}

// A few bytes that decompress to many: no more is written than the row states.
TEST_F(CompressedPack, AFrameThatUnpacksToMoreThanItsRowSaysIsDamaged) {
  write({entry_with("a", std::string(4'000'000, 'x'), ""), entry_with("b", "", "only ptx")});
  const std::string good = *read_file(path_);
  const std::size_t index = good.size() - kPackFooterBytes - 2 * kCompressedRowBytes;
  for (std::size_t row = index; row < index + 2 * kCompressedRowBytes; row += kCompressedRowBytes) {
    std::string bytes = good;
    std::string number;
    put_number(number, std::uint64_t{1000});
    bytes.replace(row + 72, number.size(), number);
    overwrite_sealed(bytes, index);
    EXPECT_EQ(sound().size(), 1U);
  }
}

TEST_F(CompressedPack, AHitReadsTheHeadAlone) {
  class CountedReads : public ForwardingFileSystem {
   public:
    long read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) override {
      const long got = ForwardingFileSystem::read_at(file, to, bytes, offset);
      total += got > 0 ? static_cast<std::size_t>(got) : 0;
      return got;
    }
    std::size_t total = 0;
  } files;
  std::mt19937_64 random(11);
  Entry entry = entry_with("a", "cubin", std::string(100'000, ' '));
  for (char& byte : entry.ptx) byte = static_cast<char>(random());
  write({entry});
  Store store(reading(), silent(), files);
  EXPECT_EQ(store.find(key_named("a"))->cubin, "cubin");
  EXPECT_LT(files.total, 5'000U);
}

TEST_F(CompressedPack, StaysCompressedWhenMoreIsAdded) {
  const EntryPointer more = std::make_shared<const Entry>(entry_with("c", long_text(50'000), ""));
  EXPECT_EQ(add_to_pack({more}, path_).entries, 3U);
  EXPECT_LT(std::filesystem::file_size(path_), 20'000U);
  EXPECT_EQ(sound().size(), 3U);
}

TEST_F(CompressedPack, ImportUnpacksAll) {
  Store store(in(scratch_ / "cache"), silent());
  EXPECT_EQ(import_pack(store, path_).entries, 2U);
  const EntryPointer loaded = Store(in(scratch_ / "cache"), silent()).find(key_named("a"));
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->ptx, "ptx of a");
  EXPECT_FALSE(loaded->texts_elsewhere);
}

// A hit has no texts, but a written entry must have them.
TEST_F(CompressedPack, AnEntryWithoutItsTextsIsNotWritten) {
  StoreSettings settings = in(scratch_ / "cache");
  settings.layers = {path_};
  Store store(settings, silent());
  Entry marked = *store.find(key_named("a"));
  marked.prewarmed = true;
  store.put(key_named("a"), marked);
  store.flush();
  const EntryPointer later = Store(in(scratch_ / "cache"), silent()).find(key_named("a"));
  EXPECT_TRUE(!later || later->ptx == "ptx of a");
}

TEST(Zstd, ThatIsMissingOrAnotherLibraryIsNotUsed) {
  EXPECT_FALSE(Zstd("libnone.so.1"));
  EXPECT_FALSE(Zstd("libc.so.6"));
  EXPECT_TRUE(Zstd("libzstd.so.1"));
}

}  // namespace
}  // namespace quern::cache
