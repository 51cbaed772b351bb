#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "base/files.h"
#include "base/spawn.h"
#include "base/text.h"
#include "quern/error.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

// Our environment as "NAME=value" strings, with `variables` added or replaced.
std::vector<std::string> environment_with(const ChildProcess::Variables& variables) {
  std::vector<std::string> all;
  for (const auto& [name, value] : variables) all.push_back(cat(name, "=", value));
  const auto said = [&](std::string_view entry) {
    return std::any_of(variables.begin(), variables.end(),
                       [&](const auto& variable) { return entry.substr(0, entry.find('=')) == variable.first; });
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!said(*entry)) all.emplace_back(*entry);
  }
  return all;
}

std::string words_for(int status) {
  if (WIFSIGNALED(status)) return cat("signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
  return cat("exit status ", WEXITSTATUS(status));
}

}  // namespace

ChildProcess::ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
                           const Variables& variables) {
  std::array<int, 2> ends{};
  int error = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0 ? 0 : errno;
  if (error == 0) {
    Spawn spawn;
    // The child must not inherit sockets and pipes that the host has open, whatever their close-on-exec flags are.
    spawn.input(ends[1]).output(ends[1]).no_other_files().own_group();
    error = spawn.start(&child_, program, arguments, environment_with(variables));
    close(ends[1]);
    socket_ = ends[0];
  }
  if (error == 0) return;
  if (socket_ >= 0) close(socket_);
  throw Error(Code::io, Stage::tool, cat("cannot start ", program, ": ", error_text(error)));
}

ChildProcess::~ChildProcess() {
  end();
  close(socket_);
}

bool ChildProcess::write_line(std::string_view line) const {
  const std::string text = cat(line, "\n");
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return true;
}

ChildProcess::Reading ChildProcess::read_line(std::string* line, std::chrono::milliseconds limit) {
  const Clock::time_point until = Clock::now() + limit;
  std::array<char, 65536> buffer;
  for (;;) {
    if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
      *line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return Reading::line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd ready = {socket_, POLLIN, 0};
    const int polled = left.count() > 0 ? poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (polled == 0) return Reading::timeout;
    if (polled < 0 && errno == EINTR) continue;
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
    if (count == 0 || (count < 0 && errno != EINTR)) return Reading::end;
    if (count > 0) read_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

std::string ChildProcess::end(std::chrono::milliseconds patience) {
  if (child_ < 0) return "ended before";
  const pid_t child = std::exchange(child_, -1);
  const Clock::time_point until = Clock::now() + patience;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && Clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(-child, SIGKILL);  // the whole group, with any compiler that it started
  while (ended == 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) ended = 0;
  return ended == child ? words_for(status) : "unknown exit status (reaped elsewhere)";
}

}  // namespace quern
