#include "hostdriver/api/schedule.h"

#include <algorithm>
#include <exception>
#include <new>

namespace quern::host {
namespace {

bool ready(const Job& job) {
  return std::all_of(job.after.begin(), job.after.end(), [](const auto& other) { return other->done; });
}

// Exceptions must not leave a stream's thread; to the application they are failed kernels.
Outcome run_guarded(const std::function<Outcome()>& run) {
  try {
    return run();
  } catch (const Refusal& refusal) {
    return {refusal.code, refusal.words};
  } catch (const std::bad_alloc&) {
    return {CUDA_ERROR_OUT_OF_MEMORY, "out of host memory for an operation of a stream"};
  } catch (const std::exception& error) {
    return {CUDA_ERROR_LAUNCH_FAILED, error.what()};
  }
}

// Releases the lock while the job runs and while its captures are destroyed. Returns its time on the scripted clock.
std::chrono::nanoseconds run_job(DriverState& state, Lock& lock, Stream& stream, Job& job) {
  std::function<Outcome()> run = std::move(job.run);
  const bool dropped = run == nullptr || stream.context->error != CUDA_SUCCESS;
  Outcome outcome;
  ++state.running;
  lock.unlock();
  if (!dropped) outcome = run_guarded(run);
  run = nullptr;
  lock.lock();
  --state.running;
  if (outcome.result == CUDA_SUCCESS) return std::chrono::nanoseconds(outcome.ns);
  report(outcome.words);
  corrupt(*stream.context, outcome.result);
  return {};
}

// The stream continues after everything that the job waited for.
std::chrono::steady_clock::time_point scripted_end(Stream& stream, const Job& job, std::chrono::nanoseconds took) {
  for (const auto& other : job.after) stream.time = std::max(stream.time, other->ended.time_since_epoch());
  stream.time += took;
  return std::chrono::steady_clock::time_point(stream.time);
}

void finish(DriverState& state, Stream& stream, Job& job, std::chrono::nanoseconds took) {
  job.done = true;
  job.ended = state.settings->scripted() ? scripted_end(stream, job, took) : std::chrono::steady_clock::now();
  job.after.clear();
  state.changed.notify_all();
}

void run_stream(const std::shared_ptr<Stream>& stream) {
  DriverState& all = state();
  Lock lock(all.mutex);
  for (;;) {
    all.changed.wait(lock, [&] {
      return !all.ending && (stream->queue.empty() ? stream->destroyed : ready(*stream->queue.front()));
    });
    if (stream->queue.empty()) break;
    const std::shared_ptr<Job> job = stream->queue.front();
    const std::chrono::nanoseconds took = run_job(all, lock, *stream, *job);
    stream->queue.pop_front();
    finish(all, *stream, *job, took);
  }
  std::erase(stream->context->streams, stream);
}

void start(const std::shared_ptr<Stream>& stream) {
  if (stream->started) return;
  std::thread([stream] { run_stream(stream); }).detach();
  stream->started = true;
}

void add_last(std::vector<std::shared_ptr<Job>>& jobs, const Stream& stream) {
  if (!idle(stream)) jobs.push_back(stream.last);
}

// The legacy stream and the blocking streams wait for each other; within a stream the queue gives the order.
void add_implicit(std::vector<std::shared_ptr<Job>>& jobs, const Stream& stream) {
  if (stream.legacy) {
    for (const auto& other : stream.context->streams)
      if (other->blocking) add_last(jobs, *other);
  } else if (stream.blocking) {
    add_last(jobs, *stream.context->legacy);
  }
}

}  // namespace

std::shared_ptr<Stream> stream_of(Call& call, CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return call.context->legacy;
  require(handle != CU_STREAM_PER_THREAD, CUDA_ERROR_NOT_SUPPORTED, "CU_STREAM_PER_THREAD");
  std::shared_ptr<Stream> stream = known(call.state.streams, handle, kStream);
  return stream;
}

std::shared_ptr<Job> submit(DriverState& state, const std::shared_ptr<Stream>& stream, std::function<Outcome()> run,
                            std::vector<std::shared_ptr<Job>> others) {
  auto job = std::make_shared<Job>();
  job->run = std::move(run);
  job->after = std::move(others);
  add_implicit(job->after, *stream);
  start(stream);
  stream->queue.push_back(job);
  stream->last = job;
  state.changed.notify_all();
  return job;
}

bool idle(const Stream& stream) { return stream.last == nullptr || stream.last->done; }

void wait_for_job(Call& call, const std::shared_ptr<Job>& job) {
  if (job != nullptr) call.wait([&] { return job->done; });
}

void wait_for_context(Call& call, const Context& context) {
  std::vector<std::shared_ptr<Job>> jobs;
  for (const auto& stream : context.streams) add_last(jobs, *stream);
  if (context.legacy != nullptr) add_last(jobs, *context.legacy);
  for (const auto& job : jobs) wait_for_job(call, job);
}

void destroy_stream(DriverState& state, const std::shared_ptr<Stream>& stream) {
  stream->destroyed = true;
  if (!stream->started) std::erase(stream->context->streams, stream);
  state.changed.notify_all();
}

void corrupt(Context& context, CUresult code) {
  if (context.error == CUDA_SUCCESS) context.error = code;
}

}  // namespace quern::host
