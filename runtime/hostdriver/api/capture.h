// Stream capture into graphs, and the calls that captures forbid.
#ifndef QUERN_HOSTDRIVER_API_CAPTURE_H_
#define QUERN_HOSTDRIVER_API_CAPTURE_H_

#include "hostdriver/api/schedule.h"

namespace quern::host {

// The calling thread's capture mode, which decides the calls that captures forbid it; exchanged with `mode`.
void exchange_capture_mode(CUstreamCaptureMode& mode);
void begin_capture(DriverState& state, const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode);
// Throws Refusal if the capture cannot be ended by this stream or thread, or has failed. The capture is over
// nevertheless, except with the wrong stream, which invalidates it.
std::shared_ptr<Graph> end_capture(DriverState& state, const std::shared_ptr<Stream>& stream);
// For a stream of the current context; throws Refusal (IMPLICIT) for the legacy stream while a blocking one is
// captured.
CUstreamCaptureStatus capture_status(DriverState& state, const Stream& stream);

// For calls that a capture forbids: throw Refusal and invalidate the captures that forbid the call.
void refuse_unsafe(DriverState& state);                           // memory, loading, asking; by thread and mode
void refuse_waiting(DriverState& state, const Context& context);  // for all of a context
void refuse_legacy(DriverState& state, const Context& context);   // work in, or waiting for, the legacy stream
void refuse_capturing(const Stream& stream, const char* what);    // what has no place in a graph
void refuse_captured(DriverState& state, const Event& event);     // asking for an event that is part of a graph

// Enqueues the operation on the stream, or adds it to the graph that the stream is captured into; null in that case.
std::shared_ptr<Job> enqueue(Call& call, const std::shared_ptr<Stream>& stream, Operation operation);
void record_event(Call& call, const std::shared_ptr<Stream>& stream, Event& event);
void wait_for_event(Call& call, const std::shared_ptr<Stream>& stream, const Event& event);

void drop_captures_of(DriverState& state, const Context& context);
// For a stream that is destroyed during capture.
void leave_capture(DriverState& state, const std::shared_ptr<Stream>& stream);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_CAPTURE_H_
