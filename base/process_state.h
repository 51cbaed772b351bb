// What a guest must know of its process: whether it is ending, and whether it was forked.
//
// This and base/fork_barrier are the library's only mutable globals; they carry no configuration.
#ifndef QUERN_BASE_PROCESS_STATE_H_
#define QUERN_BASE_PROCESS_STATE_H_

namespace quern {

// Starts watching. Called wherever a driver is opened or a plan is made, from any thread; cheap after the first call.
void watch_process();

// Whether exit() has begun since. What is left then goes with the process: kernels are not unloaded, as the driver
// would first wait for what is queued, and that may never end. Not set when a library that holds quern is closed with
// dlclose. A process whose main thread has left through pthread_exit counts as ending.
bool process_is_ending();

// How often this process and its ancestors were forked since watching began. One load.
unsigned fork_count();

}  // namespace quern

#endif  // QUERN_BASE_PROCESS_STATE_H_
