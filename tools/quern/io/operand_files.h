// The files that `--in NAME=FILE` and `--out NAME=FILE` name, checked against the problem before anything else is done.
#ifndef QUERN_TOOLS_IO_OPERAND_FILES_H_
#define QUERN_TOOLS_IO_OPERAND_FILES_H_

#include <string>
#include <vector>

#include "io/file_dtypes.h"
#include "io/subject.h"
#include "quern/runtime.h"
#include "testbench/operands.h"

namespace quern::tool {

// Whether --in, else --out, may name such an operand.
bool is_file_role(Role role, bool input);

class OperandFiles {
 public:
  // Throws Error (bad_input) for an operand that the family does not have or that has the wrong role, a file that is no
  // .npy, and a place that cannot be written to.
  OperandFiles(const Family& family, const std::vector<std::string>& in, const std::vector<std::string>& out);

  // Sets the dtypes and extents of the problem that were not typed by the files' types and shapes, which is noted on
  // stderr. Extents that are open stay so.
  void set_fields(Subject& subject) const;

  // The problem with its open extents closed: by the files' shapes, else with 1024, which is noted on stderr. Then each
  // file must have its operand's type and shape. Throws Error (bad_input).
  AnyProblem close(const AnyProblem& problem) const;

  void load(HostOperands& host) const;
  // Each file whole or not at all. Throws Error (io).
  void save(const HostOperands& host) const;
  bool has_out() const { return !out_.empty(); }
  std::vector<std::string> out_paths() const;

 private:
  struct OutFile {
    int operand;
    std::string path;
  };
  void require_fit(const AnyProblem& closed) const;

  const Family& family_;
  std::vector<InFile> in_;
  std::vector<OutFile> out_;
};

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_OPERAND_FILES_H_
