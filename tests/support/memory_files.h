// A file system in memory, whose files may have any contents, kind, owner, mode and time.
#ifndef QUERN_TESTS_SUPPORT_MEMORY_FILES_H_
#define QUERN_TESTS_SUPPORT_MEMORY_FILES_H_

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/files.h"

namespace quern::test {

// Paths are absolute and canonical; links are not followed. Time does not advance.
class MemoryFiles : public FileSystem {
 public:
  explicit MemoryFiles(std::int64_t now_unix_ns = 0, std::uint32_t user = 1000) : now_(now_unix_ns), user_(user) {
    put("/", FileKind::directory);
  }

  // Creates or replaces the file, and creates missing parent directories. The caller may change the returned status.
  FileStatus& put(const std::string& path, FileKind kind, std::string bytes = {}) {
    const std::string above = parent_directory(path);
    if (above != path && nodes_.count(above) == 0) put(above, FileKind::directory);
    nodes_[path] = new_node(kind, kind == FileKind::directory ? 0700 : 0600, std::move(bytes));
    return nodes_[path]->status;
  }

  long open(const std::string& path, int flags, std::uint32_t mode) override {
    const std::lock_guard lock(mutex_);
    auto place = nodes_.find(path);
    if (place == nodes_.end()) {
      if ((flags & O_CREAT) == 0 || nodes_.count(parent_directory(path)) == 0) return -ENOENT;
      place = nodes_.emplace(path, new_node(FileKind::regular, mode, {})).first;
    } else if (const long fault = opening_fault(place->second->status.kind, flags)) {
      return fault;
    }
    open_[++last_] = {place->second, (flags & O_APPEND) != 0 ? place->second->bytes.size() : 0};
    return last_;
  }
  long close(int file) override {
    const std::lock_guard lock(mutex_);
    return open_.erase(file) == 1 ? 0 : -EBADF;
  }

  long read(int file, void* to, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    Open& from = open_[file];
    const std::size_t got = copy(*from.node, to, bytes, from.at);
    from.at += got;
    return static_cast<long>(got);
  }
  long read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) override {
    const std::lock_guard lock(mutex_);
    return static_cast<long>(copy(*open_[file].node, to, bytes, offset));
  }
  long write(int file, const void* from, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    Open& to = open_[file];
    overwrite(*to.node, {static_cast<const char*>(from), bytes}, to.at);
    to.at += bytes;
    return static_cast<long>(bytes);
  }
  long write_at(int file, const void* from, std::size_t bytes, std::uint64_t offset) override {
    const std::lock_guard lock(mutex_);
    overwrite(*open_[file].node, {static_cast<const char*>(from), bytes}, offset);
    return static_cast<long>(bytes);
  }
  long truncate(int file, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    open_[file].node->bytes.resize(static_cast<std::size_t>(bytes));
    return 0;
  }
  long sync(int) override { return 0; }
  long sync_all(const std::string&) override { return 0; }
  long try_lock(int) override { return 0; }
  long unlock(int) override { return 0; }

  long status(int file, FileStatus* status) override {
    const std::lock_guard lock(mutex_);
    *status = status_of(*open_[file].node);
    return 0;
  }
  long status(const std::string& path, FileStatus* status) override {
    const std::lock_guard lock(mutex_);
    const auto place = nodes_.find(path);
    if (place == nodes_.end()) return -ENOENT;
    *status = status_of(*place->second);
    return 0;
  }
  long set_modified(int file, std::int64_t unix_ns) override {
    const std::lock_guard lock(mutex_);
    open_[file].node->status.modified_ns = unix_ns;
    return 0;
  }
  long set_modified(const std::string& path, std::int64_t unix_ns) override {
    const std::lock_guard lock(mutex_);
    const auto place = nodes_.find(path);
    if (place == nodes_.end()) return -ENOENT;
    place->second->status.modified_ns = unix_ns;
    return 0;
  }

  long rename(const std::string& from, const std::string& to) override {
    const std::lock_guard lock(mutex_);
    const auto source = nodes_.find(from);
    const auto target = nodes_.find(to);
    if (source == nodes_.end()) return -ENOENT;
    if (target != nodes_.end() && target->second->status.kind == FileKind::directory) return -EISDIR;
    nodes_[to] = source->second;
    nodes_.erase(from);
    return 0;
  }
  long remove(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    const auto place = nodes_.find(path);
    if (place == nodes_.end()) return -ENOENT;
    if (place->second->status.kind == FileKind::directory) return -EISDIR;
    nodes_.erase(place);
    return 0;
  }
  long make_directory(const std::string& path, std::uint32_t mode) override {
    const std::lock_guard lock(mutex_);
    if (nodes_.count(parent_directory(path)) == 0) return -ENOENT;
    if (nodes_.count(path) != 0) return -EEXIST;
    nodes_[path] = new_node(FileKind::directory, mode, {});
    return 0;
  }
  long remove_directory(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    const auto place = nodes_.find(path);
    if (place == nodes_.end()) return -ENOENT;
    if (place->second->status.kind != FileKind::directory) return -ENOTDIR;
    if (!names_in(path).empty()) return -ENOTEMPTY;
    nodes_.erase(place);
    return 0;
  }
  long list(const std::string& path, std::vector<std::string>* names) override {
    const std::lock_guard lock(mutex_);
    const auto place = nodes_.find(path);
    if (place == nodes_.end()) return -ENOENT;
    if (place->second->status.kind != FileKind::directory) return -ENOTDIR;
    *names = names_in(path);
    return 0;
  }
  long can_write(const std::string&) override { return 0; }
  long resolve(const std::string& path, std::string* canonical) override {
    const std::lock_guard lock(mutex_);
    if (nodes_.count(path) == 0) return -ENOENT;
    *canonical = path;
    return 0;
  }

  std::uint32_t user() override { return user_; }
  std::int64_t now_unix_ns() override { return now_; }

 private:
  struct Node {
    FileStatus status;
    std::string bytes;
  };
  struct Open {
    std::shared_ptr<Node> node;
    std::size_t at = 0;
  };

  std::shared_ptr<Node> new_node(FileKind kind, std::uint32_t mode, std::string bytes) {
    FileStatus status;
    status.kind = kind;
    status.owner = user_;
    status.mode = mode;
    status.modified_ns = now_;
    status.inode = ++inodes_;
    return std::make_shared<Node>(Node{status, std::move(bytes)});
  }

  static long opening_fault(FileKind kind, int flags) {
    if ((flags & O_EXCL) != 0) return -EEXIST;
    if (kind == FileKind::link) return (flags & O_NOFOLLOW) != 0 ? -ELOOP : -ENOENT;
    if (kind == FileKind::directory) return (flags & O_ACCMODE) == O_RDONLY ? 0 : -EISDIR;
    return (flags & O_DIRECTORY) != 0 ? -ENOTDIR : 0;
  }

  static std::size_t copy(const Node& from, void* to, std::size_t bytes, std::uint64_t offset) {
    if (offset >= from.bytes.size()) return 0;
    const std::size_t got = std::min(bytes, from.bytes.size() - static_cast<std::size_t>(offset));
    std::memcpy(to, from.bytes.data() + offset, got);
    return got;
  }

  static void overwrite(Node& to, std::string_view bytes, std::uint64_t offset) {
    to.bytes.resize(std::max<std::size_t>(to.bytes.size(), offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), to.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  static FileStatus status_of(const Node& node) {
    FileStatus status = node.status;
    status.bytes = node.bytes.size();
    return status;
  }

  std::vector<std::string> names_in(const std::string& directory) const {
    std::vector<std::string> names;
    for (const auto& [path, node] : nodes_) {
      if (path != directory && parent_directory(path) == directory) names.push_back(path.substr(path.rfind('/') + 1));
    }
    return names;
  }

  const std::int64_t now_;
  const std::uint32_t user_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Node>> nodes_;
  std::map<int, Open> open_;
  int last_ = 2;
  std::uint64_t inodes_ = 0;
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_MEMORY_FILES_H_
