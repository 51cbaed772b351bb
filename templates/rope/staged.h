// The staged form: which problems have it, and its launch. Host code.
#ifndef QUERN_ROPE_STAGED_H_
#define QUERN_ROPE_STAGED_H_

#include "rope/params.h"
#include "rope/step.h"

namespace quern::rope {

// Whether runs of heads move in wider accesses than parts of them, and nothing moves but what every problem has.
bool may_be_staged(const Rope& p, const Config& c);
// Where the heads form has accesses of 4 bytes at most. For a problem that fills the device.
bool is_staged_by_default(const Rope& p);
Config staged_config(const Rope& p);
// Bytes of a thread's access to shared memory: as wide as the parts of a head allow.
std::int64_t staged_unit(const Rope& p);

// Constraints.
bool vector_divides_runs(const Rope& p, const Target&, const Config& c);
bool run_is_whole_vectors(const Rope& p, const Target&, const Config& c);
bool run_fits(const Rope& p, const Target&, const Config& c);

// `params.all` is set.
void launch_staged(const Rope& p, const Config& c, StagedParams& params, Launch& launch);

}  // namespace quern::rope

#endif  // QUERN_ROPE_STAGED_H_
