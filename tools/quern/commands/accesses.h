// Which memory the kernel of a problem touches, and how well its accesses are coalesced; found by running it on the
// host driver.
#ifndef QUERN_TOOLS_COMMANDS_ACCESSES_H_
#define QUERN_TOOLS_COMMANDS_ACCESSES_H_

#include <vector>

#include "io/output.h"
#include "io/subject.h"
#include "quern/runtime.h"

namespace quern::tool {

// One row an access site: where it is in the template, the operand, bytes a thread, requests by warps, sectors a
// request beside the fewest possible, bytes moved beside the bytes that had to be. Open extents are made up, with a
// line that says so. The host driver stands for a device of `model`. Throws Error.
std::vector<Row> access_rows(Runtime& runtime, const Subject& subject, const std::string& config,
                             const DeviceModel& model);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_ACCESSES_H_
