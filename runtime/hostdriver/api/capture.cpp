#include "hostdriver/api/capture.h"

#include <algorithm>

namespace quern::host {
namespace {

// The calling thread's capture mode: which calls captures may forbid it.
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

void require_mode(CUstreamCaptureMode mode) {
  require(mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
              mode == CU_STREAM_CAPTURE_MODE_RELAXED,
          CUDA_ERROR_INVALID_VALUE, "invalid capture mode");
}

void refuse_invalid(const Stream& stream) {
  require(stream.capture == nullptr || !stream.capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          "an earlier call made this capture invalid");
}

[[noreturn]] void invalidate(Capture& capture, CUresult code, const std::string& words) {
  capture.invalid = true;
  refuse(code, words);
}

void add_node(DriverState& state, Stream& stream, Operation operation) {
  refuse_invalid(stream);
  std::vector<Node>& nodes = stream.capture->graph->nodes;
  state.last_handle += 64;
  nodes.push_back({state.last_handle, std::move(operation), stream.frontier});
  stream.frontier = {nodes.size() - 1};
}

// Whether every node leads to the end of the stream that the capture began in. A node's index is larger than those of
// its dependencies.
bool joined(const Graph& graph, const std::vector<std::size_t>& frontier) {
  std::vector<bool> reached(graph.nodes.size(), false);
  for (const std::size_t node : frontier) reached[node] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (!reached[i]) return false;
    for (const std::size_t before : graph.nodes[i].after) reached[before] = true;
  }
  return true;
}

bool alive(const DriverState& state, const std::shared_ptr<Capture>& capture) {
  return std::find(state.captures.begin(), state.captures.end(), capture) != state.captures.end();
}

void drop(DriverState& state, const std::shared_ptr<Capture>& capture) {
  for (const auto& stream : capture->streams) stream->capture.reset();
  capture->streams.clear();
  std::erase(state.captures, capture);
}

bool in_context(const Capture& capture, const Context& context) {
  return std::any_of(capture.streams.begin(), capture.streams.end(),
                     [&](const auto& stream) { return stream->context.get() == &context; });
}

bool has_blocking_stream(const Capture& capture, const Context& context) {
  return std::any_of(capture.streams.begin(), capture.streams.end(),
                     [&](const auto& stream) { return stream->context.get() == &context && stream->blocking; });
}

// Invalidates the captures that `forbids` matches; returns whether there was one.
template <class Predicate>
bool invalidate(DriverState& state, Predicate&& forbids) {
  bool any = false;
  for (const auto& capture : state.captures) {
    if (!forbids(*capture)) continue;
    capture->invalid = true;
    any = true;
  }
  return any;
}

// As driver 580, whether or not the capture is over; an event of a successful capture is refused elsewhere.
void refuse_event_of_failed(const Event& event) {
  require(!event.capture->invalid, CUDA_ERROR_INVALID_VALUE, "the event was recorded in a capture that is invalid");
}

void join(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (stream->legacy)
    invalidate(*event.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream cannot be captured");
  stream->capture = event.capture;
  stream->frontier = event.frontier;
  event.capture->streams.push_back(stream);
}

void wait_for_captured(DriverState& state, const std::shared_ptr<Stream>& stream, const Event& event) {
  refuse_event_of_failed(event);
  require(alive(state, event.capture), CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture that is over");
  if (stream->capture == nullptr) return join(stream, event);
  if (stream->capture != event.capture) {
    event.capture->invalid = true;
    invalidate(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event was recorded in another capture");
  }
  for (const std::size_t node : event.frontier)
    if (std::find(stream->frontier.begin(), stream->frontier.end(), node) == stream->frontier.end())
      stream->frontier.push_back(node);
}

}  // namespace

void exchange_capture_mode(CUstreamCaptureMode& mode) {
  require_mode(mode);
  std::swap(mode, thread_mode);
}

void begin_capture(DriverState& state, const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode) {
  require_mode(mode);
  require(!stream->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
  require(stream->capture == nullptr, CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured already");
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->streams.push_back(stream);
  stream->frontier.clear();
  stream->capture = capture;
  state.captures.push_back(std::move(capture));
}

std::shared_ptr<Graph> end_capture(DriverState& state, const std::shared_ptr<Stream>& stream) {
  const std::shared_ptr<Capture> capture = stream->capture;
  require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured");
  // As driver 580: a call from the wrong thread ends the capture nevertheless, one with the wrong stream invalidates
  // it.
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
    drop(state, capture);
    refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread, and is over now");
  }
  if (capture->origin != stream.get())
    invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
               "the capture began in another stream, and is invalid now");
  drop(state, capture);
  require(!capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call made the capture invalid");
  require(joined(*capture->graph, stream->frontier), CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
          "a stream that was forked off was not joined again");
  return capture->graph;
}

CUstreamCaptureStatus capture_status(DriverState& state, const Stream& stream) {
  if (stream.legacy)
    for (const auto& capture : state.captures)
      require(!has_blocking_stream(*capture, *stream.context), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
              "a blocking stream of this context is being captured");
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

void refuse_unsafe(DriverState& state) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  const std::thread::id here = std::this_thread::get_id();
  const bool forbidden = invalidate(state, [&](const Capture& capture) {
    if (capture.thread == here) return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  });
  require(!forbidden, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "a capture forbids this call, and is invalid from now on; make the call before the capture begins");
}

void refuse_waiting(DriverState& state, const Context& context) {
  require(!invalidate(state, [&](const Capture& capture) { return in_context(capture, context); }),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "a stream of this context is being captured; its capture is invalid now");
}

void refuse_legacy(DriverState& state, const Context& context) {
  require(!invalidate(state, [&](const Capture& capture) { return has_blocking_stream(capture, context); }),
          CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
          "the legacy stream would wait for a blocking stream that is being captured; that capture is invalid now");
}

void refuse_capturing(const Stream& stream, const char* what) {
  if (stream.capture == nullptr) return;
  invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
             std::string(what) + ": the stream is being captured");
}

void refuse_captured(DriverState& state, const Event& event) {
  if (event.capture == nullptr) return;
  refuse_event_of_failed(event);
  if (alive(state, event.capture)) event.capture->invalid = true;
  refuse(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a capture");
}

std::shared_ptr<Job> enqueue(Call& call, const std::shared_ptr<Stream>& stream, Operation operation) {
  if (stream->capture != nullptr) {
    add_node(call.state, *stream, std::move(operation));
    return nullptr;
  }
  if (stream->legacy) refuse_legacy(call.state, *stream->context);
  return submit(call.state, stream,
                [run = std::move(operation.run), settings = call.state.settings] { return run({*settings}); });
}

void record_event(Call& call, const std::shared_ptr<Stream>& stream, Event& event) {
  if (stream->legacy) refuse_legacy(call.state, *stream->context);
  refuse_invalid(*stream);
  event.capture = stream->capture;
  event.frontier = stream->frontier;
  event.job = stream->capture != nullptr ? nullptr : submit(call.state, stream, nullptr);
}

void wait_for_event(Call& call, const std::shared_ptr<Stream>& stream, const Event& event) {
  refuse_invalid(*stream);
  if (event.capture != nullptr) return wait_for_captured(call.state, stream, event);
  if (event.job == nullptr) return;  // never recorded: nothing to wait for
  if (stream->capture != nullptr)
    invalidate(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "the event was recorded outside of the capture");
  if (stream->legacy) refuse_legacy(call.state, *stream->context);
  submit(call.state, stream, nullptr, {event.job});
}

void drop_captures_of(DriverState& state, const Context& context) {
  for (const auto& capture : std::vector(state.captures))
    if (in_context(*capture, context)) drop(state, capture);
}

void leave_capture(DriverState& state, const std::shared_ptr<Stream>& stream) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return;
  capture->invalid = true;
  if (capture->origin == stream.get()) return drop(state, capture);
  stream->capture.reset();
  std::erase(capture->streams, stream);
}

}  // namespace quern::host
