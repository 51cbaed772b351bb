// Read-only layers: look-up order, trust, and that nothing is written there.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "cache/pack.h"
#include "cache/transfer.h"
#include "support.h"

namespace quern::cache {
namespace {

StoreSettings with_layers(const std::string& dir, std::vector<std::string> layers,
                          CacheMode mode = CacheMode::read_write) {
  StoreSettings settings = in(dir, mode);
  settings.layers = std::move(layers);
  return settings;
}

// A directory and a pack of the same two images, made on demand by another compiler.
class Layers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Store site(in(scratch_ / "site"), silent());
    site.put(key_named("a", "13.0.48"), image("a of the layer"));
    site.put(key_named("b", "13.0.48"), image("b of the layer"));
    export_pack(site, scratch_ / "site.pack");
    layer_ = scratch_ / GetParam();
  }
  // Everything below, with its bytes.
  std::map<std::string, std::string> snapshot() const {
    std::map<std::string, std::string> all;
    for (const std::string& path : files_below(scratch_ / "site")) all[path] = *read_file(path);
    all["pack"] = *read_file(scratch_ / "site.pack");
    return all;
  }
  void expect_refused(const std::string& reason, const Trust& trust = {Trust::Owners::owner, {}}) {
    Warnings warnings;
    Builder builder;
    StoreSettings settings = with_layers(scratch_ / "own", {layer_});
    settings.trust = trust;
    Store store(settings, warnings.log());
    EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).origin, Origin::built);
    ASSERT_EQ(store.layers().size(), 2U);
    EXPECT_NE(store.layers()[1].unusable.find(reason), std::string::npos) << store.layers()[1].unusable;
    EXPECT_EQ(store.counters().refused, 1U);
    ASSERT_EQ(warnings.lines().size(), 1U);
    EXPECT_NE(warnings.lines()[0].find(reason), std::string::npos) << warnings.lines()[0];
    EXPECT_EQ(store.unusable(), "") << "the user's own directory is";
    store.clear();
  }

  Scratch scratch_;
  std::string layer_;
};

TEST_P(Layers, ServeEveryCompilerBelowTheOwnDirectoryAndAreNotWritten) {
  const auto before = snapshot();
  Builder builder;
  Store store(with_layers(scratch_ / "own", {layer_}), silent());
  const Found found = store.get_or_build(key_named("a"), builder.build());
  EXPECT_EQ(found.origin, Origin::disk);
  EXPECT_EQ(found.entry->cubin, "a of the layer");
  EXPECT_EQ(store.get_or_build(key_named("c"), builder.build()).origin, Origin::built);
  EXPECT_EQ(builder.runs(), 1);
  EXPECT_EQ(store.layers()[1].hits, 1U);
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(files_below(scratch_ / "own").size(), 1U) << "a hit is not copied up";
}

TEST_P(Layers, ServeAProcessWithoutADirectoryAndWithoutACompiler) {
  Builder builder;
  Warnings warnings;
  Store store(with_layers(scratch_ / "missing", {layer_}, CacheMode::read_only), warnings.log());
  EXPECT_EQ(store.get_or_build(key_named("a", ""), builder.build()).origin, Origin::disk);
  EXPECT_EQ(store.get_or_build(key_named("c", ""), builder.build()).origin, Origin::built);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "missing"));
  EXPECT_TRUE(warnings.lines().empty()) << warnings.lines()[0];
}

TEST_P(Layers, TheExactCompilersImageComesFirstWhereverItIs) {
  Store(in(scratch_ / "own"), silent()).put(key_named("a", "13.0.99"), prewarmed("of the directory", 99));
  Store store(with_layers(scratch_ / "own", {layer_}), silent());
  EXPECT_EQ(store.find(key_named("a", "13.0.48"))->cubin, "a of the layer");
  EXPECT_EQ(store.find(key_named("a", "13.0.1"))->cubin, "of the directory") << "the nearer layer";
}

TEST_P(Layers, AreOffWithTheCacheAndExactWhenAsked) {
  Store off(with_layers(scratch_ / "own", {layer_}, CacheMode::off), silent());
  EXPECT_EQ(off.find(key_named("a")), nullptr);
  StoreSettings settings = with_layers(scratch_ / "own", {layer_});
  settings.match = CacheMatch::exact;
  Store exact(settings, silent());
  EXPECT_EQ(exact.find(key_named("a")), nullptr);
  EXPECT_NE(exact.find(key_named("a", "13.0.48")), nullptr);
}

TEST_P(Layers, ARejectedImageIsRebuiltIntoTheDirectory) {
  Builder builder(image("good"));
  const Key key = key_named("a");
  {
    Store store(with_layers(scratch_ / "own", {layer_}), silent());
    store.reject(key, store.find(key));
    EXPECT_EQ(store.get_or_build(key, builder.build()).origin, Origin::built);
    EXPECT_EQ(store.counters().rejected, 1U);
  }
  Store later(with_layers(scratch_ / "own", {layer_}), silent());
  EXPECT_EQ(later.get_or_build(key, builder.build()).entry->cubin, "good");
  EXPECT_EQ(builder.runs(), 1);
}

TEST_P(Layers, ADamagedImageIsAMiss) {
  const std::string path = GetParam() == std::string("site") ? layer_ + "/" + key_named("a", "13.0.48").path() : layer_;
  std::string bytes = *read_file(path);
  bytes[bytes.find("a of the layer")] ^= 1;
  overwrite(path, bytes);
  Builder builder;
  Store store(with_layers(scratch_ / "own", {layer_}), silent());
  EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).origin, Origin::built);
  EXPECT_EQ(store.counters().damaged, 1U);
  EXPECT_EQ(store.get_or_build(key_named("b"), builder.build()).origin, Origin::disk) << "the other one serves";
}

// No free descriptor for a moment, say: in a slim image no other layer could serve.
TEST_P(Layers, ThatCannotBeLookedAtForAMomentServeAfterwards) {
  bool full = true;
  test::InterceptedFiles files([&](const test::FileCall&) { return full ? -long{EMFILE} : 0L; });
  Store store(with_layers("", {layer_}, CacheMode::read_only), silent(), files);
  EXPECT_EQ(store.find(key_named("a")), nullptr);
  full = false;
  EXPECT_NE(store.find(key_named("a")), nullptr);
  EXPECT_EQ(store.layers()[1].unusable, "");
}

// A log sink that gets a refusal may call the store.
TEST_P(Layers, ARefusalMayBeAnsweredWithAQuestion) {
  ASSERT_EQ(::chmod(layer_.c_str(), 0777), 0);
  Store* asked = nullptr;
  std::size_t layers = 0;
  Store store(with_layers(scratch_ / "own", {layer_}),
              Log(LogLevel::warning, [&](LogLevel, std::string_view) { layers = asked->layers().size(); }));
  asked = &store;
  EXPECT_EQ(store.find(key_named("a")), nullptr);
  EXPECT_EQ(layers, 2U);
}

// ---- trust

TEST_P(Layers, ThatOthersMayWriteAreRefused) {
  ASSERT_EQ(::chmod(layer_.c_str(), 0777), 0);
  expect_refused("lets others write there; chmod go-w");
  expect_refused("lets others write there", {Trust::Owners::any, {}});
}

TEST_P(Layers, BelowADirectoryThatOthersMayWriteAreRefused) {
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0775), 0);
  expect_refused(scratch_.path() + ": mode 0775 lets others write there");
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0700), 0);
}

TEST_P(Layers, OfAnotherOwnerAreRefusedUnlessListed) {
  if (!root()) GTEST_SKIP() << "needs root";
  for (const auto& file : std::filesystem::recursive_directory_iterator(scratch_.path()))
    ASSERT_EQ(::chown(file.path().c_str(), kNobody, kNobody), 0);
  expect_refused("belongs to uid 65534, this process is uid 0 (a file server");
  expect_refused("QUERN_CACHE_TRUST=uids=65534 would accept it", {Trust::Owners::uids, {1000}});
  for (const Trust& trust : {Trust{Trust::Owners::uids, {1000, kNobody}}, Trust{Trust::Owners::any, {}}}) {
    StoreSettings settings = with_layers("", {layer_}, CacheMode::read_only);
    settings.trust = trust;
    EXPECT_NE(Store(settings, silent()).find(key_named("a")), nullptr) << trust_text(trust);
  }
}

// Created by root in an image build, read by another user.
TEST_P(Layers, OfRootServeAnotherUser) {
  if (!root()) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0755), 0);
  for (const auto& file : std::filesystem::recursive_directory_iterator(scratch_.path()))
    ASSERT_EQ(::chmod(file.path().c_str(), 0755), 0);
  ASSERT_EQ(::seteuid(kNobody), 0);
  Store store(with_layers("", {layer_}, CacheMode::read_only), silent());
  const EntryPointer entry = store.find(key_named("a"));
  EXPECT_EQ(::seteuid(0), 0);
  EXPECT_NE(entry, nullptr) << store.layers()[1].unusable;
}

TEST_P(Layers, BehindALinkAreTakenWhereTheLinkIsTrusted) {
  std::filesystem::create_symlink(layer_, scratch_ / "link");
  StoreSettings settings = with_layers(scratch_ / "own", {scratch_ / "link"});
  Store store(settings, silent());
  // The folder itself is a link, or its name is not a directory.
  const bool pack = GetParam() == std::string("site.pack");
  EXPECT_EQ(store.find(key_named("a")) != nullptr, pack) << store.layers()[1].unusable;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Layers, ::testing::Values("site", "site.pack"));

// ---- the cost of a hit

// The successful opens, by path.
class CountedOpens : public ForwardingFileSystem {
 public:
  long open(const std::string& path, int flags, std::uint32_t mode) override {
    const long file = ForwardingFileSystem::open(path, flags, mode);
    if (file >= 0) ++opened[path];
    return file;
  }
  std::map<std::string, int> opened;
};

// With this compiler, with another one, and without any.
TEST(Opens, AreOneAKeyAndLayerInAPrewarmedStart) {
  const Scratch scratch;
  {
    Store site(in(scratch / "site"), silent());
    for (const char* name : {"a", "b", "c"}) site.put(key_named(name), prewarmed(name));
    export_pack(site, scratch / "site.pack");
  }
  for (const char* who : {"nvrtc 13.0.88", "another", ""}) {
    CountedOpens files;
    Store store(with_layers(scratch / "own", {scratch / "site"}), silent(), files);
    for (const char* name : {"a", "b", "c"}) EXPECT_NE(store.find(key_named(name, who)), nullptr);
    EXPECT_EQ(files.opened.size(), 3U);
    for (const auto& [path, times] : files.opened) EXPECT_EQ(times, 1) << path;
    CountedOpens pack_files;
    Store packed(with_layers(scratch / "own", {scratch / "site.pack"}), silent(), pack_files);
    for (const char* name : {"a", "b", "c"}) EXPECT_NE(packed.find(key_named(name, who)), nullptr);
    EXPECT_EQ(pack_files.opened, (std::map<std::string, int>{{scratch / "site.pack", 1}}));
  }
}

// Only the headers are needed to find the newest compiler's image; each file was read whole before.
TEST(Opens, OfTwentyCompilersOneImageIsReadWhole) {
  constexpr int kCompilers = 20;
  constexpr std::size_t kBytes = 200'000;
  const Scratch scratch;
  {
    Store site(in(scratch / "site"), silent(), hasty_files());
    for (int i = 0; i < kCompilers; ++i) {
      Entry entry = prewarmed(cat(i, std::string(kBytes, 'x')));
      entry.compiler_order = static_cast<std::uint64_t>((7 * i) % kCompilers);
      site.put(key_named("a", cat("compiler ", i)), entry);
    }
  }
  class CountedBytes : public CountedOpens {
   public:
    long read(int file, void* to, std::size_t bytes) override { return count(CountedOpens::read(file, to, bytes)); }
    long read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) override {
      return count(CountedOpens::read_at(file, to, bytes, offset));
    }
    std::size_t bytes_read = 0;

   private:
    long count(long got) {
      bytes_read += got > 0 ? static_cast<std::size_t>(got) : 0;
      return got;
    }
  } files;
  Store store(with_layers(scratch / "own", {scratch / "site"}), silent(), files);
  const EntryPointer found = store.find(key_named("a", "another"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->compiler_order, kCompilers - 1U);
  EXPECT_LT(files.bytes_read, kBytes + kCompilers * 5000);
}

TEST(Opens, ANewestImageThatIsDamagedGivesWayToTheNext) {
  const Scratch scratch;
  {
    Store site(in(scratch / "site"), silent(), hasty_files());
    for (int i = 0; i < 3; ++i) {
      Entry entry = prewarmed(cat("image ", i));
      entry.compiler_order = static_cast<std::uint64_t>(i);
      site.put(key_named("a", cat("compiler ", i)), entry);
    }
  }
  const std::string newest = scratch / "site/" + key_named("a", "compiler 2").path();
  std::string bytes = *read_file(newest);
  bytes[bytes.find("image 2")] ^= 1;
  overwrite(newest, bytes);
  Store store(with_layers(scratch / "own", {scratch / "site"}), silent());
  const EntryPointer found = store.find(key_named("a", "another"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->cubin, "image 1");
  EXPECT_EQ(store.counters().damaged, 1U);
}

// ---- other objects at the path

// As a late mount.
TEST(Layer, ThatComesLaterServesFromThenOn) {
  const Scratch scratch;
  {
    Store site(in(scratch / "made"), silent());
    site.put(key_named("a"), prewarmed("a"));
    export_pack(site, scratch / "made.pack");
  }
  for (const char* kind : {"", ".pack"}) {
    const std::string path = scratch / cat("site", kind);
    Warnings warnings;
    Store store(with_layers("", {path}, CacheMode::read_only), warnings.log());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(store.find(key_named("a")), nullptr);
    EXPECT_EQ(warnings.lines().size(), 1U);
    EXPECT_EQ(store.layers()[1].kind, "missing");
    std::filesystem::rename(scratch / cat("made", kind), path);
    EXPECT_NE(store.find(key_named("a")), nullptr) << path;
    EXPECT_EQ(store.layers()[1].unusable, "");
    EXPECT_EQ(store.layers()[1].hits, 1U);
  }
}

TEST(Layer, ThatIsMissingOrNoPackIsRefusedWithTheReason) {
  const Scratch scratch;
  overwrite(scratch / "text", "something else, and long enough to be a pack by its size alone .................");
  overwrite(scratch / "short", "x");
  ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
  const std::pair<const char*, const char*> cases[] = {{"missing", "No such file"},
                                                       {"text", "the first bytes differ"},
                                                       {"short", "too short"},
                                                       {"fifo", "is a special file, not a plain file"}};
  for (const auto& [name, reason] : cases) {
    Warnings warnings;
    Store store(with_layers("", {scratch / name}, CacheMode::read_only), warnings.log());
    EXPECT_EQ(store.find(key_named("a")), nullptr);
    EXPECT_NE(store.layers()[1].unusable.find(reason), std::string::npos) << store.layers()[1].unusable;
  }
}

TEST(Layer, SeveralAreAskedInTheirOrder) {
  const Scratch scratch;
  for (const char* name : {"one", "two"}) {
    Store store(in(scratch / name), silent());
    store.put(key_named("both"), image(name));
    store.put(key_named(name), image(name));
    export_pack(store, scratch / name + ".pack");
  }
  Store store(with_layers(scratch / "own", {scratch / "two.pack", scratch / "one"}), silent());
  EXPECT_EQ(store.find(key_named("both"))->cubin, "two");
  EXPECT_EQ(store.find(key_named("one"))->cubin, "one");
  EXPECT_EQ(store.find(key_named("two"))->cubin, "two");
  EXPECT_EQ(store.list().size(), 4U);
}

TEST(Trust, IsReadFromText) {
  EXPECT_EQ(trust_text(parse_trust("owner", "X")), "owner");
  EXPECT_EQ(trust_text(parse_trust("uids=0,1000", "X")), "uids=0,1000");
  EXPECT_EQ(trust_text(parse_trust("mode-only", "X")), "mode-only");
  for (const char* text : {"", "nobody", "uids=", "uids=a", "uids=-1", "uids=99999999999"}) {
    try {
      parse_trust(text, "QUERN_CACHE_TRUST");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(error.sentence.find("QUERN_CACHE_TRUST="), std::string::npos);
      EXPECT_NE(error.sentence.find("owner, uids=0,1000 (user ids) or mode-only"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace quern::cache
