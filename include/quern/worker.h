// A program that measures configs for other processes. `quern worker` is one; an application with its own families
// turns its own program into one, and names it in Options::tuning.worker or QUERN_WORKER:
//
//   int main(int argc, char** argv) {
//     if (argc > 1 && std::string_view(argv[1]) == "worker") quern::serve_worker({&MyFamily::family()});
//     …
//   }
//
// Part of libquern_tuner: link quern::tuner.
//
// In a separate process a candidate that hangs costs only its time limit, and one that corrupts its context costs only
// that process.
#ifndef QUERN_WORKER_H_
#define QUERN_WORKER_H_

#include <vector>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/options.h"

namespace quern {

// Serves the process at the other end of standard input and output, and exits when that process ends, or sends an
// invalid request. It knows `families` and those that ship with quern. Output of kernels and libraries goes to standard
// error. Do not set cache paths in `options`: the parent sets them in the worker's environment.
[[noreturn]] QUERN_API void serve_worker(const std::vector<const Family*>& families = {}, const Options& options = {});

}  // namespace quern

#endif  // QUERN_WORKER_H_
