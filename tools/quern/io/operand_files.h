// The files of `--in NAME=FILE` and `--out NAME=FILE`, checked against the problem before anything runs.
#ifndef QUERN_TOOLS_IO_OPERAND_FILES_H_
#define QUERN_TOOLS_IO_OPERAND_FILES_H_

#include <string>
#include <vector>

#include "io/file_fields.h"
#include "io/subject.h"
#include "quern/runtime.h"
#include "testbench/operands.h"

namespace quern::tool {

// Whether --in, or else --out, may name this operand.
bool is_file_role(Role role, bool input);

class OperandFiles {
 public:
  // Throws Error (bad_input) for an operand that the family does not have or that has the wrong role, a file that is
  // not a .npy file, and a location that is not writable. Of `problem` the names of entries of lists are used.
  OperandFiles(const AnyProblem& problem, const std::vector<std::string>& in, const std::vector<std::string>& out);

  // Sets dtypes and extents of the problem that were not given from the files' types and shapes, which is noted on
  // stderr. Open extents stay open.
  void set_fields(Subject& subject) const;

  // The problem with its open extents closed: from the files' shapes, else to 1024, which is noted on stderr. Then each
  // file must match its operand's type and shape. Throws Error (bad_input).
  AnyProblem close(const AnyProblem& problem) const;

  void load(HostOperands& host) const;
  // Each file is written completely or not at all. Throws Error (io).
  void save(const HostOperands& host) const;
  bool has_out() const { return !out_.empty(); }
  std::vector<std::string> out_paths() const;

 private:
  struct OutFile {
    OperandEntry operand;
    std::string path;
  };
  void require_fit(const AnyProblem& closed) const;

  const Family& family_;
  std::vector<InFile> in_;
  std::vector<OutFile> out_;
};

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_OPERAND_FILES_H_
