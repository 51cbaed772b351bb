// Remembered failures of compiles.
#include "cache/failure.h"

#include "support.h"

namespace quern::cache {
namespace {

// A settable clock.
class ShiftedClock : public ForwardingFileSystem {
 public:
  std::int64_t now_unix_ns() override { return ForwardingFileSystem::now_unix_ns() + ahead * 1'000'000'000; }
  std::int64_t ahead = 0;  // seconds
};

Error refusal(bool lasting = true) {
  Error error(Code::compile, Stage::compile, "the compiler refused it");
  error.log = "a.cu(1): error";
  error.lasting = lasting;
  return error;
}

// The error of `store` for a key whose build fails with `error`; `runs` counts the builds.
Error outcome(Store& store, const Key& key, int* runs, const Error& error = refusal()) {
  try {
    store.get_or_build(key, [&]() -> Entry {
      ++*runs;
      throw Error(error);
    });
  } catch (const Error& thrown) {
    return thrown;
  }
  ADD_FAILURE() << "nothing was thrown";
  return error;
}

Failure some_failure() { return {"what", "who", "sentence", std::string("log\0with anything", 17), 42}; }

TEST(Failure, RoundTripAndEveryChangeIsFound) {
  const std::string bytes = serialize(some_failure());
  EXPECT_EQ(parse_failure(bytes, nullptr), some_failure());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] ^= 1;
    EXPECT_FALSE(parse_failure(flipped, nullptr)) << i;
    EXPECT_FALSE(parse_failure(bytes.substr(0, i), nullptr)) << i;
  }
  std::string why;
  EXPECT_FALSE(parse_failure(bytes + "x", &why));
  EXPECT_NE(why, "");
}

TEST(Failure, IsRememberedByTheProcessAndOnDisk) {
  const Scratch scratch;
  const Key key = key_named("a");
  int runs = 0;
  Store store(in(scratch / "cache"), silent());
  EXPECT_FALSE(outcome(store, key, &runs).remembered);
  EXPECT_TRUE(outcome(store, key, &runs).remembered);
  Store later(in(scratch / "cache"), silent());
  const Error error = outcome(later, key, &runs);
  EXPECT_TRUE(error.remembered);
  EXPECT_EQ(error.sentence, "the compiler refused it");
  EXPECT_EQ(error.log, "a.cu(1): error");
  EXPECT_EQ(error.code, Code::compile);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(later.counters().remembered, 1U);
  EXPECT_TRUE(later.list().empty()) << "it is no image";
}

TEST(Failure, OfAnotherCompilerOrForAnotherReasonIsNotKept) {
  const Scratch scratch;
  int runs = 0;
  Store store(in(scratch / "cache"), silent());
  outcome(store, key_named("a"), &runs);
  outcome(store, key_named("a", "another"), &runs);
  outcome(store, key_named("b"), &runs, refusal(false));
  outcome(store, key_named("b"), &runs, refusal(false));
  EXPECT_EQ(runs, 4);
}

TEST(Failure, IsForgottenAfterAWhileAndWhenTheClockIsSetBack) {
  const Scratch scratch;
  ShiftedClock clock;
  int runs = 0;
  {
    Store store(in(scratch / "cache"), silent(), clock);
    outcome(store, key_named("a"), &runs);
  }
  for (const std::int64_t ahead : {-86400, 601}) {
    clock.ahead = ahead;
    Builder builder;
    Store store(in(scratch / "cache"), silent(), clock);
    EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).origin, Origin::built) << ahead;
    store.reject(key_named("a"));
  }
}

TEST(Failure, ThatIsDamagedIsTriedAgain) {
  const Scratch scratch;
  int runs = 0;
  {
    Store store(in(scratch / "cache"), silent());
    outcome(store, key_named("a"), &runs);
  }
  const auto files = files_below(scratch / "cache");
  ASSERT_EQ(files.size(), 1U);
  std::string bytes = *read_file(files[0]);
  bytes[50] ^= 1;
  overwrite(files[0], bytes);
  Store store(in(scratch / "cache"), silent());
  outcome(store, key_named("a"), &runs);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(store.counters().damaged, 1U);
  store.clear();
  EXPECT_TRUE(files_below(scratch / "cache").empty());
}

TEST(Failure, IsShownWhileItIsRememberedAndForgottenWhenAsked) {
  const Scratch scratch;
  ShiftedClock clock;
  int runs = 0;
  Store store(in(scratch / "cache"), silent(), clock);
  outcome(store, key_named("a"), &runs);
  outcome(store, key_named("b"), &runs);
  const std::vector<Item> shown = store.failures();
  ASSERT_EQ(shown.size(), 2U);
  for (const Item& item : shown) {
    const Key key = key_named(item.what == key_named("a").what ? "a" : "b");
    EXPECT_EQ(item.key, key.path());
    EXPECT_EQ(item.who, key.who);
    EXPECT_EQ(item.failure, "the compiler refused it");
    EXPECT_EQ(item.layer, store.directory());
    EXPECT_GT(item.bytes, 0U);
  }
  store.forget_failure(key_named("a"));
  EXPECT_EQ(store.failures().size(), 1U);
  Builder builder;
  EXPECT_EQ(store.get_or_build(key_named("a"), builder.build()).origin, Origin::built);
  EXPECT_TRUE(outcome(store, key_named("b"), &runs).remembered);
  clock.ahead = 601;
  EXPECT_TRUE(store.failures().empty()) << "it is tried again by now";
  EXPECT_EQ(store.forget_failures(), 1U);
  EXPECT_EQ(store.get_or_build(key_named("b"), builder.build()).origin, Origin::built);
  EXPECT_EQ(runs, 2);
}

TEST(Failure, IsNoReasonNotToUseAnImageThatCameLater) {
  const Scratch scratch;
  int runs = 0;
  Builder builder;
  Store store(in(scratch / "cache"), silent());
  outcome(store, key_named("a"), &runs);
  Store(in(scratch / "cache"), silent()).put(key_named("a"), image("from elsewhere"));
  Store later(in(scratch / "cache"), silent());
  EXPECT_EQ(later.get_or_build(key_named("a"), builder.build()).entry->cubin, "from elsewhere");
}

}  // namespace
}  // namespace quern::cache
