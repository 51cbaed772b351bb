// A judge and a compiler in a process of their own, so that a candidate that hangs costs its time limit and itself, and
// one that breaks its context or its process costs that process. `quern worker` is one; an application with families of
// its own makes its own program one: a Runtime with these families, and serve_worker.
#ifndef QUERN_TUNER_WORKER_H_
#define QUERN_TUNER_WORKER_H_

#include "quern/runtime.h"

namespace quern {

// Serves the process at the other end of standard input and output, as worker_messages.h says, and ends this process
// when that one ends. What kernels and libraries print goes to standard error.
[[noreturn]] void serve_worker(Runtime& runtime);

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_H_
