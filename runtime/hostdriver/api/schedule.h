// Streams: jobs run in order within a stream and concurrently across streams. Each stream has its own thread from its
// first job on.
#ifndef QUERN_HOSTDRIVER_API_SCHEDULE_H_
#define QUERN_HOSTDRIVER_API_SCHEDULE_H_

#include <string>

#include "hostdriver/api/guarded.h"

namespace quern::host {

// Looks up a stream handle in the current context. Throws Refusal.
std::shared_ptr<Stream> stream_of(Call& call, CUstream handle);
// Enqueues a job on a stream, after the implicit dependencies of its kind of stream and after `others`.
std::shared_ptr<Job> submit(DriverState& state, const std::shared_ptr<Stream>& stream, std::function<Outcome()> run,
                            std::vector<std::shared_ptr<Job>> others = {});
// Whether all work of the stream is done.
bool idle(const Stream& stream);
void wait_for_job(Call& call, const std::shared_ptr<Job>& job);
void wait_for_context(Call& call, const Context& context);
// The stream accepts no more work, and its thread ends when the queue is empty.
void destroy_stream(DriverState& state, const std::shared_ptr<Stream>& stream);

// All later calls in the context return `code`, and its queued work is dropped.
void corrupt(Context& context, CUresult code);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_SCHEDULE_H_
