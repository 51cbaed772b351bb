#include "compiler/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

namespace quern {
namespace {

// Reads of a file at any place. Headers and notes stand at its front, so that one read gets them all.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ >= 0) front_bytes_ = std::max<ssize_t>(0, pread(file_, front_.data(), front_.size(), 0));
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

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    T value;
    return read(offset, &value, sizeof(value)) ? std::optional<T>(value) : std::nullopt;
  }

 private:
  const int file_;
  std::array<char, 4096> front_;
  ssize_t front_bytes_ = 0;
};

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 3) & ~std::uint64_t{3}; }

// Looks through one PT_NOTE segment.
std::string build_id_in(const ElfFile& file, std::uint64_t at, std::uint64_t end) {
  while (at + sizeof(Elf64_Nhdr) <= end) {
    const auto note = file.at<Elf64_Nhdr>(at);
    if (!note || note->n_descsz > 1024 || note->n_namesz > 1024) return {};
    const std::uint64_t description = at + sizeof(Elf64_Nhdr) + aligned(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
      std::vector<char> id(note->n_descsz);
      if (file.read(description, id.data(), id.size())) return to_hex(id.data(), id.size());
    }
    at = description + aligned(note->n_descsz);
  }
  return {};
}

}  // namespace

std::string elf_build_id(const std::string& path) {
  const ElfFile file(path);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = file.at<Elf64_Phdr>(header->e_phoff + std::uint64_t{i} * header->e_phentsize);
    if (!segment || segment->p_type != PT_NOTE) continue;
    std::string id = build_id_in(file, segment->p_offset, segment->p_offset + segment->p_filesz);
    if (!id.empty()) return id;
  }
  return {};
}

std::string file_identity(const std::string& path) {
  if (std::string id = elf_build_id(path); !id.empty()) return id;
  const auto bytes = read_file(path);
  return bytes ? cat("xxh3:", hash128(*bytes).hex()) : std::string();
}

}  // namespace quern
