// Output files named by the user, whatever exists there already.
#ifndef QUERN_TOOLS_IO_NAMED_FILE_H_
#define QUERN_TOOLS_IO_NAMED_FILE_H_

#include <string>
#include <string_view>

#include "quern/error.h"

namespace quern::tool {

// Resolves links, also to a target that does not exist yet, so that the target is replaced and the link stays. `path`
// itself if it is not a link.
std::string follow_links(const std::string& path);

// The file that writing to `path` creates or replaces, the same for all paths to it; empty if the target is written in
// place.
std::string replaced_file(const std::string& path);

// Throws Error (bad_input) that begins with `what` and the path ("--out y.npy") for a directory and for a location that
// is not writable.
void check_named_file(std::string_view what, const std::string& path);

// Creates or atomically replaces a regular file: readers see the old or the new content. Follows links. Anything else
// (a device, a FIFO, a socket, an open file below /proc) is opened and written in place. Throws Error (io).
void write_named_file(const std::string& path, std::string_view bytes);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_NAMED_FILE_H_
