// NVRTC: where it is, which build it is, and its entry points.
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

// An opened NVRTC. Never closed: it keeps threads and static state of its own.
struct Nvrtc {
#define QUERN_NVRTC_MEMBER(member, symbol) decltype(&symbol) member = nullptr;
  QUERN_NVRTC_FUNCTIONS(QUERN_NVRTC_MEMBER)
#undef QUERN_NVRTC_MEMBER
  std::string path;
  int version = 0;                 // 1000 * major + minor: 13000
  std::vector<int> architectures;  // 75, 80, …
};

// A place where NVRTC may be, in the order of the search, and what was found there.
struct NvrtcCandidate {
  std::string path;     // of the library; a bare soname is left to the loader
  std::string why;      // which step of the search named it
  std::string verdict;  // "found", "no such file", …; filled by find_nvrtc
  bool found = false;
};

// CUDA's major version as the file's name tells it, "libnvrtc.so.13"; 0 where it does not.
int major_version(const NvrtcCandidate& candidate);

// The search order: the option or QUERN_NVRTC; a copy that the process has loaded already; NVIDIA's wheels; the conda
// prefix; the loader's path; CUDA_HOME and CUDA_PATH; the toolkit's usual folders; what the loader finds by name.
// With an explicit path nothing else is looked at. Names are exact (libnvrtc.so.13, .12): libnvrtc.alt never matches.
// Ends with the step that finds one which is `wanted`, since each place costs a system call or two; an empty function:
// all steps. Throws Error (io) where a place could not be looked at for a reason that may pass.
using WantedNvrtc = std::function<bool(const NvrtcCandidate&)>;
std::vector<NvrtcCandidate> find_nvrtc(const std::string& explicit_path, const Environment& environment,
                                       const WantedNvrtc& wanted = {});

// The names in a folder that is looked through, none where there is no such folder. Throws Error (io) likewise.
std::vector<std::string> names_in(const std::string& folder);

// The exact build: the ELF build ids of libnvrtc and of its builtins, or a digest of the file where a build id is
// missing. Of a library that this process has loaded from that path, what was loaded counts; of others the files, which
// are not opened as libraries. Throws Error (io) as find_nvrtc does.
struct NvrtcIdentity {
  std::string library;
  std::vector<std::string> builtins;  // of each file or loaded library
  std::string text() const;           // "nvrtc ID builtins ID"; "" where there is no library
};
NvrtcIdentity nvrtc_identity(const std::string& path);
// Corrects `identity` by what was opened; whether that was another build.
bool correct_identity(const Nvrtc& opened, NvrtcIdentity& identity);

// Opens it. Throws Error (no_compiler), or (io) where that may pass.
Nvrtc open_nvrtc(const std::string& path);

}  // namespace quern

#endif  // QUERN_COMPILER_NVRTC_H_
