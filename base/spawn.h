// Starting another program: what both ways of talking with one have in common.
#ifndef QUERN_BASE_SPAWN_H_
#define QUERN_BASE_SPAWN_H_

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace quern {

// What the child does before it becomes the program. One thread.
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
  Spawn& folder(const std::string& path);  // "": here
  Spawn& no_other_files();                 // but standard error; where glibc can, from 2.34 on
  Spawn& own_group();                      // a process group, so that what it starts can be ended with it

  // `program` is a path; no shell. `environment`: all that it gets, "NAME=value" each. 0 or an errno value.
  int start(pid_t* child, const std::string& program, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment) const;

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace quern

#endif  // QUERN_BASE_SPAWN_H_
