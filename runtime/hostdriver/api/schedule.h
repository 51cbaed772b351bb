// Streams: jobs in order within one, beside each other across them, each stream with a thread from its first job on.
#ifndef QUERN_HOSTDRIVER_API_SCHEDULE_H_
#define QUERN_HOSTDRIVER_API_SCHEDULE_H_

#include <string>

#include "hostdriver/api/guarded.h"

namespace quern::host {

// The stream that a handle stands for in the current context. Throws Refusal.
std::shared_ptr<Stream> stream_of(Call& call, CUstream handle);
// Gives a job to a stream, after what its kind of stream waits for and after `others`.
std::shared_ptr<Job> submit(DriverState& state, const std::shared_ptr<Stream>& stream, std::function<Outcome()> run,
                            std::vector<std::shared_ptr<Job>> others = {});
// Whether all that was given to the stream is done.
bool idle(const Stream& stream);
void wait_for_job(Call& call, const std::shared_ptr<Job>& job);
void wait_for_context(Call& call, const Context& context);
// The stream gets no more work and its thread ends after the work that it has.
void destroy_stream(DriverState& state, const std::shared_ptr<Stream>& stream);

// All later calls in the context return `code`, and what waits there is dropped.
void corrupt(Context& context, CUresult code);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_SCHEDULE_H_
