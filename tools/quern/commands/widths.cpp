#include "commands/widths.h"

#include <algorithm>

#include "base/text.h"
#include "compiler/ptx.h"

namespace quern::tool {
namespace {

// The widest first.
std::vector<Access> accesses(const std::string& ptx, bool stores) {
  std::vector<Access> all = count_global_accesses(ptx);
  std::erase_if(all, [&](const Access& access) { return access.store != stores; });
  std::sort(all.begin(), all.end(), [](const Access& a, const Access& b) { return a.bytes > b.bytes; });
  return all;
}

int bulk_copies(const std::string& ptx, bool stores) {
  const BulkCopies copies = count_bulk_copies(ptx);
  return stores ? copies.stores : copies.loads;
}

}  // namespace

std::string widths_text(const std::string& ptx, bool stores) {
  std::vector<std::string> parts;
  for (const Access& access : accesses(ptx, stores)) parts.push_back(cat(access.count, " × ", access.bytes, " B"));
  if (const int copies = bulk_copies(ptx, stores); copies > 0) parts.push_back(cat(copies, " × bulk"));
  return parts.empty() ? "none" : join(parts, ", ");
}

Row widths_row(const std::string& ptx, bool stores) {
  Row row;
  for (const Access& access : accesses(ptx, stores)) row.add(cat(access.bytes), access.count);
  if (const int copies = bulk_copies(ptx, stores); copies > 0) row.add("bulk", copies);
  return row;
}

}  // namespace quern::tool
