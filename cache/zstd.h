// libzstd, loaded at first use: only compressed packs need it.
#ifndef QUERN_CACHE_ZSTD_H_
#define QUERN_CACHE_ZSTD_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::cache {

// Thread-safe. Lives as long as the process.
class Zstd {
 public:
  // The system's, or null with a message that says what to install.
  static const Zstd* open(std::string* why_not);
  // A library by another name. Never destroyed: static objects of the application may still read packs.
  explicit Zstd(const char* library);

  // One frame. Throws Error (io) if there is no memory for it.
  std::string compress(std::string_view bytes) const;
  // Decompresses `frame`, which must state a content size of exactly `size` bytes (checked before any allocation) and
  // have it. Returns false with a reason otherwise.
  bool decompress(std::string_view frame, std::size_t size, std::string* bytes, std::string* why_not) const;

  explicit operator bool() const { return ready_; }

 private:
  template <class Function>
  bool find(void* library, const char* name, Function*& function);

  // From its manual: sizes are in bytes, and a result above a limit is an error.
  std::size_t (*bound_)(std::size_t) = nullptr;
  std::size_t (*compress_)(void*, std::size_t, const void*, std::size_t, int) = nullptr;
  std::size_t (*decompress_)(void*, std::size_t, const void*, std::size_t) = nullptr;
  unsigned long long (*content_)(const void*, std::size_t) = nullptr;  // the content size that a frame states
  unsigned (*is_error_)(std::size_t) = nullptr;
  const char* (*error_name_)(std::size_t) = nullptr;
  bool ready_ = false;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_ZSTD_H_
