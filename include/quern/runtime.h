// The Runtime turns problems into plans. A process may have several; each is thread-safe.
#ifndef QUERN_RUNTIME_H_
#define QUERN_RUNTIME_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "quern/export.h"
#include "quern/family.h"
#include "quern/options.h"
#include "quern/plan.h"

namespace quern {

inline constexpr int kCurrentDevice = -1;

struct PrepareOptions {
  // Ordinal. kCurrentDevice: the device of the calling thread's current context. Any other device is refused, since a
  // plan belongs to a context.
  int device = kCurrentDevice;
  // Changes to the default config of the preferred variant, "threads=128,unroll=2", or a config as it is printed.
  // Empty: the default.
  std::string config;
};

// The result of a compile without a device.
struct Prewarmed {
  std::string problem;
  std::string arch;
  std::vector<ImageInfo> images;
  std::vector<std::string> sources;  // one per image
  std::vector<std::string> ptx;
};

// A layer of the image cache below memory.
struct CacheLayer {
  std::string path;
  std::string kind;  // "directory", "pack", or "missing": it does not exist yet
  bool writable = false;
  std::uint64_t hits = 0;
  std::string unusable;  // why it is not used, or not written to, in one line; empty if it is
};

// Counters since the Runtime was made. Each request for an image counts once in `hits`, `compiles` or their waits;
// entries skipped during the look-up count in `misses` and `refused`.
struct Statistics {
  struct Hits {
    std::uint64_t plan = 0;    // known problems: no image was asked for
    std::uint64_t memory = 0;  // images
    std::uint64_t disk = 0;    // of all layers
  };
  struct Compiles {
    std::uint64_t count = 0;
    double seconds = 0;
    std::uint64_t waits = 0;                // for another thread's compile of the same key
    std::uint64_t process_waits = 0;        // for another process's
    std::uint64_t process_timeouts = 0;     // of those, the waits that timed out and compiled
    std::uint64_t remembered_failures = 0;  // compiles that had failed before and were not retried
  };
  struct Misses {                      // look-ups below memory without a usable entry, because
    std::uint64_t all = 0;             //
    std::uint64_t absent = 0;          //   there was none
    std::uint64_t other_compiler = 0;  // another compiler made it on demand
    std::uint64_t rejected = 0;        // the driver rejected it
  };
  struct Refused {                 // entries and layers that were skipped:
    std::uint64_t damaged = 0;     // damaged entries,
    std::uint64_t foreign = 0;     // another key's entry under this name,
    std::uint64_t untrusted = 0;   // a file that others own or may write,
    std::uint64_t unreadable = 0;  //   a file that could not be read,
    std::uint64_t layers = 0;      // directories and packs that are not trusted, not readable or not packs
  };
  struct Store {
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint64_t not_stored = 0;  // images that were not written to disk: full, or over the limits
    std::uint64_t evictions = 0;   // files removed to stay within the limits
    std::uint64_t evicted_bytes = 0;
    std::uint64_t failures = 0;  // failed file system calls that were ignored
  };
  struct Held {                       // current; known problems share kernels, and kernels share images
    std::uint64_t plans = 0;          // known problems
    std::uint64_t libraries = 0;      // loaded kernels, one per image and context
    std::uint64_t library_bytes = 0;  // of their images; the driver's copies on the device may be larger
    std::uint64_t images = 0;         // in memory
    std::uint64_t image_bytes = 0;    // with their PTX, source and log
  };
  struct Tuning {
    std::uint64_t sweeps = 0;        // problems that were fully tuned, with Tuning::on_prepare or background
    std::uint64_t better_plans = 0;  // plans that switched to a better kernel
  };

  Hits hits;
  Compiles compiles;
  Misses misses;
  Refused refused;
  Store store;
  std::vector<CacheLayer> layers;  // in look-up order
  Held held;
  Tuning tuning;
};

// A problem of any family with its storage, made from text.
class QUERN_API AnyProblem {
 public:
  explicit AnyProblem(const Family& family);
  AnyProblem(const Family& family, const void* problem);
  const Family& family() const { return *family_; }
  const void* data() const { return bytes_.data(); }
  void* data() { return bytes_.data(); }
  // Sets a field from text; throws Error with what would be accepted.
  void set(std::string_view field, std::string_view value);
  std::string get(std::string_view field) const;
  // The family name and every field that differs from its default: can be parsed again.
  std::string text() const;

 private:
  const Family* family_;
  std::vector<unsigned char> bytes_;
};

class RuntimeState;

class QUERN_API Runtime {
 public:
  // Reads the environment, opens nothing: a Runtime can be made without a driver, a device or a compiler.
  Runtime();
  explicit Runtime(Options options);
  // Unloads the kernels of plans that are not held: see the lifetime of plans in plan.h. Waits for its own threads.
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  // A plan for `problem` on the current context's device. May compile, which is logged at level info. May be called
  // during stream capture, by this thread or another: it does not disturb a capture. Throws Error.
  // COST: a known problem under 200 ns, without allocating, and under 350 ns with random access to 100,000 problems; an
  // image on disk under 1 ms; else a compile.
  template <class P>
  Plan<P> prepare(const P& problem, const PrepareOptions& options = {}) {
    return {prepare_any(P::family(), &problem, options), typename Plan<P>::OfItsFamily()};
  }
  template <class P>
  Result<Plan<P>> try_prepare(const P& problem, const PrepareOptions& options = {}) {
    try {
      return prepare(problem, options);
    } catch (const Error& error) {
      return error;
    }
  }
  // The same for a problem of a type unknown here: `problem` points at the family's problem.
  AnyPlan prepare_any(const Family& family, const void* problem, const PrepareOptions& options = {});
  // The same from a problem text, "gather width=8192 dtype=bf16".
  AnyPlan prepare_text(std::string_view problem, const PrepareOptions& options = {});

  // Drops the plans of a problem, in every context; returns their number. Kernels without a plan are then unloaded, so
  // REQUIRES that launches of plans that are not held have finished, and that no graph holds such a launch.
  template <class P>
  std::size_t forget(const P& problem) {
    return forget_any(P::family(), &problem);
  }
  std::size_t forget_any(const Family& family, const void* problem);

  // Waits until compiled images are on disk. prepare does not: an image is used from memory at once, and a thread of
  // the Runtime writes it; ~Runtime waits for that too. A process that exits without destroying its Runtime may lose
  // its last images.
  void flush();

  // Frees everything that is only kept for the next prepare: plans that the caller does not hold, kernels and images in
  // memory that no remaining plan uses, and everything of destroyed contexts (which a prepare in a new context frees
  // too). REQUIRES as `forget`. Disk entries stay. See Statistics::Held.
  void trim();

  // Parses a problem text. Throws Error (bad_input) that says what would be accepted.
  AnyProblem parse(std::string_view problem) const;

  // Compiles every image that `problem` may need on `arch` ("sm_90a") and stores them, so that processes with other
  // compilers hit them too; they are on disk when it returns. Needs no driver and no device. `device_model` restricts
  // it to one row of the table.
  Prewarmed prewarm(const Family& family, const void* problem, std::string_view arch,
                    std::string_view device_model = {}, std::string_view config = {});

  // Registers a family by name, for problem texts. `family` must outlive the Runtime. A second family of the same name
  // is refused.
  void add(const Family& family);
  const Family& family(std::string_view name) const;
  std::vector<const Family*> families() const;

  // Opens layers that have not been used yet.
  Statistics statistics() const;
  RuntimeState& state() { return *state_; }

 private:
  std::unique_ptr<RuntimeState> state_;
};

}  // namespace quern

#endif  // QUERN_RUNTIME_H_
