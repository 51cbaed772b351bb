#include "store/disk_model.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>

namespace quern::cache {

using Kind = DiskCall::Kind;

// ---- RecordingFiles

RecordingFiles::RecordingFiles(std::string dir) : dir_(std::move(dir)) {
  namespace fs = std::filesystem;
  if (!fs::exists(dir_)) return;
  first_directories.insert("");
  for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
    const std::string path = inside(entry.path().string());
    if (entry.is_directory()) {
      first_directories.insert(path);
    } else {
      first_files[path] = names_[path] = files_++;
      first_bytes.push_back(*read_file(entry.path().string()));
    }
  }
}

std::string RecordingFiles::inside(const std::string& path) const {
  return path.size() > dir_.size() ? path.substr(dir_.size() + 1) : "";
}

long RecordingFiles::note(long result, DiskCall call) {
  const std::lock_guard lock(mutex_);
  if (result >= 0) calls.push_back(std::move(call));
  return result;
}

int RecordingFiles::known(const std::string& path) {
  const auto found = names_.find(path);
  return found == names_.end() ? -1 : found->second;
}

long RecordingFiles::open(const std::string& path, int flags, std::uint32_t mode) {
  const std::lock_guard lock(mutex_);
  const long file = ForwardingFileSystem::open(path, flags, mode);
  if (file < 0) return file;
  const std::string name = inside(path);
  if ((flags & O_CREAT) != 0 && known(name) < 0) {
    names_[name] = files_++;
    note(0, {Kind::make_file, name, {}, names_[name], 0, {}});
  }
  opened_[static_cast<int>(file)] = {name, known(name), 0};
  return file;
}

long RecordingFiles::close(int file) {
  const std::lock_guard lock(mutex_);
  opened_.erase(file);
  return ForwardingFileSystem::close(file);
}

long RecordingFiles::write(int file, const void* from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const long wrote = ForwardingFileSystem::write(file, from, bytes);
  Opened& to = opened_.at(file);
  if (wrote <= 0) return wrote;
  const std::string_view there(static_cast<const char*>(from), static_cast<std::size_t>(wrote));
  note(wrote, {Kind::write, to.path, {}, to.file, to.end, std::string(there)});
  to.end += there.size();
  return wrote;
}

long RecordingFiles::write_at(int file, const void* from, std::size_t bytes, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const long wrote = ForwardingFileSystem::write_at(file, from, bytes, offset);
  const Opened& to = opened_.at(file);
  if (wrote <= 0) return wrote;
  const std::string_view there(static_cast<const char*>(from), static_cast<std::size_t>(wrote));
  return note(wrote, {Kind::write, to.path, {}, to.file, offset, std::string(there)});
}

long RecordingFiles::sync(int file) {
  const std::lock_guard lock(mutex_);
  const Opened& opened = opened_.at(file);
  const Kind kind = opened.file < 0 ? Kind::sync_directory : Kind::sync_file;
  return note(0, {kind, opened.path, {}, opened.file, 0, {}});
}

long RecordingFiles::sync_all(const std::string& directory) {
  return note(0, {Kind::sync_all, inside(directory), {}, -1, 0, {}});
}

long RecordingFiles::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const long result = ForwardingFileSystem::rename(from, to);
  const int file = known(inside(from));
  if (result == 0) names_.erase(inside(from));
  if (result == 0) names_[inside(to)] = file;
  return note(result, {Kind::rename, inside(from), inside(to), file, 0, {}});
}

long RecordingFiles::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const long result = ForwardingFileSystem::remove(path);
  if (result == 0) names_.erase(inside(path));
  return note(result, {Kind::remove, inside(path), {}, -1, 0, {}});
}

long RecordingFiles::make_directory(const std::string& path, std::uint32_t mode) {
  const std::lock_guard lock(mutex_);
  return note(ForwardingFileSystem::make_directory(path, mode), {Kind::make_directory, inside(path), {}, -1, 0, {}});
}

long RecordingFiles::remove_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return note(ForwardingFileSystem::remove_directory(path), {Kind::remove_directory, inside(path), {}, -1, 0, {}});
}

// ---- Choices

int Choices::choose(int ways) {
  if (random_) return below(*random_, ways);
  if (depth_ == path_.size()) path_.push_back({0, ways});
  return path_[depth_++].taken;
}

bool Choices::next() {
  depth_ = 0;
  if (random_) return true;
  while (!path_.empty() && path_.back().taken + 1 == path_.back().ways) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

void Choices::at_random(std::uint64_t seed) { random_.emplace(seed); }

// ---- DiskModel

DiskModel::DiskModel(const RecordingFiles& recording) {
  durable_.directories = recording.first_directories;
  durable_.files = recording.first_files;
  for (const auto& [path, file] : recording.first_files)
    files_[file].durable = recording.first_bytes[static_cast<std::size_t>(file)];
}

// The watched directory's own name is in a directory that is not modelled, so nothing makes it durable.
std::string DiskModel::directory_of(const std::string& path) {
  if (path.empty()) return "/";
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

namespace {

void put_bytes(std::string& to, const DiskCall& write, std::size_t count, bool zeros) {
  const auto end = static_cast<std::size_t>(write.offset) + count;
  if (to.size() < end) to.resize(end, '\0');
  if (!zeros) to.replace(static_cast<std::size_t>(write.offset), count, write.bytes, 0, count);
  if (zeros) to.replace(static_cast<std::size_t>(write.offset), count, count, '\0');
}

// Removes everything in the directory too.
template <class Set>
void drop_below(Set& names, const std::string& prefix) {
  std::erase_if(names, [&](const auto& row) {
    if constexpr (requires { row.first; }) {
      return row.first.starts_with(prefix);
    } else {
      return row.starts_with(prefix);
    }
  });
}

}  // namespace

void DiskModel::change(Names& names, const DiskCall& call) {
  switch (call.kind) {
    case Kind::make_directory:
      names.directories.insert(call.path);
      break;
    case Kind::remove_directory:
      names.directories.erase(call.path);
      drop_below(names.files, call.path + "/");
      break;
    case Kind::make_file:
      names.files[call.path] = call.file;
      break;
    case Kind::remove:
      names.files.erase(call.path);
      break;
    case Kind::rename:
      names.files.erase(call.path);
      names.files[call.to] = call.file;
      break;
    default:
      break;
  }
}

void DiskModel::make_durable(File& file) {
  for (const DiskCall& write : file.writes) put_bytes(file.durable, write, write.bytes.size(), false);
  file.writes.clear();
}

void DiskModel::apply(const DiskCall& call) {
  if (call.kind == Kind::write) {
    files_[call.file].writes.push_back(call);
  } else if (call.kind == Kind::sync_file) {
    make_durable(files_[call.file]);
  } else if (call.kind == Kind::sync_all) {
    for (auto& [number, file] : files_) make_durable(file);
    for (const DiskCall& one : changes_) change(durable_, one);
    changes_.clear();
  } else if (call.kind == Kind::sync_directory) {
    const auto here = [&](const DiskCall& change) { return directory_of(change.path) == call.path; };
    for (const DiskCall& one : changes_)
      if (here(one)) change(durable_, one);
    std::erase_if(changes_, here);
  } else {
    changes_.push_back(call);
  }
}

std::string DiskModel::bytes(const File& file, Choices& choices) const {
  std::string bytes = file.durable;
  if (file.writes.empty()) return bytes;
  enum { nothing, all, half, all_but_one, zeros, ways };
  const int way = choices.choose(ways);
  for (const DiskCall& write : file.writes) {
    const std::size_t size = write.bytes.size();
    if (way == all) put_bytes(bytes, write, size, false);
    if (way == half) put_bytes(bytes, write, size / 2, false);
    if (way == all_but_one) put_bytes(bytes, write, size - 1, false);
    if (way == zeros) put_bytes(bytes, write, size, true);
  }
  return bytes;
}

DiskState DiskModel::after_power_loss(Choices& choices) const {
  Names names = durable_;
  std::set<std::string> lost;  // names with a lost change: later changes are lost too
  for (const DiskCall& call : changes_) {
    const bool after_lost = lost.contains(call.path) || (call.kind == Kind::rename && lost.contains(call.to));
    if (!after_lost && choices.choose(2) == 0) {
      change(names, call);
      continue;
    }
    lost.insert(call.path);
    if (call.kind == Kind::rename) lost.insert(call.to);
  }
  DiskState state;
  state.exists = names.directories.erase("") != 0;
  if (!state.exists) return state;
  state.directories = names.directories;
  std::map<int, std::string> decided;  // a file has one content, whatever names it has
  for (const auto& [path, file] : names.files) {
    const std::string directory = directory_of(path);
    if (!directory.empty() && !names.directories.contains(directory)) continue;
    if (!decided.contains(file)) {
      const auto found = files_.find(file);
      decided[file] = found == files_.end() ? "" : bytes(found->second, choices);
    }
    state.files[path] = decided[file];
  }
  return state;
}

void materialize(const DiskState& state, const std::string& dir) {
  namespace fs = std::filesystem;
  const auto make = [](const std::string& path) {
    fs::create_directory(path);
    fs::permissions(path, fs::perms::owner_all);
  };
  if (!state.exists) return;
  make(dir);
  for (const std::string& path : state.directories) make(cat(dir, "/", path));
  for (const auto& [path, bytes] : state.files) {
    overwrite(cat(dir, "/", path), bytes);
    fs::permissions(cat(dir, "/", path), fs::perms::owner_read | fs::perms::owner_write);
  }
}

}  // namespace quern::cache
