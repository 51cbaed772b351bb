// The footer of a pack is read before any checksum is.
#include <fcntl.h>

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

// A pack whose footer puts the index at `offset`.
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
    EXPECT_EQ(why, "the footer is wrong") << offset;
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
