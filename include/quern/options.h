// Options of a Runtime. Every field has a default; an empty string means "see the environment, then the default".
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

// Which disk entries may serve a key. A key has two parts: `what` is built and `who` builds it (the compiler's exact
// build).
enum class CacheMatch : std::uint8_t {
  standard,  // `default` in text. A match of both, or of `what` for entries that were made ahead of time: by
             // `prewarm`, and all of a read-only layer
  exact,     // match both
  any,       // match `what` only
};

// The image cache.
struct CacheOptions {
  // The cache directory. Empty: QUERN_CACHE_DIR, $XDG_CACHE_HOME/quern, ~/.cache/quern, else memory only.
  std::string directory;
  std::optional<CacheMode> mode;    // unset: QUERN_CACHE, else read_write
  std::optional<CacheMatch> match;  // unset: QUERN_CACHE_MATCH, else standard
  // Read-only packs and directories, searched in this order after the cache directory. Empty: QUERN_CACHE_LAYERS, a
  // list separated by colons. Relative paths are resolved when the Runtime is made.
  std::vector<std::string> layers;
  // Trusted owners of these layers: "owner" (root and the effective user), "uids=1000,1001" (these too) or "mode-only"
  // (anyone; group and others must not have write permission in any case). Images of the target host are CPU code and
  // only used from the user's own files, unless ",host" follows. Empty: QUERN_CACHE_TRUST, else owner.
  std::string trust;
  // Limits of the directory; least recently used entries are evicted first (LRU). Sizes are disk usage: a file counts
  // in blocks of 4 KiB, plus one for its folder. Unset: QUERN_CACHE_MAX_BYTES ("500M", "2G"), else 2 GiB;
  // QUERN_CACHE_MAX_ENTRIES, else 100,000.
  std::optional<std::uint64_t> max_bytes;
  std::optional<std::uint64_t> max_entries;
  // How long one prepare waits at most for another process to compile the same images, before it compiles them itself;
  // 0: not at all. A process that shows no sign of life is waited for 10 s at most. Unset: QUERN_WAIT_SECONDS, else 30.
  std::optional<double> wait_seconds;
};

// Where a config comes from if the caller does not give one.
enum class Tuning : std::uint8_t {
  off,     // the model's default
  lookup,  // a record if one fits; nothing is ever measured
  // As lookup; but a problem without a record for this device is tuned in worker processes, on data of their own, and
  // the winner is recorded. No candidate ever runs in this process. If tuning is not possible (no worker, no writable
  // cache directory, an open extent) this is lookup, with one warning for each cause except the last.
  on_prepare,  // before prepare returns, within `seconds`
  background,  // later, with `share` of the device time; existing plans switch to the better kernel once it is ready
};

class Tuner;

// Lookup of tuning records, and measuring new ones.
struct TuningOptions {
  std::optional<Tuning> mode;  // unset: QUERN_TUNE, else lookup
  // The file of tuning records, JSON lines, in which `prepare` looks up configs. Read when a config is first wanted.
  // Empty: QUERN_RECORDS, $XDG_DATA_HOME/quern/records.jsonl, ~/.local/share/quern/records.jsonl, else none.
  std::string records;
  // Further record files, looked up in this order after that one; the records that ship with quern come last. Empty:
  // QUERN_RECORD_LAYERS, a list separated by colons.
  std::vector<std::string> record_layers;
  // on_prepare: how long tuning may delay one prepare. Unset: QUERN_TUNE_SECONDS, else 10.
  std::optional<double> seconds;
  // background: the share of device time that the worker may use, from 0.001 to 1. Unset: QUERN_TUNE_SHARE, else 0.05.
  std::optional<double> share;
  // Device memory for a worker's data; its context is not included. Unset: QUERN_TUNE_MEMORY ("2G"), else 5 % of the
  // free memory.
  std::optional<std::uint64_t> memory_bytes;
  // The tuner for the modes on_prepare and background: make_tuner() of libquern_tuner (quern/tuner.h). Null: these two
  // are `lookup`, with a warning.
  std::shared_ptr<Tuner> tuner;
  // The program that measures, started as `WORKER worker`: `quern`, or an application's own program that registers its
  // families and then calls serve_worker. A path or a name in PATH. Empty: QUERN_WORKER, else quern in PATH.
  std::string worker;
};

// The compilers.
struct CompilerOptions {
  std::string nvrtc;  // path of the library; empty: the documented search (`quern doctor` prints it)
  // The C++ compiler for the target `host`, a path or a name in PATH. Empty: QUERN_CXX, then c++, g++ and clang++.
  std::string cxx;
  bool lineinfo = false;  // adds -lineinfo, so that profilers show source lines; part of the key
  // Starts NVRTC in a background thread when the Runtime is made, so that the first compile does not wait for it. Costs
  // a thread for about 100 ms, which fork() and ~Runtime wait for, and the library's memory; opt-in, since a warm cache
  // never needs NVRTC.
  bool warm = false;
  // Directory to which each new image is written as source, PTX and cubin. Empty: QUERN_DUMP, else none.
  std::string dump_dir;
};

struct LogOptions {
  std::optional<LogLevel> level;  // unset: QUERN_LOG, else warning
  // Unset: stderr. Called by any thread that uses the Runtime, also under its internal locks: it must not call quern.
  LogSink sink;
};

class Driver;  // the Runtime's interface to the driver (runtime/driver); set only in tests

struct Options {
  CacheOptions cache;
  TuningOptions tuning;
  CompilerOptions compiler;
  LogOptions log;
  // A manifest of the prepared problems, for `quern prewarm --manifest`. Empty: QUERN_MANIFEST, else none.
  std::string manifest;
  // The alignment in bytes that operands' addresses have in every launch: a power of two up to 256, the alignment of
  // memory from cuMemAlloc. Images that only other addresses need are not made, for most problems every second one; a
  // launch that needs one is refused. What no image accesses in vectors, such as an index, may be aligned less.
  // Unset: QUERN_ALIGNMENT, else 1: any address of an element.
  std::optional<std::uint32_t> alignment;
  // Path of libcuda, or of the host driver. Empty: the documented search.
  std::string libcuda;
  // Replaces libcuda. Shared with the plans of the Runtime.
  std::shared_ptr<Driver> driver;
};

}  // namespace quern

#endif  // QUERN_OPTIONS_H_
