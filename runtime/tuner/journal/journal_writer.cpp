#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "quern/error.h"
#include "tuner/journal/journal.h"

namespace quern {
namespace {

int open_flags() { return O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK; }  // a fifo must not block

std::string made_below(FileSystem& files, const std::string& path) {
  make_directories(files, parent_directory(path), 0777);  // a failure shows when the file is opened
  return path;
}

}  // namespace

JournalWriter::JournalWriter(const std::string& path, Damaged damaged, FileSystem& files)
    : files_(files), path_(path), file_(files, made_below(files, path), open_flags(), 0666) {
  if (file_.error() != 0) fail("open", file_.error());
  // A file system without locks gives another error, and then there is no guard.
  if (uninterrupted([&] { return files_.try_lock(file_.get()); }) == -EWOULDBLOCK)
    throw Error(Code::io, Stage::tool,
                cat(path_, " is being written by another sweep; wait for it or name another file"));
  const std::string text = read();
  end_ = text.rfind('\n') + 1;  // npos + 1 is 0
  if (end_ != 0) {
    try {
      before_ = read_journal(text, damaged);
    } catch (const Error& error) {
      throw Error(error.code, error.stage, cat(path_, ": ", error.sentence));
    }
  }
  if (end_ != text.size()) cut(end_);
}

// Not by closing alone: a process that was forked meanwhile has the file open too.
JournalWriter::~JournalWriter() { files_.unlock(file_.get()); }

void JournalWriter::fail(const char* step, int error) const {
  throw Error(Code::io, Stage::tool, cat("cannot ", step, " ", path_, ": ", error_text(error)));
}

std::string JournalWriter::read() const {
  FileStatus status;
  const int error = error_of(uninterrupted([&] { return files_.status(file_.get(), &status); }));
  if (error != 0) fail("look at", error);
  if (status.kind != FileKind::regular) fail("write", EINVAL);
  std::string text(static_cast<std::size_t>(status.bytes), '\0');
  if (const int failed = read_exactly(files_, file_.get(), 0, text.size(), text.data())) fail("read", failed);
  return text;
}

void JournalWriter::cut(std::uint64_t bytes) {
  const int error = error_of(uninterrupted([&] { return files_.truncate(file_.get(), bytes); }));
  if (error != 0) fail("shorten", error);
}

void JournalWriter::start_over() {
  cut(0);
  end_ = 0;
  before_.reset();
}

void JournalWriter::append_line(std::string line) {
  line += '\n';
  if (const int error = write_all(files_, file_.get(), line)) {
    cut(end_);
    fail("write", error);
  }
  end_ += line.size();
}

void JournalWriter::append(const SweepResult& result) {
  append_line(serialize(result));
  if (const int error = error_of(uninterrupted([&] { return files_.sync(file_.get()); }))) fail("sync", error);
}

}  // namespace quern
