// Files that may be gzipped, by their first bytes.
#ifndef QUERN_TOOLS_IO_GUNZIP_H_
#define QUERN_TOOLS_IO_GUNZIP_H_

#include <string>

#include "quern/error.h"

namespace quern::tool {

// The whole file, or FIFO, or with "-" standard input, unpacked if it is gzipped (RFC 1952; several members in a row
// are one text). Throws Error (bad_input) that names the file: there is none, it cannot be read, or its packed data is
// truncated or damaged.
std::string read_text_file(const std::string& path);
// What people call it: "problems.jsonl", "standard input".
std::string text_file_name(const std::string& path);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_GUNZIP_H_
