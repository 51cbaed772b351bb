// The objects of the driver API's handles. Everything here is read and changed under the state's lock.
#ifndef QUERN_HOSTDRIVER_API_OBJECTS_H_
#define QUERN_HOSTDRIVER_API_OBJECTS_H_

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "hostdriver/exec/engine.h"
#include "hostdriver/exec/images.h"

namespace quern::host {

struct Library;
struct Stream;

// How an operation runs. A graph repeats its operations: with the scripted clock a repetition is only timed, and
// executed only if its traffic is not known otherwise.
struct Pass {
  const Settings& settings;
  bool replayed = false;
  bool only_timed() const { return replayed && settings.scripted(); }
};

// One operation of a stream; a graph repeats it.
struct Operation {
  const char* kind = "";           // "kernel", "copy", "set"
  std::weak_ptr<Library> library;  // of a kernel
  std::function<Outcome(const Pass&)> run;
};

// One operation in a stream's queue.
struct Job {
  std::function<Outcome()> run;             // empty: only its position in the order matters
  std::vector<std::shared_ptr<Job>> after;  // jobs of other streams that must finish before
  bool done = false;
  std::chrono::steady_clock::time_point ended;  // by the scripted clock: since the stream began
};

struct Node {
  std::uintptr_t number = 0;
  Operation operation;
  std::vector<std::size_t> after;  // indices of earlier nodes
};

struct Graph {
  std::vector<Node> nodes;
};

// A capture in progress.
struct Capture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  // the one that began it
  Stream* origin = nullptr;
  std::vector<std::shared_ptr<Stream>> streams;  // streams being captured into it
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  bool invalid = false;
};

struct Context {
  CUcontext handle = nullptr;
  std::uint64_t id = 0;
  int device = 0;
  bool primary = false;
  bool destroyed = false;
  CUresult error = CUDA_SUCCESS;  // sticky
  std::shared_ptr<Stream> legacy;
  std::vector<std::shared_ptr<Stream>> streams;  // without the legacy one; destroyed ones stay until they are idle
};

struct Stream {
  std::shared_ptr<Context> context;
  bool blocking = true;  // ordered with the legacy stream
  bool legacy = false;
  bool destroyed = false;
  bool started = false;  // has a worker thread
  std::deque<std::shared_ptr<Job>> queue;
  std::shared_ptr<Job> last;
  std::chrono::nanoseconds time{};  // on the scripted clock
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> frontier;  // dependencies of the stream's next node
};

struct Event {
  std::shared_ptr<Context> context;
  bool timed = true;
  std::shared_ptr<Job> job;          // its last recording; null: none
  std::shared_ptr<Capture> capture;  // the capture of its last recording
  std::vector<std::size_t> frontier;
};

struct Library {
  std::shared_ptr<HostImage> image;
  CUkernel kernel = nullptr;
  std::map<std::uint64_t, CUfunction> functions;  // by the context's id
};

// A kernel in a context.
struct Function {
  std::shared_ptr<Context> context;
  std::shared_ptr<Library> library;
  int dynamic_shared_limit = 0;
};

struct Executable {
  std::shared_ptr<Context> context;
  std::vector<Node> nodes;
  std::shared_ptr<Job> last;  // launches of one executable do not overlap
  std::int64_t launches = 0;  // completed launches
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_OBJECTS_H_
