// Extents that the shapes of the `--in` files say.
#ifndef QUERN_TOOLS_IO_FILE_EXTENTS_H_
#define QUERN_TOOLS_IO_FILE_EXTENTS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/file_dtypes.h"

namespace quern::tool {

// What the first file whose shape follows the extent says of it. A file of three dimensions says how many matrices
// there are; one of two says it only of an extent that is open, since its rows may as well be those of one matrix.
std::optional<std::int64_t> extent_of_files(const AnyProblem& problem, const Field& field,
                                            const std::vector<InFile>& files);

// Sets the extents that are neither open nor in `typed`, so that they have defaults, to what the files say. Returns
// what it changed, "width=8".
std::vector<std::string> infer_extents(AnyProblem& problem, const std::vector<InFile>& files,
                                       const std::set<std::string>& typed);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_FILE_EXTENTS_H_
