#include "io/named_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "io/command.h"

namespace quern::tool {
namespace {

constexpr int kMostLinks = 40;  // Linux's limit

struct Destination {
  std::string path;
  bool in_place;  // it exists and is not a regular file
};

// The text of such a link describes an open file; it is not a path.
bool is_link_of_proc(const std::string& path) {
  std::error_code error;
  const std::string parent = std::filesystem::canonical(parent_directory(path), error).string();
  return !error && parent.rfind("/proc/", 0) == 0;
}

std::string target_of_link(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  return (std::filesystem::path(path).parent_path() / target).string();
}

// For a cycle of links: one of their names, which cannot be opened.
Destination destination_of(std::string path) {
  std::error_code error;
  for (int links = 0; links < kMostLinks; ++links) {
    const auto type = std::filesystem::symlink_status(path, error).type();
    if (type != std::filesystem::file_type::symlink) {
      const bool replaced =
          type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found;
      return {path, !replaced};
    }
    if (is_link_of_proc(path)) break;
    path = target_of_link(path);
  }
  return {path, true};
}

void write_in_place(const std::string& path, std::string_view bytes) {
  OpenFile file(real_file_system(), path, O_WRONLY | O_TRUNC);
  int error = file.error();
  if (error == 0) error = write_all(real_file_system(), file.get(), bytes);
  if (const int closing = file.close(); error == 0) error = closing;
  if (error != 0) throw Error(Code::io, Stage::tool, cat("cannot write ", path, ": ", error_text(error)));
}

}  // namespace

std::string follow_links(const std::string& path) { return destination_of(path).path; }

std::string replaced_file(const std::string& path) {
  const Destination destination = destination_of(path);
  if (destination.in_place) return {};
  std::error_code error;
  const std::filesystem::path whole =
      std::filesystem::weakly_canonical(std::filesystem::absolute(destination.path), error);
  return error ? destination.path : whole.string();
}

void check_named_file(std::string_view what, const std::string& path) {
  std::error_code error;
  const std::string named = cat(what, " ", path);
  if (std::filesystem::is_directory(path, error)) throw wrong(cat(named, " is a directory; name a file"));
  const Destination destination = destination_of(path);
  const std::string place = destination.in_place ? destination.path : parent_directory(destination.path);
  if (!destination.in_place && !std::filesystem::is_directory(place, error))
    throw wrong(cat(named, ": the directory ", place, " does not exist"));
  if (access(place.c_str(), W_OK) != 0) throw wrong(cat(named, ": ", place, " cannot be written to"));
}

void write_named_file(const std::string& path, std::string_view bytes) {
  const Destination destination = destination_of(path);
  if (destination.in_place) return write_in_place(destination.path, bytes);
  std::string why_not;
  if (!write_file_atomically(destination.path, bytes, &why_not)) throw Error(Code::io, Stage::tool, why_not);
}

}  // namespace quern::tool
