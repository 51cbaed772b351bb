// Which build a shared library is.
#ifndef QUERN_COMPILER_BUILD_ID_H_
#define QUERN_COMPILER_BUILD_ID_H_

#include <string>
#include <vector>

namespace quern {

// All of these throw Error (io) where a file could not be looked at for a reason that may pass, as with no free
// descriptor: that is not the answer "has none".

// The ELF build id in hexadecimal, read from the file without opening the library; empty where the file has none or is
// not a 64-bit ELF file.
std::string elf_build_id(const std::string& path);

// The build id, else "xxh3:" and a digest of the whole file, else "" where there is no such file.
std::string file_identity(const std::string& path);

// A library that this process has loaded, with the build id of what was loaded, whatever lies at its path now; "" where
// it has none.
struct LoadedLibrary {
  std::string path;
  std::string build_id;
};
// The one that holds `address`; empty if none does.
LoadedLibrary loaded_library(const void* address);
// Those whose path holds `words`.
std::vector<LoadedLibrary> loaded_libraries(const std::string& words);

}  // namespace quern

#endif  // QUERN_COMPILER_BUILD_ID_H_
