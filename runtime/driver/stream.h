// RAII owners of driver objects, for tools, tests and the tuner. A library call creates none of them.
#ifndef QUERN_DRIVER_STREAM_H_
#define QUERN_DRIVER_STREAM_H_

#include <functional>

#include "driver/driver.h"

namespace quern {

class StreamOwner {
 public:
  explicit StreamOwner(const Driver& driver);
  ~StreamOwner();
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;
  CUstream get() const { return stream_; }
  void synchronize() const;

 private:
  const Driver& driver_;
  CUstream stream_ = nullptr;
};

class DeviceMemory {
 public:
  DeviceMemory(const Driver& driver, std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  CUdeviceptr get() const { return pointer_; }
  void* data() const { return reinterpret_cast<void*>(pointer_); }  // NOLINT(performance-no-int-to-ptr)

 private:
  const Driver& driver_;
  CUdeviceptr pointer_ = 0;
};

// The work that `record` enqueues on its stream argument, as an executable graph.
class Graph {
 public:
  Graph(const Driver& driver, const std::function<void(CUstream)>& record);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  std::size_t nodes() const { return nodes_; }
  void launch(CUstream stream) const;

 private:
  const Driver& driver_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  std::size_t nodes_ = 0;
};

// The time of the work that `work` enqueues on `stream`, in microseconds, measured with events.
double time_us(const Driver& driver, CUstream stream, const std::function<void()>& work);

}  // namespace quern

#endif  // QUERN_DRIVER_STREAM_H_
