// State of the process that a library must know: whether it is exiting, and whether it was forked.
//
// This file and base/fork_barrier hold the library's only mutable globals; they carry no configuration.
#ifndef QUERN_BASE_PROCESS_STATE_H_
#define QUERN_BASE_PROCESS_STATE_H_

namespace quern {

// Starts watching. Called when a driver is opened or a plan is made, from any thread; cheap after the first call.
void watch_process();

// Whether exit() has begun since. The process then frees everything that is left: kernels are not unloaded, because the
// driver would first wait for queued work, which may never end. Not set when a library that contains quern is closed
// with dlclose. A process with a main thread that left through pthread_exit counts as exiting.
bool process_is_ending();

// The number of forks of this process and its ancestors since watching began. One load.
unsigned fork_count();

}  // namespace quern

#endif  // QUERN_BASE_PROCESS_STATE_H_
