#include "compiler/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace quern {
namespace {

// What the child does before it becomes the program.
class Actions {
 public:
  Actions(int output, const std::string& folder) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
}

// Where the application ignores SIGCHLD, or waits for any child itself, nobody can tell how ours ended; what it made
// then has to show it.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == ECHILD) return 0;
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// As posix_spawn wants them.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

Finished run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& folder,
                     const std::vector<std::string>& environment) {
  std::vector<char*> words = pointers(arguments);
  words.insert(words.begin(), const_cast<char*>(program.c_str()));
  std::vector<char*> variables = pointers(environment);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, error_text(errno), errno};
  pid_t child = 0;
  const int error =
      posix_spawn(&child, program.c_str(), Actions(ends[1], folder).get(), nullptr, words.data(), variables.data());
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
