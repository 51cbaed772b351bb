// The compiler for GPUs: NVRTC.
#ifndef QUERN_COMPILER_NVRTC_COMPILER_H_
#define QUERN_COMPILER_NVRTC_COMPILER_H_

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "compiler/image.h"
#include "compiler/nvrtc.h"
#include "compiler/source.h"
#include "quern/family.h"

namespace quern {

// Thread-safe; compiles of several threads run side by side. NVRTC is looked for at the first question and opened at
// the first compile.
class NvrtcCompiler {
 public:
  NvrtcCompiler(std::string explicit_path, Environment environment, const Log& log);

  // "nvrtc BUILD-ID builtins BUILD-ID", read without opening the library where that can be; "" where there is none.
  const std::string& identity();
  // The library that is or would be opened; "" where there is none.
  const std::string& path();
  // Every place where it may be; the first that was found is used.
  const std::vector<NvrtcCandidate>& candidates();
  // Opens NVRTC and compiles an empty kernel, so that the first real compile finds it started. Throws Error.
  void warm();
  // Opens NVRTC. Throws Error (no_compiler) that lists each place tried.
  const Nvrtc& nvrtc();

  // The options of one compile, in canonical form and order; they are part of the key. `version` leaves out those that
  // this NVRTC is too old for and that do not change the image; 0: the canonical list.
  static std::vector<std::string> options(const Target& target, bool lineinfo, int version = 0);

  // Whether `target` can be compiled for; if not, `fallback` is the newest virtual architecture below it.
  bool supports(const Target& target, int* fallback = nullptr);

  // Throws Error (unsupported), with what this NVRTC knows, unless it can compile for `target` itself.
  void require(const Target& target);

  // Throws Error (compile) with the log, whose lines name the template's files.
  Image compile(const Unit& unit, const std::string& kernel, const Target& target, bool lineinfo);

 private:
  void search();
  const std::string explicit_path_;
  const Environment environment_;
  const Log& log_;
  std::once_flag searched_;
  std::vector<NvrtcCandidate> searched_places_;  // all that there are where none has it
  std::string chosen_;
  std::string identity_;
  std::once_flag listed_;
  std::vector<NvrtcCandidate> candidates_;
  std::mutex opening_;
  std::optional<Nvrtc> nvrtc_;
};

// Reads registers, memory and spills from the assembler's report in a log.
Resources parse_resources(const std::string& log);

}  // namespace quern

#endif  // QUERN_COMPILER_NVRTC_COMPILER_H_
