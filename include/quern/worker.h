// A program that measures for others. `quern worker` is one; an application with families of its own makes its own
// program one, and names it in Options::tuning.worker or QUERN_WORKER:
//
//   int main(int argc, char** argv) {
//     if (argc > 1 && std::string_view(argv[1]) == "worker") quern::serve_worker({&MyFamily::family()});
//     …
//   }
//
// It is a part of libquern_tuner: link quern::tuner.
//
// In a process of its own a candidate that hangs costs its time limit and itself, and one that breaks its context costs
// that process.
#ifndef QUERN_WORKER_H_
#define QUERN_WORKER_H_

#include <vector>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/options.h"

namespace quern {

// Serves the process at the other end of standard input and output, and ends this process when that one ends, or sends
// what is no question. It knows `families` and those that come with quern. What kernels and libraries print goes to
// standard error. Where images are is not to be said in `options`: whoever starts a worker says so in its environment.
[[noreturn]] QUERN_API void serve_worker(const std::vector<const Family*>& families = {}, const Options& options = {});

}  // namespace quern

#endif  // QUERN_WORKER_H_
