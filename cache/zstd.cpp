#include "cache/zstd.h"

#include <dlfcn.h>

#include <utility>

#include "base/fork_barrier.h"
#include "base/text.h"
#include "quern/error.h"

namespace quern::cache {
namespace {

constexpr const char* kLibrary = "libzstd.so.1";
constexpr int kLevel = 9;

}  // namespace

const Zstd* Zstd::open(std::string* why_not) {
  static const Zstd library(kLibrary);
  if (library) return &library;
  if (why_not != nullptr)
    *why_not =
        cat("a compressed pack needs ", kLibrary,
            ", which cannot be used here; install zstd's library (libzstd1 of Debian and Ubuntu, libzstd of Fedora)");
  return nullptr;
}

template <class Function>
bool Zstd::find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

// Never closed: it is used until the process ends.
Zstd::Zstd(const char* library) {
  const ForkSection section;
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  ready_ = handle != nullptr && find(handle, "ZSTD_compressBound", bound_) &&
           find(handle, "ZSTD_compress", compress_) && find(handle, "ZSTD_decompress", decompress_) &&
           find(handle, "ZSTD_getFrameContentSize", content_) && find(handle, "ZSTD_isError", is_error_) &&
           find(handle, "ZSTD_getErrorName", error_name_);
}

std::string Zstd::compress(std::string_view bytes) const {
  std::string frame(bound_(bytes.size()), '\0');
  const std::size_t size = compress_(frame.data(), frame.size(), bytes.data(), bytes.size(), kLevel);
  if (is_error_(size) != 0) throw Error(Code::io, Stage::store, cat("zstd cannot compress: ", error_name_(size)));
  frame.resize(size);
  return frame;
}

bool Zstd::decompress(std::string_view frame, std::size_t size, std::string* bytes, std::string* why_not) const {
  std::string why = "its size differs from the index row";
  if (content_(frame.data(), frame.size()) == size) {
    bytes->resize(size);
    const std::size_t got = decompress_(bytes->data(), size, frame.data(), frame.size());
    if (got == size) return true;
    if (is_error_(got) != 0) why = cat("zstd cannot decompress it: ", error_name_(got));
  }
  if (why_not != nullptr) *why_not = std::move(why);
  return false;
}

}  // namespace quern::cache
