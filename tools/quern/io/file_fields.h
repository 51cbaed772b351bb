// Sets dtypes and extents that were not given, from the types and shapes of the `--in` files.
#ifndef QUERN_TOOLS_IO_FILE_FIELDS_H_
#define QUERN_TOOLS_IO_FILE_FIELDS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/npy.h"
#include "quern/runtime.h"
#include "testbench/operands.h"

namespace quern::tool {

// An input and its file.
struct InFile {
  OperandEntry operand;
  NpyHeader header;
};

// Sets the dtype fields that are not in `typed` so that the operands match their files. Of all combinations that the
// family takes, it chooses the one that fits the most files, then the one that changes the fewest fields, then the one
// with NumPy's own dtypes (u8 for |u1, not e4m3). Returns the changes, "dtype=f16". Changes nothing if the problem fits
// already, or if several are equally good.
std::vector<std::string> infer_dtypes(AnyProblem& problem, const std::vector<InFile>& files,
                                      const std::set<std::string>& typed);

// Changes of one dtype field, given or not, with which the file's type would fit: "dtype=f16".
std::vector<std::string> fitting_dtypes(const AnyProblem& problem, const InFile& file);

// The extent from the first file whose shape depends on it. A 3D file gives the number of matrices. A 2D file gives it
// only for an open extent, since its rows could also be those of one matrix.
std::optional<std::int64_t> extent_of_files(const AnyProblem& problem, const Field& field,
                                            const std::vector<InFile>& files);

// Sets the extents that are neither open nor in `typed`, and so have defaults, from the files. Returns the changes,
// "width=8".
std::vector<std::string> infer_extents(AnyProblem& problem, const std::vector<InFile>& files,
                                       const std::set<std::string>& typed);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_FILE_FIELDS_H_
