// A disk that loses power: writes that were not synced may survive completely, partly, or not at all.
#ifndef QUERN_TESTS_STORE_DISK_MODEL_H_
#define QUERN_TESTS_STORE_DISK_MODEL_H_

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "store/support.h"

namespace quern::cache {

// A call that changes the disk or makes a change durable. Paths are relative to the watched directory, which is ""
// itself.
struct DiskCall {
  enum class Kind {
    make_file,
    write,
    sync_file,
    make_directory,
    remove_directory,
    rename,
    remove,
    sync_directory,
    sync_all
  };
  Kind kind;
  std::string path;
  std::string to;            // of a rename
  int file = -1;             // its identity: names change, the file stays
  std::uint64_t offset = 0;  // of a write
  std::string bytes;
};

// Records the successful calls below `dir`. Times are left out: none is guaranteed to survive.
class RecordingFiles : public ForwardingFileSystem {
 public:
  explicit RecordingFiles(std::string dir);
  long open(const std::string& path, int flags, std::uint32_t mode) override;
  long close(int file) override;
  long write(int file, const void* from, std::size_t bytes) override;
  long write_at(int file, const void* from, std::size_t bytes, std::uint64_t offset) override;
  long sync(int file) override;
  long sync_all(const std::string& directory) override;
  long rename(const std::string& from, const std::string& to) override;
  long remove(const std::string& path) override;
  long make_directory(const std::string& path, std::uint32_t mode) override;
  long remove_directory(const std::string& path) override;

  std::vector<DiskCall> calls;
  std::map<std::string, int> first_files;  // the initial state, and each file's bytes
  std::vector<std::string> first_bytes;
  std::set<std::string> first_directories;

 private:
  struct Opened {
    std::string path;
    int file = -1;  // -1: a directory
    std::uint64_t end = 0;
  };
  long note(long result, DiskCall call);
  std::string inside(const std::string& path) const;
  int known(const std::string& path);

  const std::string dir_;
  std::recursive_mutex mutex_;
  std::map<std::string, int> names_;
  std::map<int, Opened> opened_;
  int files_ = 0;
};

// Enumerates all paths through a function that asks it, one per turn; or takes random ones.
class Choices {
 public:
  int choose(int ways);
  bool next();  // false when all paths were taken
  void at_random(std::uint64_t seed);

 private:
  struct Fork {
    int taken, ways;
  };
  std::vector<Fork> path_;
  std::size_t depth_ = 0;
  std::optional<Random> random_;
};

// The state of the disk after a power failure: names and bytes.
struct DiskState {
  bool exists = true;  // the directory itself
  std::set<std::string> directories;
  std::map<std::string, std::string> files;
  auto operator<=>(const DiskState&) const = default;
};

class DiskModel {
 public:
  explicit DiskModel(const RecordingFiles& recording);
  void apply(const DiskCall& call);
  // A state that is allowed now. The bytes of a file are durable once it was synced; before, they may be missing, half
  // there, short of one, or zeros. A name's changes are durable once its directory was synced; before, a prefix of the
  // changes of each name is there.
  DiskState after_power_loss(Choices& choices) const;

 private:
  struct File {
    std::string durable;
    std::vector<DiskCall> writes;  // since its last sync
  };
  struct Names {
    std::set<std::string> directories;  // "" is the watched one
    std::map<std::string, int> files;
  };
  void make_durable(File& file);
  static void change(Names& names, const DiskCall& call);
  static std::string directory_of(const std::string& path);
  std::string bytes(const File& file, Choices& choices) const;

  std::map<int, File> files_;
  Names durable_;
  std::vector<DiskCall> changes_;  // of names, since their directory's last sync
};

void materialize(const DiskState& state, const std::string& dir);

}  // namespace quern::cache

#endif  // QUERN_TESTS_STORE_DISK_MODEL_H_
