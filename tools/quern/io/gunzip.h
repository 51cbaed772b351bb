// Reads files that may be gzipped; the first bytes tell.
#ifndef QUERN_TOOLS_IO_GUNZIP_H_
#define QUERN_TOOLS_IO_GUNZIP_H_

#include <string>

#include "quern/error.h"

namespace quern::tool {

// The whole file, FIFO, or with "-" standard input, unpacked if it is gzipped (RFC 1952; several members in a row are
// one text). Throws Error (bad_input) with the file name: it does not exist, cannot be read, or its compressed data is
// truncated or damaged.
std::string read_text_file(const std::string& path);
// Its name in messages: "problems.jsonl", "standard input".
std::string text_file_name(const std::string& path);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_GUNZIP_H_
