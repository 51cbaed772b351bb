// Rows as a table.
#ifndef QUERN_TOOLS_IO_TABLE_H_
#define QUERN_TOOLS_IO_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "io/output.h"

namespace quern::tool {

// A Markdown table that is aligned for a terminal too; the columns are the names of the first row. Where it is wider
// than `columns`, texts are broken within their cells, and where that leaves too little of them each row is a block of
// lines, a name and a value. 0 columns: as wide as it is, as a pipe gets it.
std::string table_text(const std::vector<Row>& rows, std::size_t columns);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_TABLE_H_
