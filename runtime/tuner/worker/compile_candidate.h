// Compiling a candidate's image.
#ifndef QUERN_TUNER_WORKER_COMPILE_CANDIDATE_H_
#define QUERN_TUNER_WORKER_COMPILE_CANDIDATE_H_

#include "quern/runtime.h"
#include "tuner/worker/remote.h"

namespace quern {

// From the store, or compiled now. Throws Error.
ImageMessage make_image(Runtime& runtime, const CompileMessage& message);

// The same in this process, without a time limit. Throws Error for what is not the candidate's fault.
CompileOutcome compile_here(Runtime& runtime, const CompileMessage& message);

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_COMPILE_CANDIDATE_H_
