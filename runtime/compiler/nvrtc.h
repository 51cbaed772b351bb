// NVRTC: its location, its exact build, and its entry points.
#ifndef QUERN_COMPILER_NVRTC_H_
#define QUERN_COMPILER_NVRTC_H_

#include <nvrtc.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/environment.h"

namespace quern {

#define QUERN_NVRTC_FUNCTIONS(ROW)                     \
  ROW(Version, nvrtcVersion)                           \
  ROW(GetNumSupportedArchs, nvrtcGetNumSupportedArchs) \
  ROW(GetSupportedArchs, nvrtcGetSupportedArchs)       \
  ROW(CreateProgram, nvrtcCreateProgram)               \
  ROW(DestroyProgram, nvrtcDestroyProgram)             \
  ROW(CompileProgram, nvrtcCompileProgram)             \
  ROW(GetPTXSize, nvrtcGetPTXSize)                     \
  ROW(GetPTX, nvrtcGetPTX)                             \
  ROW(GetCUBINSize, nvrtcGetCUBINSize)                 \
  ROW(GetCUBIN, nvrtcGetCUBIN)                         \
  ROW(GetProgramLogSize, nvrtcGetProgramLogSize)       \
  ROW(GetProgramLog, nvrtcGetProgramLog)               \
  ROW(GetErrorString, nvrtcGetErrorString)

// An opened NVRTC. Never closed: it keeps its own threads and static state.
struct Nvrtc {
#define QUERN_NVRTC_MEMBER(member, symbol) decltype(&symbol) member = nullptr;
  QUERN_NVRTC_FUNCTIONS(QUERN_NVRTC_MEMBER)
#undef QUERN_NVRTC_MEMBER
  std::string path;
  int version = 0;                 // 1000 * major + minor: 13000
  std::vector<int> architectures;  // 75, 80, …
};

// A place where NVRTC may be, in search order, and the result of the search there.
struct NvrtcCandidate {
  std::string path;     // of the library; the loader resolves a bare soname
  std::string why;      // the search step that named it
  std::string verdict;  // "found", "no such file", …; filled by find_nvrtc
  bool found = false;
};

// CUDA's major version from the file's name, "libnvrtc.so.13"; 0 if the name has none.
int major_version(const NvrtcCandidate& candidate);

// The search order: the option or QUERN_NVRTC; a copy that the process has already loaded; NVIDIA's wheels; the conda
// prefix; the loader's path; CUDA_HOME and CUDA_PATH; the toolkit's usual folders; a bare name resolved by the loader.
// With an explicit path nothing else is searched. Names are exact (libnvrtc.so.13, .12): libnvrtc.alt never matches.
// Stops at the first step that finds a `wanted` one, since each place costs a system call or two; an empty function:
// all steps. Throws Error (io) on a transient failure to look at a place.
using WantedNvrtc = std::function<bool(const NvrtcCandidate&)>;
std::vector<NvrtcCandidate> find_nvrtc(const std::string& explicit_path, const Environment& environment,
                                       const WantedNvrtc& wanted = {});

// The names in a searched folder; none if it does not exist. Throws Error (io) likewise.
std::vector<std::string> names_in(const std::string& folder);

// The exact build: the ELF build ids of libnvrtc and of its builtins, or a digest of the file if a build id is missing.
// For a library that this process has loaded from that path, the loaded copy counts; for others the files, which are
// not opened as libraries. Throws Error (io) as find_nvrtc does.
struct NvrtcIdentity {
  std::string library;
  std::vector<std::string> builtins;  // of each file or loaded library
  std::string text() const;           // "nvrtc ID builtins ID"; "" if there is no library
};
NvrtcIdentity nvrtc_identity(const std::string& path);
// Updates `identity` from the opened library; returns whether it was another build.
bool correct_identity(const Nvrtc& opened, NvrtcIdentity& identity);

// Opens it. Throws Error (no_compiler), or (io) for a transient failure.
Nvrtc open_nvrtc(const std::string& path);

}  // namespace quern

#endif  // QUERN_COMPILER_NVRTC_H_
