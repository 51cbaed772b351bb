// Streams and events.
#include "hostdriver/api/capture.h"
#include "hostdriver/api/entry_points.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

constexpr const char* kEvent = "event, or it was destroyed";

std::shared_ptr<Event> event_of(Call& call, CUevent handle) { return known(call.state.events, handle, kEvent); }

// A capture forbids queries of any stream, as driver 580 does.
void refuse_asking(Call& call, const Stream& stream, const char* what) {
  refuse_capturing(stream, what);
  if (stream.legacy) refuse_legacy(call.state, *stream.context);
  refuse_unsafe(call.state);
}

// The legacy stream is done when the blocking streams that it waits for are.
std::vector<std::shared_ptr<Job>> last_jobs(const Stream& stream) {
  std::vector<std::shared_ptr<Job>> jobs{stream.last};
  if (!stream.legacy) return jobs;
  for (const auto& other : stream.context->streams)
    if (other->blocking) jobs.push_back(other->last);
  return jobs;
}

CUresult elapsed(const char* name, float* milliseconds, CUevent begin, CUevent end) {
  return guarded(name, Needs::healthy, [&](Call& call) {
    float& result = needed(milliseconds, "pMilliseconds");
    const std::shared_ptr<Event> events[] = {event_of(call, begin), event_of(call, end)};
    for (const auto& event : events) {
      refuse_captured(call.state, *event);
      require(event->timed, CUDA_ERROR_INVALID_HANDLE, "an event without timing");
      require(event->job != nullptr, CUDA_ERROR_INVALID_HANDLE, "an event that was not recorded");
    }
    require(events[0]->context == events[1]->context, CUDA_ERROR_INVALID_HANDLE, "events of different contexts");
    if (!events[0]->job->done || !events[1]->job->done) return CUDA_ERROR_NOT_READY;
    result = std::chrono::duration<float, std::milli>(events[1]->job->ended - events[0]->job->ended).count();
    return CUDA_SUCCESS;
  });
}

}  // namespace

QUERN_HOST_ENTRY CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return guarded("cuStreamCreate", Needs::healthy, [&](Call& call) {
    CUstream& result = needed(stream, "phStream");
    require((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags");
    auto made = std::make_shared<Stream>();
    made->context = call.context;
    made->blocking = flags == CU_STREAM_DEFAULT;
    call.context->streams.push_back(made);
    result = call.state.add(call.state.streams, made);
  });
}

// Queued work still runs to its end.
QUERN_HOST_ENTRY CUresult cuStreamDestroy_v2(CUstream handle) {
  return guarded("cuStreamDestroy_v2", Needs::release, [&](Call& call) {
    const std::shared_ptr<Stream> stream = taken(call.state.streams, handle, kStream);
    leave_capture(call.state, stream);
    destroy_stream(call.state, stream);
  });
}

QUERN_HOST_ENTRY CUresult cuStreamSynchronize(CUstream handle) {
  return guarded("cuStreamSynchronize", Needs::healthy, [&](Call& call) {
    const std::shared_ptr<Stream> stream = stream_of(call, handle);
    refuse_asking(call, *stream, "cuStreamSynchronize");
    for (const auto& job : last_jobs(*stream)) wait_for_job(call, job);
  });
}

QUERN_HOST_ENTRY CUresult cuStreamQuery(CUstream handle) {
  return guarded("cuStreamQuery", Needs::healthy, [&](Call& call) {
    const std::shared_ptr<Stream> stream = stream_of(call, handle);
    refuse_asking(call, *stream, "cuStreamQuery");
    for (const auto& job : last_jobs(*stream))
      if (job != nullptr && !job->done) return CUDA_ERROR_NOT_READY;
    return CUDA_SUCCESS;
  });
}

QUERN_HOST_ENTRY CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return guarded("cuStreamWaitEvent", Needs::healthy, [&](Call& call) {
    require(flags == CU_EVENT_WAIT_DEFAULT, CUDA_ERROR_NOT_SUPPORTED, "flags other than CU_EVENT_WAIT_DEFAULT");
    wait_for_event(call, stream_of(call, stream), *event_of(call, event));
  });
}

QUERN_HOST_ENTRY CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return guarded("cuEventCreate", Needs::healthy, [&](Call& call) {
    CUevent& result = needed(event, "phEvent");
    require((flags & CU_EVENT_INTERPROCESS) == 0, CUDA_ERROR_NOT_SUPPORTED, "CU_EVENT_INTERPROCESS");
    require((flags & ~unsigned{CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING}) == 0, CUDA_ERROR_INVALID_VALUE,
            "unknown flags");
    auto made = std::make_shared<Event>();
    made->context = call.context;
    made->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    result = call.state.add(call.state.events, made);
  });
}

QUERN_HOST_ENTRY CUresult cuEventDestroy_v2(CUevent event) {
  return guarded("cuEventDestroy_v2", Needs::release, [&](Call& call) { taken(call.state.events, event, kEvent); });
}

QUERN_HOST_ENTRY CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return guarded("cuEventRecord", Needs::healthy, [&](Call& call) {
    const std::shared_ptr<Event> event = event_of(call, handle);
    const std::shared_ptr<Stream> recorded = stream_of(call, stream);
    require(event->context == recorded->context, CUDA_ERROR_INVALID_HANDLE,
            "the event and the stream belong to different contexts");
    record_event(call, recorded, *event);
  });
}

QUERN_HOST_ENTRY CUresult cuEventSynchronize(CUevent handle) {
  return guarded("cuEventSynchronize", Needs::healthy, [&](Call& call) {
    const std::shared_ptr<Event> event = event_of(call, handle);
    refuse_captured(call.state, *event);
    refuse_unsafe(call.state);
    wait_for_job(call, std::shared_ptr<Job>(event->job));
  });
}

QUERN_HOST_ENTRY CUresult cuEventQuery(CUevent handle) {
  return guarded("cuEventQuery", Needs::healthy, [&](Call& call) {
    const std::shared_ptr<Event> event = event_of(call, handle);
    refuse_captured(call.state, *event);
    refuse_unsafe(call.state);
    return event->job == nullptr || event->job->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

QUERN_HOST_ENTRY CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return elapsed("cuEventElapsedTime", milliseconds, begin, end);
}

QUERN_HOST_ENTRY CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) {
  return elapsed("cuEventElapsedTime_v2", milliseconds, begin, end);
}
