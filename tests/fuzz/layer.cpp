#include <algorithm>
#include <optional>
#include <vector>

#include "fuzz/places.h"
#include "fuzz/targets.h"
#include "quern/error.h"

namespace quern::fuzz {
namespace {

using cache::Entry;
using cache::EntryPointer;
using cache::Found;
using cache::Key;
using cache::Origin;
using cache::Store;

constexpr const char* kBuilt = "built just now";

cache::StoreSettings settings_of(const Choice& choice) {
  cache::StoreSettings settings;
  settings.dir = kDirectory;
  settings.mode = choice.mode;
  settings.match = choice.match;
  settings.layers = {kPack};
  settings.writer.lease.expiry = settings.writer.lease.longest = std::chrono::milliseconds{1};
  return settings;
}

// Every log line is formatted, as with a sink.
Log unread() {
  return {LogLevel::debug, [](LogLevel, std::string_view) {}};
}

void fill(test::MemoryFiles& files, cache::Reader input, bool seal) {
  while (!input.at_end() && !input.failed()) {
    const Place& place = places()[input.number<std::uint8_t>() % places().size()];
    const auto oddity = input.number<std::uint8_t>();
    const std::string_view bytes = input.take(input.number<std::uint16_t>());
    make_odd(files.put(place.path, place.kind, seal ? place.seal(bytes) : std::string(bytes)), oddity);
  }
}

// Several look-ups over the same files.
class Session {
 public:
  Session(test::MemoryFiles& files, const Choice& choice)
      : files_(files), choice_(choice), store_(settings_of(choice), unread(), files) {}

  void run() {
    const EntryPointer found = store_.find(choice_.key);
    if (found) check_hit(*found);
    const auto got = get();
    if (found) require(got && got->entry == found, "an entry that was found stays found");
    if (got && got->origin == Origin::disk) check_hit(*got->entry);
    if (got && got->origin == Origin::built) check_built(*got->entry);
    check_lists();
    store_.reject(choice_.key);
    if (got) reject_all_from(*got->entry);
    require(!store_.find(choice_.key), "what the driver rejected is not found again");
    store_.tidy({1, 1});
    store_.clear();
  }

 private:
  // A hit has the requested text, and the compiler's unless the entry may serve others.
  void check_hit(const Entry& entry) {
    const bool own = entry.who == choice_.key.who && !choice_.key.who.empty();
    const bool others = choice_.match == CacheMatch::any || entry.prewarmed || store_.layers().back().hits > 0;
    require(entry.what == choice_.key.what, "a hit is for the requested key");
    require(own || (others && choice_.match != CacheMatch::exact), "a hit is by a compiler that may serve");
    require(entry.cubin != kBuilt, "nothing was built");
  }

  // Whatever files were there before, the next process finds the written entry.
  void check_built(const Entry& entry) {
    require(entry.cubin == kBuilt && store_.counters().builds == 1, "it was built once");
    if (store_.counters().bytes_written == 0) return;
    Store next(settings_of(choice_), unread(), files_);
    const EntryPointer again = next.find(choice_.key);
    require(again && *again == entry, "the written entry is found");
  }

  // Returns nothing if the compile is known to fail.
  std::optional<Found> get() {
    Entry made;
    made.cubin = kBuilt;
    try {
      return store_.get_or_build(choice_.key, [&] { return made; });
    } catch (const Error& error) {
      require(error.remembered && error.lasting && error.code == Code::compile, "the one error is a remembered one");
      require(choice_.mode == CacheMode::read_write && !choice_.key.who.empty(), "and it was written by this compiler");
      return std::nullopt;
    }
  }

  // A key may have images of several compilers: each is rejected once, until none is left.
  void reject_all_from(const Entry& first) {
    std::vector<Hash128> rejected = {cache::image_hash(first)};
    while (const EntryPointer next = store_.find(choice_.key)) {
      const Hash128 image = cache::image_hash(*next);
      require(std::find(rejected.begin(), rejected.end(), image) == rejected.end(), "a rejected image is not found");
      rejected.push_back(image);
      store_.reject(choice_.key, next);
    }
  }

  void check_lists() {
    for (const cache::Item& item : store_.list()) {
      std::string why;
      const EntryPointer entry = store_.load(item.key, &why);
      require(entry || !why.empty(), "either an entry or a reason");
    }
  }

  test::MemoryFiles& files_;
  const Choice choice_;
  Store store_;
};

// A file system without locks. With locks, each lease starts a thread, which takes longer than everything else.
class Unlocked : public test::MemoryFiles {
 public:
  using MemoryFiles::MemoryFiles;
  long try_lock(int) override { return -ENOLCK; }
};

}  // namespace

void layer(std::string_view bytes) {
  cache::Reader input(bytes);
  const Choice choice(input.number<std::uint8_t>());
  Unlocked unlocked(kNow);
  test::MemoryFiles locked(kNow);
  test::MemoryFiles& files = choice.locks ? locked : unlocked;
  fill(files, input, choice.seal);
  Session(files, choice).run();
}

}  // namespace quern::fuzz
