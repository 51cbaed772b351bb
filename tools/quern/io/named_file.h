// Files that a person names for output, whatever is there already.
#ifndef QUERN_TOOLS_IO_NAMED_FILE_H_
#define QUERN_TOOLS_IO_NAMED_FILE_H_

#include <string>
#include <string_view>

#include "quern/error.h"

namespace quern::tool {

// Where links lead, also one that leads to a file that is not there yet: so the link stays and its target is replaced.
// `path` itself where it is not a link.
std::string follow_links(const std::string& path);

// The file that writing to `path` makes or replaces, the same for all paths that lead to it; empty where what is there
// is written in place.
std::string replaced_file(const std::string& path);

// Throws Error (bad_input) that begins with `what` and the path ("--out y.npy") for a directory and for a place that
// cannot be written to.
void check_named_file(std::string_view what, const std::string& path);

// Replaces a regular file in one step, or makes it: readers see the old one or the new one, whole. Links are followed.
// Anything else that is there (a device, a FIFO, a socket, an open file below /proc) is opened and written in place.
// Throws Error (io).
void write_named_file(const std::string& path, std::string_view bytes);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_NAMED_FILE_H_
