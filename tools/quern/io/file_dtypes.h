// The dtypes that were not typed, taken from the files that `--in` names.
#ifndef QUERN_TOOLS_IO_FILE_DTYPES_H_
#define QUERN_TOOLS_IO_FILE_DTYPES_H_

#include <set>
#include <string>
#include <vector>

#include "io/npy.h"
#include "quern/runtime.h"

namespace quern::tool {

// An input and its file.
struct InFile {
  int operand;
  NpyHeader header;
};

// Sets the dtype fields that are not in `typed` so that the operands have the types of their files: of all that the
// family takes those that fit the most files, that change the fewest fields, and that are NumPy's own (u8 for |u1, not
// e4m3). Returns what it set, "dtype=f16". Sets nothing where the problem fits as it is, or where several are as good.
std::vector<std::string> infer_dtypes(AnyProblem& problem, const std::vector<InFile>& files,
                                      const std::set<std::string>& typed);

// The changes of one dtype field, typed or not, with which the file's type would fit: "dtype=f16".
std::vector<std::string> fitting_dtypes(const AnyProblem& problem, const InFile& file);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_FILE_DTYPES_H_
