// What the driver API's handles stand for. Everything here is read and changed under the state's lock.
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

// How an operation runs. A graph does what it holds again and again: by the scripted clock that is timed, and done only
// where nothing else tells what it moves.
struct Pass {
  const Settings& settings;
  bool replayed = false;
  bool only_timed() const { return replayed && settings.scripted(); }
};

// What a stream does, as told once; a graph does it again and again.
struct Operation {
  const char* kind = "";           // "kernel", "copy", "set"
  std::weak_ptr<Library> library;  // of a kernel
  std::function<Outcome(const Pass&)> run;
};

// One operation on its way through a stream.
struct Job {
  std::function<Outcome()> run;             // empty: only its place in the order matters
  std::vector<std::shared_ptr<Job>> after;  // jobs of other streams that must be done before
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

// A capture that was begun and not ended.
struct Capture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  // that began it
  Stream* origin = nullptr;
  std::vector<std::shared_ptr<Stream>> streams;  // that record into it
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
  bool started = false;  // has a thread
  std::deque<std::shared_ptr<Job>> queue;
  std::shared_ptr<Job> last;
  std::chrono::nanoseconds time{};  // of the scripted clock
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> frontier;  // nodes that the next one of this stream comes after
};

struct Event {
  std::shared_ptr<Context> context;
  bool timed = true;
  std::shared_ptr<Job> job;          // of its last recording; null: none
  std::shared_ptr<Capture> capture;  // where its last recording was captured
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
  std::int64_t launches = 0;  // those that ran
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_OBJECTS_H_
