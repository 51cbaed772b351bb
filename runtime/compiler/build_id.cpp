#include "compiler/build_id.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/text.h"

namespace quern {
namespace {

template <class T>
std::optional<T> read_at(std::ifstream& file, std::uint64_t offset) {
  T value;
  file.clear();
  if (!file.seekg(static_cast<std::streamoff>(offset)) || !file.read(reinterpret_cast<char*>(&value), sizeof(value)))
    return std::nullopt;
  return value;
}

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 3) & ~std::uint64_t{3}; }

// Looks through one PT_NOTE segment.
std::string build_id_in(std::ifstream& file, std::uint64_t at, std::uint64_t end) {
  while (at + sizeof(Elf64_Nhdr) <= end) {
    const auto note = read_at<Elf64_Nhdr>(file, at);
    if (!note || note->n_descsz > 1024 || note->n_namesz > 1024) return {};
    const std::uint64_t description = at + sizeof(Elf64_Nhdr) + aligned(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
      std::vector<char> id(note->n_descsz);
      file.seekg(static_cast<std::streamoff>(description));
      if (file.read(id.data(), static_cast<std::streamsize>(id.size()))) return to_hex(id.data(), id.size());
    }
    at = description + aligned(note->n_descsz);
  }
  return {};
}

}  // namespace

std::string elf_build_id(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + std::uint64_t{i} * header->e_phentsize);
    if (!segment || segment->p_type != PT_NOTE) continue;
    std::string id = build_id_in(file, segment->p_offset, segment->p_offset + segment->p_filesz);
    if (!id.empty()) return id;
  }
  return {};
}

std::string file_identity(const std::string& path) {
  if (std::string id = elf_build_id(path); !id.empty()) return id;
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return cat("xxh3:", hash128(bytes).hex());
}

}  // namespace quern
