#include "base/find_program.h"

#include <unistd.h>

#include <filesystem>

#include "base/text.h"

namespace quern {

bool runnable(const std::string& path) {
  std::error_code error;
  return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, error);
}

std::string find_program(const std::string& name, std::string_view folders) {
  if (name.find('/') != std::string::npos) return runnable(name) ? name : "";
  for (const std::string_view folder : split(folders, ':')) {
    std::string path = cat(folder, "/", name);
    if (!folder.empty() && runnable(path)) return path;
  }
  return {};
}

}  // namespace quern
