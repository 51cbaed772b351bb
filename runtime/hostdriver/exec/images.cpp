#include "hostdriver/exec/images.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text.h"
#include "hostdriver/exec/report.h"

namespace quern::host {
namespace {

constexpr unsigned char kFatbinMagic[] = {0x50, 0xed, 0x55, 0xba};
constexpr Elf64_Half kMachineCuda = 190;

[[noreturn]] void invalid(const std::string& words) { refuse(CUDA_ERROR_INVALID_IMAGE, words); }
[[noreturn]] void for_gpu(const char* what) {
  invalid(cat("the image is ", what, ", for a GPU: it was prepared for another target than \"host\""));
}

// Stops at the first difference: bytes that are not an image may be short.
bool begins_with(const unsigned char* bytes, std::basic_string_view<unsigned char> magic) {
  for (std::size_t i = 0; i < magic.size(); ++i)
    if (bytes[i] != magic[i]) return false;
  return true;
}

// A PTX text's first statement is ".version", after comments.
bool is_ptx(const unsigned char* bytes) {
  const auto* const text = reinterpret_cast<const char*>(bytes);
  const std::string_view head(text, strnlen(text, 4096));
  return (head.substr(0, 2) == "//" || head.substr(0, 1) == ".") && head.find(".version") != std::string_view::npos;
}

void check_kind(const unsigned char* bytes) {
  if (begins_with(bytes, {reinterpret_cast<const unsigned char*>(ELFMAG), SELFMAG})) return;
  if (begins_with(bytes, {kFatbinMagic, sizeof kFatbinMagic})) for_gpu("a fat binary");
  if (is_ptx(bytes)) for_gpu("PTX");
  invalid("the image is not an ELF file");
}

void check_header(const Elf64_Ehdr& header) {
  if (header.e_machine == kMachineCuda) for_gpu("a cubin");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN)
    invalid("the image is an ELF file, but not a 64-bit shared object");
}

// The end of the last section or segment, because callers do not pass the image's size.
std::size_t length_of(const unsigned char* bytes, const Elf64_Ehdr& header) {
  std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes + header.e_phoff + std::uint64_t{i} * header.e_phentsize, sizeof segment);
    end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  if (end < sizeof header || end > (std::uint64_t{1} << 31)) invalid("the image's ELF header is damaged");
  return static_cast<std::size_t>(end);
}

// The kernel reads the bytes: if they end too early it returns an error instead of a crash.
void write_all(int file, const unsigned char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = write(file, bytes, count);
    if (written <= 0) invalid("the image ends earlier than its ELF header says");
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

std::string path_of(int file) { return cat("/proc/self/fd/", file); }

}  // namespace

HostImage::HostImage(const void* bytes) {
  const auto* const begin = static_cast<const unsigned char*>(bytes);
  check_kind(begin);
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof header);
  check_header(header);
  const std::size_t length = length_of(begin, header);
  file_ = memfd_create("quern_image", MFD_CLOEXEC);
  if (file_ < 0) refuse(CUDA_ERROR_OPERATING_SYSTEM, "cannot create a memory file for the image");
  try {
    write_all(file_, begin, length);
    open();
  } catch (...) {
    close();
    throw;
  }
}

HostImage::~HostImage() { close(); }

void HostImage::open() {
  handle_ = dlopen(path_of(file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) invalid(cat("the image cannot be loaded: ", dlerror()));  // NOLINT(concurrency-mt-unsafe)
  image_ = static_cast<const twin::Image*>(dlsym(handle_, "quern_image"));
  if (image_ == nullptr) invalid("the image is a shared object, but has no quern_image");
  if (image_->abi_version != twin::kAbiVersion)
    invalid(cat("the image has version ", image_->abi_version, " of the interface, this driver ", twin::kAbiVersion));
  if (image_->kernel == nullptr || image_->run == nullptr) invalid("the image names no kernel");
}

// The loader identifies objects by path: if one stays loaded (it has unique symbols), its number must not be reused for
// another file, or the next image would resolve to this one.
void HostImage::close() noexcept {
  if (handle_ != nullptr) dlclose(handle_);
  void* const left = file_ < 0 ? nullptr : dlopen(path_of(file_).c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (left != nullptr)
    dlclose(left);
  else if (file_ >= 0)
    ::close(file_);
}

}  // namespace quern::host
