// Which build a shared library is, without opening it.
#ifndef QUERN_COMPILER_BUILD_ID_H_
#define QUERN_COMPILER_BUILD_ID_H_

#include <string>

namespace quern {

// The ELF build id in hexadecimal; empty where the file has none or is no 64-bit ELF file.
std::string elf_build_id(const std::string& path);

// The build id, else "xxh3:" and a digest of the whole file, else "" where the file cannot be read.
std::string file_identity(const std::string& path);

}  // namespace quern

#endif  // QUERN_COMPILER_BUILD_ID_H_
