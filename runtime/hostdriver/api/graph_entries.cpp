// Capture and graphs.
#include "hostdriver/api/capture.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

constexpr const char* kGraph = "graph, or it was destroyed";
constexpr const char* kExecutable = "executable graph, or it was destroyed";

// Runs the nodes in index order, which respects dependencies; parallel branches would gain nothing here.
Outcome run_nodes(Executable& executable, const Settings& settings) {
  std::int64_t ns = 0;
  for (const Node& node : executable.nodes) {
    Outcome outcome = node.operation.run({settings, true});
    if (outcome.result != CUDA_SUCCESS) return outcome;
    ns += outcome.ns;
  }
  return {.ns = ns + ns * settings.drift_percent * executable.launches++ / 100};
}

void check_libraries(const Executable& executable) {
  for (const Node& node : executable.nodes)
    require(std::string_view(node.operation.kind) != "kernel" || !node.operation.library.expired(),
            CUDA_ERROR_INVALID_HANDLE, "the library of one of the graph's kernels was unloaded");
}

}  // namespace

QUERN_HOST_ENTRY CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return guarded("cuStreamBeginCapture_v2", Needs::healthy,
                 [&](Call& call) { begin_capture(call.state, stream_of(call, handle), mode); });
}

QUERN_HOST_ENTRY CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return guarded("cuStreamEndCapture", Needs::healthy, [&](Call& call) {
    CUgraph& result = needed(graph, "phGraph");
    result = nullptr;
    const std::shared_ptr<Graph> captured = end_capture(call.state, stream_of(call, handle));
    result = call.state.add(call.state.graphs, captured);
  });
}

QUERN_HOST_ENTRY CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return guarded("cuStreamIsCapturing", Needs::healthy, [&](Call& call) {
    needed(status, "captureStatus") = capture_status(call.state, *stream_of(call, handle));
  });
}

QUERN_HOST_ENTRY CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return guarded("cuThreadExchangeStreamCaptureMode", Needs::nothing,
                 [&](Call&) { exchange_capture_mode(needed(mode, "mode")); });
}

QUERN_HOST_ENTRY CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  return guarded("cuGraphGetNodes", Needs::init, [&](Call& call) {
    const std::shared_ptr<Graph> graph = known(call.state.graphs, handle, kGraph);
    const std::size_t room = needed(count, "numNodes");
    const std::size_t all = graph->nodes.size();
    *count = nodes == nullptr ? all : std::min(room, all);
    for (std::size_t i = 0; nodes != nullptr && i < room; ++i)
      nodes[i] = i < all ? reinterpret_cast<CUgraphNode>(graph->nodes[i].number)  // NOLINT(performance-no-int-to-ptr)
                         : nullptr;
  });
}

QUERN_HOST_ENTRY CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph handle,
                                                      unsigned long long flags) {
  return guarded("cuGraphInstantiateWithFlags", Needs::healthy, [&](Call& call) {
    CUgraphExec& result = needed(executable, "phGraphExec");
    require(flags == 0, CUDA_ERROR_NOT_SUPPORTED, "flags of instantiation");
    const std::shared_ptr<Graph> graph = known(call.state.graphs, handle, kGraph);
    auto made = std::make_shared<Executable>();
    made->context = call.context;
    made->nodes = graph->nodes;
    result = call.state.add(call.state.executables, made);
  });
}

// There is nothing to upload.
QUERN_HOST_ENTRY CUresult cuGraphUpload(CUgraphExec executable, CUstream stream) {
  return guarded("cuGraphUpload", Needs::healthy, [&](Call& call) {
    known(call.state.executables, executable, kExecutable);
    refuse_capturing(*stream_of(call, stream), "cuGraphUpload");
  });
}

QUERN_HOST_ENTRY CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return guarded("cuGraphLaunch", Needs::healthy, [&](Call& call) {
    const std::shared_ptr<Executable> executable = known(call.state.executables, handle, kExecutable);
    const std::shared_ptr<Stream> stream = stream_of(call, stream_handle);
    require(stream->capture == nullptr, CUDA_ERROR_NOT_SUPPORTED, "a graph inside a capture");
    if (stream->legacy) refuse_legacy(call.state, *stream->context);
    check_libraries(*executable);
    std::vector<std::shared_ptr<Job>> after;
    if (executable->last != nullptr) after.push_back(executable->last);
    executable->last = submit(
        call.state, stream, [executable, settings = call.state.settings] { return run_nodes(*executable, *settings); },
        std::move(after));
  });
}

QUERN_HOST_ENTRY CUresult cuGraphDestroy(CUgraph graph) {
  return guarded("cuGraphDestroy", Needs::release, [&](Call& call) { taken(call.state.graphs, graph, kGraph); });
}

QUERN_HOST_ENTRY CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return guarded("cuGraphExecDestroy", Needs::release,
                 [&](Call& call) { taken(call.state.executables, executable, kExecutable); });
}
