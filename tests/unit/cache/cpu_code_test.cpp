// Images of the target host are CPU code: finding A9.
#include <sys/stat.h>

#include "cache/transfer.h"
#include "cache/trust.h"
#include "support.h"

namespace quern::cache {
namespace {

Key host_key() {
  return make_key(KeyText().field("family", "gather").field("target", "host").text(),
                  KeyText().field("c++", "13").text());
}

// The file system as another user sees it.
class OtherUserFiles : public ForwardingFileSystem {
 public:
  std::uint32_t user() override { return ForwardingFileSystem::user() + 1; }
};

TEST(CpuCode, OfALayerOfAnotherUserIsUsedOnlyWhereItIsAskedFor) {
  const Scratch scratch;
  Store maker(in(scratch / "made"), silent());
  maker.put(host_key(), image("library"));
  maker.put(key_named("gpu"), image("cubin"));
  export_pack(maker, scratch / "made.pack");
  OtherUserFiles files;
  for (const std::string layer : {"made", "made.pack"}) {
    for (const bool asked : {false, true}) {
      SCOPED_TRACE(cat(layer, asked ? " asked" : ""));
      StoreSettings settings = in("", CacheMode::read_only);
      settings.layers = {scratch / layer};
      settings.trust = parse_trust(asked ? "mode-only,host" : "mode-only", "T");
      Warnings warnings;
      Store store(settings, warnings.log(), files);
      EXPECT_NE(store.find(key_named("gpu")), nullptr);
      EXPECT_EQ(store.find(host_key()) != nullptr, asked);
      EXPECT_EQ(store.load(host_key().path(), nullptr) != nullptr, asked);
      ASSERT_EQ(warnings.lines().size(), asked ? 0U : 1U);
      if (asked) continue;
      EXPECT_NE(warnings.lines()[0].find("QUERN_CACHE_TRUST=mode-only,host"), std::string::npos) << warnings.lines()[0];
    }
  }
  StoreSettings own = in("", CacheMode::read_only);
  own.layers = {scratch / "made.pack"};
  EXPECT_NE(Store(own, silent()).find(host_key()), nullptr) << "the user's own pack";
}

TEST(CpuCode, IsImportedOnlyWhereItIsAskedFor) {
  const Scratch scratch;
  Store maker(in(scratch / "made"), silent());
  maker.put(host_key(), image("library"));
  maker.put(key_named("gpu"), image("cubin"));
  export_pack(maker, scratch / "made.pack");
  Store store(in(scratch / "cache"), silent());
  const Transfer without = import_pack(store, scratch / "made.pack");
  EXPECT_EQ(without.entries, 1U);
  EXPECT_EQ(without.refused, 1U);
  EXPECT_EQ(store.find(host_key()), nullptr);
  EXPECT_EQ(import_pack(store, scratch / "made.pack", true).entries, 1U);
  EXPECT_NE(store.find(host_key()), nullptr);
}

TEST(CpuCode, TheWordsOfTrust) {
  for (const char* text : {"owner", "owner,host", "uids=0,1000,host", "mode-only,host"})
    EXPECT_EQ(trust_text(parse_trust(text, "T")), text);
  for (const char* text : {"host", "owner,hosts", "uids=,host", ",host"}) EXPECT_THROW(parse_trust(text, "T"), Error);
}

TEST(AddToPack, RefusesAPackThatOthersMayWrite) {
  const Scratch scratch;
  const std::string path = scratch / "made.pack";
  Store maker(in(scratch / "made"), silent());
  maker.put(key_named("gpu"), image("cubin"));
  export_pack(maker, path);
  require_own_pack_or_nothing(path);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  const auto before = read_file(path);
  EXPECT_THROW(require_own_pack_or_nothing(path), Error);
  EXPECT_THROW(add_to_pack({std::make_shared<const Entry>(image("more"))}, path), Error);
  EXPECT_EQ(read_file(path), before);
  require_pack_or_nothing(path);
}

}  // namespace
}  // namespace quern::cache
