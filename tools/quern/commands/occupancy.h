// How many blocks fit on a multiprocessor, where no driver can be asked.
#ifndef QUERN_TOOLS_COMMANDS_OCCUPANCY_H_
#define QUERN_TOOLS_COMMANDS_OCCUPANCY_H_

#include "io/subject.h"
#include "quern/plan.h"

namespace quern::tool {

struct Block {
  int threads = 0;
  int shared_bytes = 0;  // dynamic
};

// The blocks of a launch of the problem with that config; extents that are open are taken to be large.
Block block_of(const Subject& subject, const DeviceModel& model, const Config& config);

// By registers, threads, shared memory and the limit of blocks of the model's architecture.
int blocks_that_fit(const Resources& resources, const Block& block, const DeviceModel& model);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_OCCUPANCY_H_
