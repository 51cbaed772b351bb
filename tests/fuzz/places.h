// How the target `layer` decodes its input: the store's settings, and the files in its directory and pack. Shared with
// the program that writes the seeds.
//
//   1 byte     settings: see Choice
//   for each file: 1 byte place, 1 byte oddity, 2 bytes size, then its bytes; the last one may be truncated
#ifndef QUERN_TESTS_FUZZ_PLACES_H_
#define QUERN_TESTS_FUZZ_PLACES_H_

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "cache/store.h"
#include "fuzz/seal.h"
#include "support/memory_files.h"

namespace quern::fuzz {

inline constexpr std::int64_t kNow = 1'700'000'000'000'000'000;
inline constexpr std::int64_t kHour = std::int64_t{3600} * 1'000'000'000;
inline constexpr const char* kDirectory = "/store";
inline constexpr const char* kPack = "/images.pack";

inline cache::Key key_for(const std::string& who) {
  const std::string what = cache::KeyText().field("family", "gather").text();
  return cache::make_key(what, who.empty() ? "" : cache::KeyText().field("compiler", who).text());
}

inline cache::Key own_key() { return key_for("nvrtc 13.0.88"); }
inline cache::Key other_key() { return key_for("nvrtc 12.9.86"); }

// Bits 0 and 1: CacheMatch. Bit 2: read-only. Bit 3: no compiler is known. Bit 4: the bytes are used as they are. Bit
// 5: the file system has locks.
struct Choice {
  explicit Choice(std::uint8_t from)
      : match(static_cast<CacheMatch>(from % 4 % 3)),
        mode((from & 4U) != 0 ? CacheMode::read_only : CacheMode::read_write),
        key((from & 8U) != 0 ? key_for("") : own_key()),
        seal((from & 16U) == 0),
        locks((from & 32U) != 0) {}
  CacheMatch match;
  CacheMode mode;
  cache::Key key;
  bool seal, locks;
};

// A path that a store reads, and the function that corrects sizes and checksums in its bytes.
struct Place {
  std::string path;
  std::string (*seal)(std::string_view);
  FileKind kind = FileKind::regular;
};

inline std::string unsealed(std::string_view bytes) { return std::string(bytes); }

inline const std::array<Place, 12>& places() {
  const auto in_store = [](const std::string& name) { return cat(kDirectory, "/", name); };
  static const std::string folder = in_store(own_key().what_hash.hex());
  static const std::array<Place, 12> all = {{
      {in_store(own_key().path()), sealed},
      {in_store(other_key().path()), sealed},
      {in_store(own_key().path()) + ".failed", sealed},
      {in_store(".usage"), sealed_usage},
      {kPack, sealed_pack},
      {folder, unsealed, FileKind::directory},
      {kDirectory, unsealed, FileKind::directory},
      {in_store(".leases"), unsealed, FileKind::directory},
      {in_store(cat(".leases/", own_key().what_hash.hex(), "-", own_key().who_hash.hex())), unsealed},
      {folder + "/.staging.1.0.0", unsealed},
      {folder + "/notes", unsealed},
      {in_store(cat(own_key().who_hash.hex(), "/", own_key().what_hash.hex())), sealed},
  }};
  return all;
}

// The status of a file; 0: as the store would have made it. The low half selects kind, mode and owner, the high half
// the modification time.
inline void make_odd(FileStatus& status, std::uint8_t oddity) {
  static constexpr std::int64_t kTimes[] = {kNow,
                                            kNow - 2 * kHour,
                                            kNow + 2 * kHour,
                                            std::int64_t{0},
                                            std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max()};
  status.modified_ns = kTimes[oddity / 16 % std::size(kTimes)];
  switch (oddity % 16) {
    case 1:
      status.kind = FileKind::link;
      break;
    case 2:
      status.kind = FileKind::other;
      break;
    case 3:
      status.mode = 0666;
      break;
    case 4:
      status.owner += 1;
      break;
    case 5:
      status.owner = 0;
      break;
    default:
      break;
  }
}

}  // namespace quern::fuzz

#endif  // QUERN_TESTS_FUZZ_PLACES_H_
