// Captures of streams into graphs, and what they forbid.
#ifndef QUERN_HOSTDRIVER_API_CAPTURE_H_
#define QUERN_HOSTDRIVER_API_CAPTURE_H_

#include "hostdriver/api/schedule.h"

namespace quern::host {

// The calling thread's mode, for which calls captures forbid it; exchanged with `mode`.
void exchange_capture_mode(CUstreamCaptureMode& mode);
void begin_capture(DriverState& state, const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode);
// Throws Refusal where the capture cannot be ended by this stream or thread, and where it has failed. It is over
// nevertheless, but for the wrong stream, which makes it invalid.
std::shared_ptr<Graph> end_capture(DriverState& state, const std::shared_ptr<Stream>& stream);
// Of a stream of the current context; throws Refusal (IMPLICIT) for the legacy stream beside a blocking one.
CUstreamCaptureStatus capture_status(DriverState& state, const Stream& stream);

// Calls that a capture forbids: these throw Refusal, and the captures that forbid them become invalid.
void refuse_unsafe(DriverState& state);                           // memory, loading, asking; by thread and mode
void refuse_waiting(DriverState& state, const Context& context);  // for all of a context
void refuse_legacy(DriverState& state, const Context& context);   // work in, or waiting for, the legacy stream
void refuse_capturing(const Stream& stream, const char* what);    // what has no place in a graph
void refuse_captured(DriverState& state, const Event& event);     // asking for an event that is part of a graph

// Gives the operation to the stream, or adds it to the graph that the stream is captured into; null in that case.
std::shared_ptr<Job> enqueue(Call& call, const std::shared_ptr<Stream>& stream, Operation operation);
void record_event(Call& call, const std::shared_ptr<Stream>& stream, Event& event);
void wait_for_event(Call& call, const std::shared_ptr<Stream>& stream, const Event& event);

void drop_captures_of(DriverState& state, const Context& context);
// Of a stream that is destroyed while it is captured.
void leave_capture(DriverState& state, const std::shared_ptr<Stream>& stream);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_CAPTURE_H_
