#include "base/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/files.h"
#include "base/spawn.h"
#include "base/text.h"

namespace quern {
namespace {

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
}

// If the application ignores SIGCHLD, or waits for any child itself, the exit status of ours is lost; its output files
// then have to show whether it succeeded.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == ECHILD) return 0;
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

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

Finished run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& folder,
                     const std::vector<std::string>& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, error_text(errno), errno};
  pid_t child = 0;
  Spawn spawn;
  spawn.no_input().output(ends[1]).error(ends[1]).folder(folder);
  const int error = spawn.start(&child, program, arguments, environment);
  close(ends[1]);
  Finished finished;
  if (error == 0) {
    finished.output = read_all(ends[0]);
    finished.status = wait_for(child);
  } else {
    finished.output = error_text(error);
    finished.error = error;
  }
  close(ends[0]);
  return finished;
}

}  // namespace quern
