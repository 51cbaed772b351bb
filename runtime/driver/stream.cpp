#include "driver/stream.h"

namespace quern {

StreamOwner::StreamOwner(const Driver& driver) : driver_(driver) {
  driver.check(driver->StreamCreate(&stream_, CU_STREAM_NON_BLOCKING), Stage::tool, "cuStreamCreate");
}
StreamOwner::~StreamOwner() { driver_->StreamDestroy(stream_); }
void StreamOwner::synchronize() const {
  driver_.check(driver_->StreamSynchronize(stream_), Stage::tool, "cuStreamSynchronize");
}

DeviceMemory::DeviceMemory(const Driver& driver, std::size_t bytes) : driver_(driver) {
  driver.check(driver->MemAlloc(&pointer_, bytes), Stage::tool, "cuMemAlloc");
}
DeviceMemory::~DeviceMemory() { driver_->MemFree(pointer_); }

Graph::Graph(const Driver& driver, const std::function<void(CUstream)>& record) : driver_(driver) {
  const StreamOwner stream(driver);
  driver.check(driver->StreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), Stage::tool,
               "cuStreamBeginCapture");
  try {
    record(stream.get());
  } catch (...) {
    driver->StreamEndCapture(stream.get(), &graph_);
    if (graph_ != nullptr) driver->GraphDestroy(graph_);
    throw;
  }
  driver.check(driver->StreamEndCapture(stream.get(), &graph_), Stage::tool, "cuStreamEndCapture");
  driver.check(driver->GraphGetNodes(graph_, nullptr, &nodes_), Stage::tool, "cuGraphGetNodes");
  driver.check(driver->GraphInstantiate(&executable_, graph_, 0), Stage::tool, "cuGraphInstantiate");
  driver.check(driver->GraphUpload(executable_, stream.get()), Stage::tool, "cuGraphUpload");
  stream.synchronize();
}

Graph::~Graph() {
  if (executable_ != nullptr) driver_->GraphExecDestroy(executable_);
  if (graph_ != nullptr) driver_->GraphDestroy(graph_);
}

void Graph::launch(CUstream stream) const {
  driver_.check(driver_->GraphLaunch(executable_, stream), Stage::tool, "cuGraphLaunch");
}

double time_us(const Driver& driver, CUstream stream, const std::function<void()>& work) {
  CUevent begin = nullptr;
  CUevent end = nullptr;
  driver.check(driver->EventCreate(&begin, CU_EVENT_DEFAULT), Stage::tool, "cuEventCreate");
  driver.check(driver->EventCreate(&end, CU_EVENT_DEFAULT), Stage::tool, "cuEventCreate");
  driver.check(driver->EventRecord(begin, stream), Stage::tool, "cuEventRecord");
  work();
  driver.check(driver->EventRecord(end, stream), Stage::tool, "cuEventRecord");
  driver.check(driver->EventSynchronize(end), Stage::tool, "cuEventSynchronize");
  float milliseconds = 0;
  driver.check(driver->EventElapsedTime(&milliseconds, begin, end), Stage::tool, "cuEventElapsedTime");
  driver->EventDestroy(begin);
  driver->EventDestroy(end);
  return 1000.0 * static_cast<double>(milliseconds);
}

}  // namespace quern
