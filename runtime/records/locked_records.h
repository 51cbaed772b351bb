// The open file of records that a writer holds the lock of.
#ifndef QUERN_RECORDS_LOCKED_RECORDS_H_
#define QUERN_RECORDS_LOCKED_RECORDS_H_

#include <memory>
#include <string>

#include "base/files.h"

namespace quern {

// Where links lead; a name that leads nowhere yet is itself.
std::string without_links(FileSystem& files, const std::string& path);

class LockedRecords {
 public:
  // Opens and locks `path`, made where it is missing; opens it again where another file was put in its place meanwhile.
  LockedRecords(FileSystem& files, const std::string& path);
  ~LockedRecords();
  LockedRecords(const LockedRecords&) = delete;
  LockedRecords& operator=(const LockedRecords&) = delete;

  int error() const { return error_; }       // 0 or an errno value
  bool locked() const { return locked_; }    // false: the file system has no locks, or a holder does not let go
  bool created() const { return created_; }  // it was empty
  int get() const { return file_->get(); }
  const std::string& path() const { return path_; }  // without links
  // Whether what is there ends with a line's end, or is empty.
  bool ends_with_line();

 private:
  int open(const std::string& path);
  bool wait_for_lock();
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
