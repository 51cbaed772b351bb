// Identifies the build of a shared library.
#ifndef QUERN_COMPILER_BUILD_ID_H_
#define QUERN_COMPILER_BUILD_ID_H_

#include <string>
#include <vector>

namespace quern {

// All of these throw Error (io) on a transient failure to read a file, such as no free descriptor: that is different
// from "has no build id".

// The ELF build id in hexadecimal, read from the file without opening the library; empty if the file has none or is not
// a 64-bit ELF file.
std::string elf_build_id(const std::string& path);

// The build id, else "xxh3:" and a digest of the whole file, else "" if there is no such file.
std::string file_identity(const std::string& path);

// A library that this process has loaded, with the build id in memory, whatever file is at its path now; "" if it has
// none.
struct LoadedLibrary {
  std::string path;
  std::string build_id;
};
// The library that contains `address`; empty if none does.
LoadedLibrary loaded_library(const void* address);
// Those with `words` in their path.
std::vector<LoadedLibrary> loaded_libraries(const std::string& words);

}  // namespace quern

#endif  // QUERN_COMPILER_BUILD_ID_H_
