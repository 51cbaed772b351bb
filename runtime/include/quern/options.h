// What a Runtime can be told. Every field has a default; an empty string means "see the environment, then the default".
#ifndef QUERN_OPTIONS_H_
#define QUERN_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/log.h"

namespace quern {

enum class CacheMode : std::uint8_t {
  read_write,
  read_only,  // hits are used, nothing is written
  off,        // memory only
};

// Which disk entries may serve a key: `what` is to be built, `who` builds it (the compiler's exact build).
enum class CacheMatch : std::uint8_t {
  standard,  // both, or an entry that `prewarm` made whatever compiler made it
  exact,     // both
  any,       // `what` alone
};

class Driver;  // the driver as the Runtime sees it (runtime/driver); a host gives one only in tests

struct Options {
  // Where images are kept. Empty: QUERN_CACHE_DIR, $XDG_CACHE_HOME/quern, ~/.cache/quern, else memory only.
  std::string cache_dir;
  std::optional<CacheMode> cache_mode;    // unset: QUERN_CACHE, else read_write
  std::optional<CacheMatch> cache_match;  // unset: QUERN_CACHE_MATCH, else standard

  // Paths of the libraries. Empty: the documented search (`quern doctor` prints it).
  std::string nvrtc;
  std::string libcuda;
  // The C++ compiler for the target `host`, a path or a name in PATH. Empty: QUERN_CXX, then c++, g++ and clang++.
  std::string cxx;

  // Adds -lineinfo, so that profilers name source lines. Part of the key.
  bool lineinfo = false;

  // Starts NVRTC in a background thread when the Runtime is made, so that the first compile is not slowed by it. Costs
  // a thread for about 100 ms and the library's memory; opt-in, since a warm cache never needs NVRTC.
  bool warm_compiler = false;

  // Where each image made is written as source, PTX and cubin. Empty: QUERN_DUMP, else nowhere.
  std::string dump_dir;
  // A manifest of what was prepared, for `quern prewarm --manifest`. Empty: QUERN_RECORD, else none.
  std::string record_file;

  std::optional<LogLevel> log_level;  // unset: QUERN_LOG, else warning
  LogSink log_sink;                   // unset: stderr

  // Replaces libcuda. Shared with the plans that come from the Runtime.
  std::shared_ptr<Driver> driver;
};

}  // namespace quern

#endif  // QUERN_OPTIONS_H_
