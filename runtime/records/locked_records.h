// A file of records that is open and locked for writing.
#ifndef QUERN_RECORDS_LOCKED_RECORDS_H_
#define QUERN_RECORDS_LOCKED_RECORDS_H_

#include <chrono>
#include <memory>
#include <string>

#include "base/files.h"

namespace quern {

// Resolves links. A name that does not exist yet is returned as given.
std::string without_links(FileSystem& files, const std::string& path);

class LockedRecords {
 public:
  // Opens and locks `path`; creates it where it is missing. Opens it again if another file replaced it meanwhile, for
  // ten seconds at most: then the error is ESTALE.
  LockedRecords(FileSystem& files, const std::string& path);
  ~LockedRecords();
  LockedRecords(const LockedRecords&) = delete;
  LockedRecords& operator=(const LockedRecords&) = delete;

  int error() const { return error_; }  // 0 or an errno value
  bool locked() const {
    return locked_;
  }  // false: the file system has no locks, or the holder did not release its lock in time
  bool created() const { return created_; }  // it was empty
  int get() const { return file_->get(); }
  const std::string& path() const { return path_; }  // links resolved
  // Whether the file is empty or ends with a newline.
  bool ends_with_line();

 private:
  int open(const std::string& path);
  bool wait_for_lock(std::chrono::steady_clock::time_point end);
  bool still_named(const std::string& path);

  FileSystem& files_;
  std::unique_ptr<OpenFile> file_;
  std::string path_;
  int error_ = 0;
  bool locked_ = false;
  bool created_ = false;
};

}  // namespace quern

#endif  // QUERN_RECORDS_LOCKED_RECORDS_H_
