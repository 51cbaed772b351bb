#include "base/spawn.h"

#include <fcntl.h>
#include <unistd.h>

namespace quern {
namespace {

// Argument and environment arrays for posix_spawn.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

Spawn::Spawn() {
  posix_spawn_file_actions_init(&actions_);
  posix_spawnattr_init(&attributes_);
}

Spawn::~Spawn() {
  posix_spawn_file_actions_destroy(&actions_);
  posix_spawnattr_destroy(&attributes_);
}

Spawn& Spawn::no_input() {
  posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  return *this;
}
Spawn& Spawn::input(int file) {
  posix_spawn_file_actions_adddup2(&actions_, file, STDIN_FILENO);
  return *this;
}
Spawn& Spawn::output(int file) {
  posix_spawn_file_actions_adddup2(&actions_, file, STDOUT_FILENO);
  return *this;
}
Spawn& Spawn::error(int file) {
  posix_spawn_file_actions_adddup2(&actions_, file, STDERR_FILENO);
  return *this;
}
Spawn& Spawn::folder(const std::string& path) {
  if (!path.empty()) posix_spawn_file_actions_addchdir_np(&actions_, path.c_str());
  return *this;
}
Spawn& Spawn::no_other_files() {
#if __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
#endif
  return *this;
}
Spawn& Spawn::own_group() {
  posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes_, 0);
  return *this;
}

int Spawn::start(pid_t* child, const std::string& program, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment) const {
  std::vector<char*> words = pointers(arguments);
  words.insert(words.begin(), const_cast<char*>(program.c_str()));
  return posix_spawn(child, program.c_str(), &actions_, &attributes_, words.data(), pointers(environment).data());
}

}  // namespace quern
