#include "io/gunzip.h"

#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/text.h"

namespace quern::tool {
namespace {

[[noreturn]] void cannot_read(const std::string& path, const std::string& why) {
  throw Error(Code::bad_input, Stage::tool, cat(text_file_name(path), ": ", why));
}

struct Close {
  void operator()(gzFile file) const { gzclose_r(file); }
};

// zlib's messages repeat the path.
std::string reason(gzFile file) {
  int code = 0;
  const std::string words = gzerror(file, &code);
  return code == Z_ERRNO ? std::string(std::strerror(errno)) : words.substr(words.rfind(": ") + 2);
}

}  // namespace

std::string text_file_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string read_text_file(const std::string& path) {
  std::error_code error;
  const bool is_stdin = path == "-";
  if (!is_stdin && !std::filesystem::exists(path, error)) cannot_read(path, "no such file");
  if (!is_stdin && std::filesystem::is_directory(path, error))
    cannot_read(path, "this is a directory; name a file in it");
  const std::unique_ptr<gzFile_s, Close> file(is_stdin ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb"));
  if (!file) cannot_read(path, std::strerror(errno));
  std::string text;
  std::string buffer(1 << 20, '\0');
  int got = 0;
  while ((got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0)
    text.append(buffer, 0, static_cast<std::size_t>(got));
  int code = Z_OK;
  gzerror(file.get(), &code);
  // Reads a truncated stream up to its end; zlib then reports Z_BUF_ERROR.
  if (got < 0 || code == Z_BUF_ERROR)
    cannot_read(path, cat("its gzipped data is truncated or damaged after ", text.size(),
                          " bytes of text: ", reason(file.get())));
  return text;
}

}  // namespace quern::tool
