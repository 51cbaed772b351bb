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
  standard,  // `default` in text. Both, or what was made ahead of time, whatever compiler made it: an entry that
             // `prewarm` made, and all of a read-only layer
  exact,     // both
  any,       // `what` alone
};

// The image cache.
struct CacheOptions {
  // Where images are kept. Empty: QUERN_CACHE_DIR, $XDG_CACHE_HOME/quern, ~/.cache/quern, else memory only.
  std::string directory;
  std::optional<CacheMode> mode;    // unset: QUERN_CACHE, else read_write
  std::optional<CacheMatch> match;  // unset: QUERN_CACHE_MATCH, else standard
  // Packs and directories that are only read, below that directory, the first one first. Empty: QUERN_CACHE_LAYERS, a
  // list with colons. Relative paths are taken from where the process is when the Runtime is made.
  std::vector<std::string> layers;
  // Whom they may belong to: "owner" (root and the effective user), "uids=1000,1001" (these too) or "mode-only"
  // (anybody; group and others must not be able to write there in any case). Images of the target host are CPU code and
  // served from the user's own files only, but for ",host" after the word. Empty: QUERN_CACHE_TRUST, else owner.
  std::string trust;
  // What the directory may hold; the least recently used goes first. Bytes are the disk's: a file counts in blocks of
  // 4 KiB, and one for its folder. Unset: QUERN_CACHE_MAX_BYTES ("500M", "2G"), else 2 GiB; QUERN_CACHE_MAX_ENTRIES,
  // else 100,000.
  std::optional<std::uint64_t> max_bytes;
  std::optional<std::uint64_t> max_entries;
  // How long one prepare waits at most for other processes that compile the same images, before it compiles them
  // itself; 0: not at all. Processes that show no sign of life are waited for 10 s at most. Unset: QUERN_WAIT_SECONDS,
  // else 30.
  std::optional<double> wait_seconds;
};

// Where a config comes from that the caller does not give.
enum class Tuning : std::uint8_t {
  off,     // the model's default
  lookup,  // a record where one fits; nothing is ever measured
  // As lookup; a problem without a record for this device is tuned in worker processes, on data of their own, and the
  // winner is recorded. No candidate ever runs in this process. Where that is not possible (no
  // worker, no cache directory that may be written, an open extent) it is lookup, with one warning for each
  // cause but the last.
  on_prepare,  // before prepare returns, within `seconds`
  background,  // later, at `share` of the time; plans that exist launch the better kernel as soon as it is there
};

class Tuner;

// Tuning records, and measuring new ones.
struct TuningOptions {
  std::optional<Tuning> mode;  // unset: QUERN_TUNE, else lookup
  // What sweeps found: a file of JSON lines that `prepare` looks configs up in. Read when a config is first wanted.
  // Empty: QUERN_RECORDS, $XDG_DATA_HOME/quern/records.jsonl, ~/.local/share/quern/records.jsonl, else none.
  std::string records;
  // Files that are asked below that one, the first one first; below all are those that quern ships. Empty:
  // QUERN_RECORD_LAYERS, a list with colons.
  std::vector<std::string> record_layers;
  // on_prepare: how long tuning may keep one prepare waiting. Unset: QUERN_TUNE_SECONDS, else 10.
  std::optional<double> seconds;
  // background: how much of the time the worker may use the device for, from 0.001 to 1. Unset: QUERN_TUNE_SHARE, else
  // 0.05.
  std::optional<double> share;
  // Device memory that a worker's data may take; its context comes on top. Unset: QUERN_TUNE_MEMORY ("2G"), else 5 % of
  // what is free.
  std::optional<std::uint64_t> memory_bytes;
  // What tunes in the modes on_prepare and background: make_tuner() of libquern_tuner (quern/tuner.h). Null: these two
  // are `lookup`, with a warning.
  std::shared_ptr<Tuner> tuner;
  // The program that measures, started as `WORKER worker`: `quern`, or a program of the application's own that knows
  // its families and then calls serve_worker. A path or a name in PATH. Empty: QUERN_WORKER, else quern in PATH.
  std::string worker;
};

// What makes images.
struct CompilerOptions {
  std::string nvrtc;  // path of the library; empty: the documented search (`quern doctor` prints it)
  // The C++ compiler for the target `host`, a path or a name in PATH. Empty: QUERN_CXX, then c++, g++ and clang++.
  std::string cxx;
  bool lineinfo = false;  // adds -lineinfo, so that profilers name source lines; part of the key
  // Starts NVRTC in a background thread when the Runtime is made, so that the first compile is not slowed by it. Costs
  // a thread for about 100 ms, for which fork() and ~Runtime wait, and the library's memory; opt-in, since a warm cache
  // never needs NVRTC.
  bool warm = false;
  // Where each image made is written as source, PTX and cubin. Empty: QUERN_DUMP, else nowhere.
  std::string dump_dir;
};

struct LogOptions {
  std::optional<LogLevel> level;  // unset: QUERN_LOG, else warning
  // Unset: stderr. Called by any thread that uses the Runtime, also under its internal locks: it must not call quern.
  LogSink sink;
};

class Driver;  // the driver as the Runtime sees it (runtime/driver); a host gives one only in tests

struct Options {
  CacheOptions cache;
  TuningOptions tuning;
  CompilerOptions compiler;
  LogOptions log;
  // A manifest of what was prepared, for `quern prewarm --manifest`. Empty: QUERN_MANIFEST, else none.
  std::string manifest;
  // Path of libcuda, or of the host driver. Empty: the documented search.
  std::string libcuda;
  // Replaces libcuda. Shared with the plans that come from the Runtime.
  std::shared_ptr<Driver> driver;
};

}  // namespace quern

#endif  // QUERN_OPTIONS_H_
