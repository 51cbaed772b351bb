#include "compiler/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "quern/error.h"

namespace quern {
namespace {

void refuse_passing(const std::string& path, int error) {
  if (may_pass(error))
    throw Error(Code::io, Stage::compile, cat("could not read ", path, ": ", error_text(error), "; try again"));
}

// Reads of a file at any offset. Headers and notes are at its start, so that usually one read gets them all.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) {
      refuse_passing(path, errno);
      return;
    }
    front_bytes_ = std::max<ssize_t>(0, pread(file_, front_.data(), front_.size(), 0));
  }
  ~ElfFile() {
    if (file_ >= 0) close(file_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool read(std::uint64_t offset, void* to, std::size_t bytes) const {
    const auto front = static_cast<std::uint64_t>(front_bytes_);
    if (offset <= front && bytes <= front - offset) {
      std::memcpy(to, front_.data() + offset, bytes);
      return true;
    }
    return file_ >= 0 && pread(file_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

 private:
  const int file_;
  std::array<char, 4096> front_;
  ssize_t front_bytes_ = 0;
};

// Copies bytes from an offset; false if there are none.
using Read = std::function<bool(std::uint64_t offset, void* to, std::size_t bytes)>;

template <class T>
std::optional<T> at(const Read& read, std::uint64_t offset) {
  T value;
  return read(offset, &value, sizeof(value)) ? std::optional<T>(value) : std::nullopt;
}

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 3) & ~std::uint64_t{3}; }

// Searches one PT_NOTE segment.
std::string build_id_in(const Read& read, std::uint64_t begin, std::uint64_t end) {
  while (begin + sizeof(Elf64_Nhdr) <= end) {
    const auto note = at<Elf64_Nhdr>(read, begin);
    if (!note || note->n_descsz > 1024 || note->n_namesz > 1024) return {};
    const std::uint64_t description = begin + sizeof(Elf64_Nhdr) + aligned(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
      std::vector<char> id(note->n_descsz);
      if (read(description, id.data(), id.size())) return to_hex(id.data(), id.size());
    }
    begin = description + aligned(note->n_descsz);
  }
  return {};
}

bool copy_from_memory(std::uint64_t address, void* to, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);  // NOLINT(performance-no-int-to-ptr)
  return true;
}

std::string build_id_of(const dl_phdr_info& module) {
  for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const std::uint64_t begin = module.dlpi_addr + segment.p_vaddr;
    std::string id = build_id_in(copy_from_memory, begin, begin + segment.p_memsz);
    if (!id.empty()) return id;
  }
  return {};
}

bool holds(const dl_phdr_info& module, std::uint64_t address) {
  for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    const std::uint64_t begin = module.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address - begin < segment.p_memsz) return true;
  }
  return false;
}

// Calls `visit` for each library of this process.
void visit_libraries(const std::function<void(const dl_phdr_info&)>& visit) {
  const auto call = [](dl_phdr_info* module, std::size_t, void* data) {
    (*static_cast<const std::function<void(const dl_phdr_info&)>*>(data))(*module);
    return 0;
  };
  dl_iterate_phdr(call, const_cast<std::function<void(const dl_phdr_info&)>*>(&visit));
}

LoadedLibrary describe(const dl_phdr_info& module) {
  return {module.dlpi_name == nullptr ? "" : module.dlpi_name, build_id_of(module)};
}

}  // namespace

std::string elf_build_id(const std::string& path) {
  const ElfFile file(path);
  const Read read = [&](std::uint64_t offset, void* to, std::size_t bytes) { return file.read(offset, to, bytes); };
  const auto header = at<Elf64_Ehdr>(read, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(read, header->e_phoff + std::uint64_t{i} * header->e_phentsize);
    if (!segment || segment->p_type != PT_NOTE) continue;
    std::string id = build_id_in(read, segment->p_offset, segment->p_offset + segment->p_filesz);
    if (!id.empty()) return id;
  }
  return {};
}

std::string file_identity(const std::string& path) {
  if (std::string id = elf_build_id(path); !id.empty()) return id;
  std::string bytes;
  const int error = read_file(path, &bytes);
  refuse_passing(path, error);
  return error == 0 ? cat("xxh3:", hash128(bytes).hex()) : std::string();
}

LoadedLibrary loaded_library(const void* address) {
  LoadedLibrary found;
  visit_libraries([&](const dl_phdr_info& module) {
    if (holds(module, reinterpret_cast<std::uintptr_t>(address))) found = describe(module);
  });
  return found;
}

std::vector<LoadedLibrary> loaded_libraries(const std::string& words) {
  std::vector<LoadedLibrary> found;
  visit_libraries([&](const dl_phdr_info& module) {
    if (module.dlpi_name != nullptr && std::strstr(module.dlpi_name, words.c_str()) != nullptr)
      found.push_back(describe(module));
  });
  return found;
}

}  // namespace quern
