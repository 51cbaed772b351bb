// The compiler for GPUs: NVRTC.
#ifndef QUERN_COMPILER_NVRTC_COMPILER_H_
#define QUERN_COMPILER_NVRTC_COMPILER_H_

#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fork_barrier.h"
#include "base/log.h"
#include "compiler/compilation.h"
#include "compiler/nvrtc.h"
#include "quern/family.h"

namespace quern {

// Thread-safe; several threads can compile concurrently, each on its own large stack (base/large_stack.h), and fork()
// waits for all of this (base/fork_barrier.h). NVRTC is searched for when first needed and opened at the first compile.
// Every function may throw Error (io) on a transient failure to look at a place, such as no free file descriptor; such
// a failure is not cached, and the next call looks again.
class NvrtcCompiler {
 public:
  NvrtcCompiler(std::string explicit_path, Environment environment, const Log& log);

  // The text of NvrtcIdentity; "" if there is none. Read without opening the library if possible; once it is open, from
  // the opened library, so that it changes if the file was replaced in between.
  std::string identity();
  // The library that is or would be opened; "" if there is none.
  std::string path();
  // Every place that is searched.
  std::vector<NvrtcCandidate> candidates();
  // Prefers an NVRTC that produces images for a driver of this CUDA version, 12080 for 12.8: one of a newer major
  // version is used only if there is no other, even if it is already open, as after `warm`.
  void suit_driver(int cuda_version);
  // Opens NVRTC and compiles an empty kernel, so that the first real compile does not pay for the start. Throws Error.
  void warm();
  // Opens the first that can be opened; each failure before it logs a warning. Throws Error (no_compiler) that lists
  // each place tried.
  const Nvrtc& nvrtc();

  // The options of one compile, in canonical form and order; they are part of the key. `version` leaves out options
  // that this NVRTC is too old for and that do not change the image; 0: the canonical list.
  static std::vector<std::string> options(const Target& target, bool lineinfo, int version = 0);

  // Whether `target` can be compiled for; if not, `fallback` is the newest virtual architecture below it.
  bool supports(const Target& target, int* fallback = nullptr);

  // Throws Error (unsupported), with what this NVRTC supports, unless it can compile for `target` itself.
  void require(const Target& target);

  // Throws Error (compile) with the log; its lines name the template's files.
  Image compile(const Unit& unit, const std::string& kernel, const Target& target, bool lineinfo);

 private:
  // All REQUIRE that mutex_ is held.
  void find_once();
  bool usable(const NvrtcCandidate& candidate, int most_major) const;
  std::vector<NvrtcCandidate> search(const WantedNvrtc& wanted) const;
  bool try_open();
  static bool supports(const Nvrtc& nvrtc, const Target& target, int* fallback);
  void check_identity();
  bool compile_here(const Nvrtc& nvrtc, const Unit& unit, const std::string& kernel, const Target& target,
                    bool lineinfo, Image& image);

  const std::string explicit_path_;
  const Environment environment_;
  const Log& log_;
  std::atomic<int> driver_major_{0};  // 0: unknown

  ForkSafeMutex mutex_;                            // guards the members below
  std::vector<NvrtcCandidate> places_;             // of the last search
  std::map<std::string, std::string> unopenable_;  // paths, and why
  std::optional<std::string> chosen_;              // its path; "" if there is none
  NvrtcIdentity identity_;                         // of the chosen one
  std::deque<Nvrtc> opened_;                       // never closed: callers hold pointers into them
  const Nvrtc* nvrtc_ = nullptr;                   // the chosen one, once it is open
};

}  // namespace quern

#endif  // QUERN_COMPILER_NVRTC_COMPILER_H_
