// The footer of a pack is parsed before any checksum is verified.
#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "cache/codec.h"
#include "cache/pack.h"
#include "support.h"
#include "support/memory_files.h"

namespace quern::cache {
namespace {

std::string empty_pack() {
  test::MemoryFiles files;
  PackWriter(files, "/empty.pack").finish();
  std::string bytes;
  FileStatus status;
  EXPECT_EQ(read_whole(files, "/empty.pack", 1000, &bytes, &status), 0);
  return bytes;
}

// A pack with a footer that puts the index at `offset`.
std::string pack_with_index_at(std::uint64_t offset) {
  std::string bytes = empty_pack();
  std::string number;
  put_number(number, offset);
  return bytes.replace(bytes.size() - kPackFooterBytes + 8, number.size(), number);
}

TEST(PackFooter, AnIndexBehindTheEndIsRefused) {
  for (const std::uint64_t offset : {std::uint64_t{17}, std::uint64_t{57}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    test::MemoryFiles files;
    const std::string bytes = pack_with_index_at(offset);
    files.put("/odd.pack", FileKind::regular, bytes);
    const OpenFile file(files, "/odd.pack", O_RDONLY);
    std::string why;
    EXPECT_FALSE(read_pack_index(files, file.get(), bytes.size(), &why)) << offset;
    EXPECT_EQ(why, "invalid footer") << offset;
  }
}

// A sparse file of `bytes` that ends with a footer for `count` images; all other bytes are zero.
class SparsePack : public ForwardingFileSystem {
 public:
  SparsePack(std::uint64_t bytes, std::uint64_t count) : bytes_(bytes) {
    put_number(footer_, count);
    put_number(footer_, bytes - kPackFooterBytes - count * kPackRowBytes);
    put_number(footer_, bytes);
    footer_.resize(kPackFooterBytes);
  }
  long read_at(int, void* to, std::size_t bytes, std::uint64_t offset) override {
    most_ = std::max<std::uint64_t>(most_, bytes);
    std::memset(to, 0, bytes);
    if (offset == bytes_ - kPackFooterBytes) footer_.copy(static_cast<char*>(to), bytes);
    return static_cast<long>(bytes);
  }
  std::uint64_t most() const { return most_; }

 private:
  const std::uint64_t bytes_;
  std::string footer_;
  std::uint64_t most_ = 0;
};

TEST(PackFooter, AnIndexThatIsLargerThanItsEntriesCanBeIsNotRead) {
  constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;
  const std::pair<std::uint64_t, std::uint64_t> kCases[] = {
      {100 << 20, (1 << 20) - 1}, {3 * kGigabyte, kGigabyte / 32}, {200 * kGigabyte, kGigabyte / 16}};
  for (const auto& [bytes, count] : kCases) {
    SparsePack files(bytes, count);
    EXPECT_FALSE(read_pack_index(files, 3, bytes, nullptr));
    EXPECT_LE(files.most(), kPackFooterBytes);
  }
}

void write_pack(test::MemoryFiles& files, const std::string& path, const Key& key) {
  Entry entry = image();
  entry.what = key.what;
  entry.who = key.who;
  PackWriter writer(files, path);
  writer.add(entry);
  writer.finish();
}

TEST(PackFooter, SuchAPackKeepsNobodyFromTheOtherLayers) {
  const Key key = key_named("gather");
  test::MemoryFiles files;
  files.put("/odd.pack", FileKind::regular, pack_with_index_at(~std::uint64_t{0}));
  write_pack(files, "/good.pack", key);
  StoreSettings settings = in("/store");
  settings.layers = {"/odd.pack", "/good.pack"};
  Store store(settings, silent(), files);
  EXPECT_TRUE(store.find(key));
  EXPECT_EQ(store.counters().refused, 1U);
  EXPECT_EQ(store.counters().failures, 0U);
}

}  // namespace
}  // namespace quern::cache
