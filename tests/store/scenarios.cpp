#include "store/scenarios.h"

#include <filesystem>

#include "cache/transfer.h"

namespace quern::cache {
namespace {

constexpr const char* kLog = "line 1: error: no such thing";

void nothing(const std::string&) {}

// Keys 0 … count - 1, the oldest first.
void fill(const std::string& dir, int count) {
  Store store(in(dir), silent());
  for (int number = 0; number < count; ++number) store.put(key_of(number), image_of(number));
}

void fill_four(const std::string& dir) { fill(dir, 4); }

// A pack of keys 0 … 3, and key 4.
void fill_a_pack(const std::string& dir) {
  const Scratch made;
  fill(made / "cache", 4);
  Store store(in(made / "cache"), silent());
  Store own(in(dir), silent());
  own.put(key_of(4), image_of(4));
  export_pack(store, pack_of(dir));
}

// Leftovers of processes that died while writing, and a remembered failure.
void fill_and_litter(const std::string& dir) {
  fill(dir, 3);
  Store store(in(dir), silent());
  EXPECT_THROW(store.get_or_build(key_of(kFailing), &fail_for_good), Error);
  const std::string folder = parent_directory(cat(dir, "/", key_of(0).path()));
  overwrite(cat(folder, "/", staging_name()), "half an im");
  std::filesystem::create_directories(dir + "/.leases");
  const std::string another_boot = "00c0ffee";
  overwrite(cat(dir, "/.leases/", another_boot, "-", key_of(0).what_hash.hex(), "-", key_of(0).who_hash.hex()), "");
}

void build(const std::string& dir, FileSystem& files) {
  Store store(in(dir), silent(), files);
  store.get_or_build(key_of(0), [] { return image_of(0); });
}

void replace(const std::string& dir, FileSystem& files) {
  Store store(in(dir), silent(), files);
  store.put(key_of(0), image_of(0));
}

void mark(const std::string& dir, FileSystem& files) {
  Store store(in(dir), silent(), files);
  store.put(key_of(0), marked(*store.find(key_of(0))));
}

// Writes a fifth image with room for four, which evicts the oldest.
void evict(const std::string& dir, FileSystem& files) {
  StoreSettings settings = in(dir);
  settings.writer.limits.entries = 4;
  Store store(settings, silent(), files);
  store.get_or_build(key_of(4), [] { return image_of(4); });
}

// The same with a limit on bytes: each image takes 8 KiB or more.
void evict_bytes(const std::string& dir, FileSystem& files) {
  StoreSettings settings = in(dir);
  settings.writer.limits.bytes = 40'000;
  Store store(settings, silent(), files);
  store.get_or_build(key_of(4), [] { return image_of(4); });
}

void forget(const std::string& dir, FileSystem& files) {
  Store store(in(dir), silent(), files);
  store.reject(key_of(0), store.find(key_of(0)));
  store.get_or_build(key_of(0), [] { return image_of(0); });
}

void fail(const std::string& dir, FileSystem& files) {
  Store store(in(dir), silent(), files);
  try {
    store.get_or_build(key_of(kFailing), &fail_for_good);
  } catch (const Error&) {
  }
}

void import(const std::string& dir, FileSystem& files) {
  Store store(in(dir), silent(), files);
  EXPECT_EQ(import_pack(store, pack_of(dir), false, files).entries, 4U);
}

void export_all(const std::string& dir, FileSystem& files) {
  Store store(in(dir), silent(), files);
  export_pack(store, pack_of(dir), PackForm::compressed, files);
}

void add_one(const std::string& dir, FileSystem& files) {
  Store store(in(dir), silent(), files);
  add_to_pack({store.find(key_of(4))}, pack_of(dir), PackForm::plain, files);
}

void expect_whole_pack(const std::string& path) {
  const Scratch scratch;
  UnsyncedFiles files;
  Store store(in(scratch / "cache"), silent(), files);
  const Transfer done = import_pack(store, path);
  EXPECT_EQ(done.damaged, 0U);
  EXPECT_GE(done.entries, 4U);
}

void clear(const std::string& dir, FileSystem& files) { Store(in(dir), silent(), files).clear(); }

void tidy(const std::string& dir, FileSystem& files) {
  Store(sweeping(dir), silent(), files).tidy(Limits{std::uint64_t{1} << 30, 1});
}

}  // namespace

std::string pack_of(const std::string& dir) { return dir + "/a.pack"; }

void expect_scenario_sound(const std::string& dir) {
  if (std::filesystem::exists(pack_of(dir))) expect_whole_pack(pack_of(dir));
  expect_sound(dir, kScenarioKeys);
  UnsyncedFiles files;
  Store store(sweeping(dir), silent(), files);
  try {
    const auto found = store.get_or_build(key_of(kFailing), [] { return image_of(kFailing); });
    EXPECT_EQ(why_wrong(*found.entry, kFailing), "");
  } catch (const Error& error) {
    EXPECT_TRUE(error.remembered);
    EXPECT_EQ(error.log, kLog);
  }
  EXPECT_EQ(store.counters().damaged + store.counters().foreign, 0U);
}

Entry fail_for_good() {
  Error error(Code::compile, Stage::compile, "no such thing");
  error.lasting = true;
  error.log = kLog;
  throw Error(error);
}

Entry marked(Entry entry) {
  entry.prewarmed = true;
  return entry;
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> rows = {
      {"put", nothing, build},
      {"replace", fill_four, replace},
      {"mark", fill_four, mark},
      {"evict", fill_four, evict},
      {"evict bytes", fill_four, evict_bytes},
      {"forget", fill_four, forget},
      {"failure", nothing, fail},
      {"known failure", fill_and_litter, fail},
      {"clear", fill_and_litter, clear},
      {"tidy", fill_and_litter, tidy},
      {"import", fill_a_pack, import, false},
      {"export", fill_four, export_all},
      {"add to pack", fill_a_pack, add_one},
  };
  return rows;
}

}  // namespace quern::cache
