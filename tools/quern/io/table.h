// Rows as a table.
#ifndef QUERN_TOOLS_IO_TABLE_H_
#define QUERN_TOOLS_IO_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "io/output.h"

namespace quern::tool {

// A Markdown table that is also aligned for a terminal. Its columns are the names of the first row. If it is wider than
// `columns`, texts are wrapped in their cells; if that leaves too little room, each row is a block of lines with a name
// and a value each. 0 columns: unlimited width, as for a pipe.
std::string table_text(const std::vector<Row>& rows, std::size_t columns);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_TABLE_H_
