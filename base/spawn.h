// posix_spawn with its file actions: shared by run_program and ChildProcess.
#ifndef QUERN_BASE_SPAWN_H_
#define QUERN_BASE_SPAWN_H_

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace quern {

// Set-up of the child before exec. Not thread-safe.
class Spawn {
 public:
  Spawn();
  ~Spawn();
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  Spawn& no_input();  // standard input is /dev/null
  Spawn& input(int file);
  Spawn& output(int file);
  Spawn& error(int file);
  Spawn& folder(const std::string& path);  // "": the current one
  Spawn& no_other_files();                 // except standard error; needs glibc 2.34
  Spawn& own_group();                      // a process group, so that its descendants can be killed with it

  // `program` is a path; no shell. `environment`: its complete environment, as "NAME=value" strings. Returns 0 or an
  // errno value.
  int start(pid_t* child, const std::string& program, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment) const;

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace quern

#endif  // QUERN_BASE_SPAWN_H_
