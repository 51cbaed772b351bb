#include "base/files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace quern {
namespace {

// Reads to the end, whatever size was reported: the file may grow or shrink in the meantime.
int read_to_end(FileSystem& files, int file, std::uint64_t expected, std::uint64_t limit, std::string* bytes) {
  std::size_t used = 0;
  // Files in /proc report no size, and some must be read in one call.
  bytes->resize(expected == 0 ? 4096 : static_cast<std::size_t>(expected) + 1);
  for (;;) {
    const long got = uninterrupted([&] { return files.read(file, bytes->data() + used, bytes->size() - used); });
    if (got < 0) return error_of(got);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > limit) return EFBIG;
    if (used == bytes->size()) bytes->resize(2 * used + 4096);
  }
  bytes->resize(used);
  return 0;
}

int look_at_regular(FileSystem& files, const OpenFile& file, FileStatus* status) {
  if (file.error() != 0) return file.error();
  if (const int error = error_of(uninterrupted([&] { return files.status(file.get(), status); }))) return error;
  return status->kind == FileKind::regular ? 0 : EINVAL;
}

int read_regular(FileSystem& files, const std::string& path, int flags, std::uint64_t limit, std::string* bytes,
                 FileStatus* status) {
  const OpenFile file(files, path, O_RDONLY | O_NONBLOCK | flags);
  if (const int error = look_at_regular(files, file, status)) return error;
  if (status->bytes > limit) return EFBIG;
  return read_to_end(files, file.get(), status->bytes, limit, bytes);
}

int read_regular_beginning(FileSystem& files, const std::string& path, std::size_t most, std::string* bytes,
                           FileStatus* status) {
  const OpenFile file(files, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (const int error = look_at_regular(files, file, status)) return error;
  bytes->resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, status->bytes)));
  return read_exactly(files, file.get(), 0, bytes->size(), bytes->data());
}

std::string random_hex() {
  std::array<unsigned char, 16> bits{};
  // Without entropy, pid and counter must do; the file is created with O_EXCL in any case.
  if (::getrandom(bits.data(), bits.size(), GRND_NONBLOCK) < 0) bits.fill(0);
  return to_hex(bits.data(), bits.size());
}

}  // namespace

bool may_pass(int error) {
  switch (error) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EACCES:
    case EPERM:
    case EROFS:
    case EEXIST:
    case ENAMETOOLONG:
    case EINVAL:  // not the requested kind of file
    case EISDIR:
    case EFBIG:
      return false;
    default:
      return true;
  }
}

int OpenFile::close() {
  const long file = std::exchange(file_, -EBADF);
  return file < 0 ? 0 : error_of(files_.close(static_cast<int>(file)));
}

// Starts from the name: an open file that was replaced stays stale (ESTALE), and the name leads to the new one.
int read_whole(FileSystem& files, const std::string& path, std::uint64_t limit, std::string* bytes,
               FileStatus* status) {
  return error_of(patiently([&] { return -long{read_regular(files, path, O_NOFOLLOW, limit, bytes, status)}; }));
}

int read_beginning(FileSystem& files, const std::string& path, std::size_t most, std::string* bytes,
                   FileStatus* status) {
  return error_of(patiently([&] { return -long{read_regular_beginning(files, path, most, bytes, status)}; }));
}

int read_exactly(FileSystem& files, int file, std::uint64_t offset, std::size_t size, char* to) {
  while (size != 0) {
    const long got = uninterrupted([&] { return files.read_at(file, to, size, offset); });
    if (got <= 0) return got == 0 ? EIO : error_of(got);
    to += got;
    size -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
  return 0;
}

int write_exactly(FileSystem& files, int file, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const long wrote = uninterrupted([&] { return files.write_at(file, bytes.data(), bytes.size(), offset); });
    if (wrote <= 0) return wrote == 0 ? EIO : error_of(wrote);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return 0;
}

int write_all(FileSystem& files, int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const long wrote = uninterrupted([&] { return files.write(file, bytes.data(), bytes.size()); });
    if (wrote <= 0) return wrote == 0 ? EIO : error_of(wrote);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

int sync_directory(FileSystem& files, const std::string& path) {
  const int error = error_of(patiently([&] {
    const OpenFile directory(files, path, O_RDONLY | O_DIRECTORY);
    if (directory.error() != 0) return -long{directory.error()};
    return uninterrupted([&] { return files.sync(directory.get()); });
  }));
  return error == EINVAL ? 0 : error;  // the file system cannot sync directories
}

int make_directories(FileSystem& files, const std::string& path, std::uint32_t mode) {
  int error = error_of(files.make_directory(path, mode));
  const std::string parent = parent_directory(path);
  if (error == ENOENT && parent.size() < path.size()) {
    error = make_directories(files, parent, mode);
    if (error == 0) error = error_of(files.make_directory(path, mode));
  }
  return error == EEXIST ? 0 : error;
}

std::string error_text(int error) { return std::generic_category().message(error); }

std::string parent_directory(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return path.empty() ? "." : "/";
  const std::size_t slash = path.rfind('/', last);
  if (slash == std::string::npos) return ".";
  const std::size_t end = path.find_last_not_of('/', slash);
  return end == std::string::npos ? "/" : path.substr(0, end + 1);
}

std::string staging_name() {
  static std::atomic<unsigned> counter{0};
  return cat(kStagingPrefix, ::getpid(), ".", counter.fetch_add(1, std::memory_order_relaxed), ".", random_hex());
}

// ---- StagedFile

StagedFile::StagedFile(FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)), staging_(cat(parent_directory(path_), "/", staging_name())) {}

StagedFile::StagedFile(FileSystem& files, std::string path, std::string staging)
    : files_(files), path_(std::move(path)), staging_(std::move(staging)), is_there_already_(true), there_(true) {}

StagedFile::~StagedFile() {
  if (there_) uninterrupted([&] { return files_.remove(staging_); });
}

int StagedFile::fail(const char* step, int error) {
  step_ = step;
  return error;
}

int StagedFile::create(std::uint32_t mode) {
  file_.emplace(files_, staging_, O_WRONLY | O_NOFOLLOW | (is_there_already_ ? 0 : O_CREAT | O_EXCL), mode);
  there_ = there_ || file_->error() == 0;
  return fail("create", file_->error());
}

int StagedFile::append(std::string_view bytes) { return fail("write", write_all(files_, file_->get(), bytes)); }

int StagedFile::finish() {
  if (const int error = error_of(uninterrupted([&] { return files_.sync(file_->get()); }))) return fail("sync", error);
  return close();
}

int StagedFile::close() { return fail("close", file_->close()); }

int StagedFile::write(std::string_view bytes, std::uint32_t mode) {
  if (const int error = create(mode)) return error;
  if (const int error = append(bytes)) return error;
  return finish();
}

int StagedFile::place() {
  const long renamed = uninterrupted([&] { return files_.rename(staging_, path_); });
  there_ = renamed < 0;
  return fail("rename", error_of(renamed));
}

int StagedFile::settle() { return fail("sync the directory of", sync_directory(files_, parent_directory(path_))); }

std::string StagedFile::why_not(int error) const { return cat("cannot ", step_, " ", path_, ": ", error_text(error)); }

bool write_file_atomically(const std::string& path, std::string_view bytes, std::string* why_not) {
  StagedFile file(real_file_system(), path);
  int error = file.write(bytes, 0666);
  if (error == 0) error = file.place();
  if (error == 0) error = file.settle();
  if (error != 0 && why_not != nullptr) *why_not = file.why_not(error);
  return error == 0;
}

int read_file(const std::string& path, std::string* bytes) {
  FileStatus status;
  return read_regular(real_file_system(), path, 0, std::numeric_limits<std::uint64_t>::max(), bytes, &status);
}

std::optional<std::string> read_file(const std::string& path) {
  std::string bytes;
  if (read_file(path, &bytes) != 0) return std::nullopt;
  return bytes;
}

}  // namespace quern
