// Worker processes, from the side of the process that starts them.
#ifndef QUERN_TUNER_WORKER_REMOTE_H_
#define QUERN_TUNER_WORKER_REMOTE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "tuner/evaluate/evaluator.h"
#include "tuner/worker/worker_messages.h"

namespace quern {

// How a worker is started, and its time limits.
struct WorkerSettings {
  std::string program;  // a path: `quern`, or an application's own
  std::vector<std::string> arguments = {"worker"};
  ChildProcess::Variables variables;  // added to its environment
  std::chrono::milliseconds compile_limit{60'000};
  std::chrono::milliseconds evaluate_limit{20'000};  // of one config: check and samples
  std::chrono::milliseconds open_limit{300'000};     // a context, data, and the reference on the host
  // Polled while a worker is busy, if set: true kills the worker, and the waiting call throws Stopped. Thread-safe.
  std::function<bool()> stop;
};

// The answer is no longer wanted.
class Stopped : public Error {
 public:
  Stopped() : Error(Code::unsupported, Stage::tool, "the sweep was stopped") {}
};
// How soon a request to stop is noticed.
inline constexpr std::chrono::milliseconds kPollInterval{20};

// Where a worker finds the compilers; "": it searches for itself.
struct WorkerLibraries {
  std::string nvrtc;
  std::string cxx;
  std::string libcuda;
};

// Started as `program worker`, with images in `cache_dir`, and with tuning off.
WorkerSettings worker_of(const std::string& program, const std::string& cache_dir, const WorkerLibraries& libraries);

// One worker process, restarted when the last one is gone. Not thread-safe.
class RemoteWorker {
 public:
  explicit RemoteWorker(const WorkerSettings& settings) : settings_(settings) {}

  // The outcome of a question.
  enum class Outcome { answered, timeout, ended };
  struct Reply {
    Outcome outcome = Outcome::answered;
    Message message;  // if answered
    std::string how;  // if the worker ended: "signal 11 (Segmentation fault)"
  };
  // After a timeout or an end the worker is gone, and the next question starts another. Throws Error (io) where none
  // can be started, and Stopped.
  Reply ask(const Message& question, std::chrono::milliseconds limit);
  // The expected member of an answer. If it is missing, stops the worker and throws Error (io).
  template <class Answer>
  Answer expect(Message& message, std::optional<Answer> Message::*member);
  bool running() const { return process_ != nullptr; }
  // Kills a worker that cannot continue.
  void stop() { process_.reset(); }

 private:
  Message parse(const std::string& line);
  ChildProcess::Reading read(std::string* line, std::chrono::milliseconds limit);
  const WorkerSettings settings_;
  std::unique_ptr<ChildProcess> process_;
};

// An evaluator in a worker process. What a candidate breaks ends with that process.
class RemoteEvaluator : public Evaluator {
 public:
  // Does not start a worker yet.
  RemoteEvaluator(const WorkerSettings& settings, OpenMessage open)
      : settings_(settings), open_(std::move(open)), worker_(settings) {}

  DeviceFacts facts() override;
  // Failures also include `timeout` and `crash`, and `worker` where a new worker cannot open the device.
  SweepTrial evaluate(const std::string& config, double best_us) override;
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override;

 private:
  SweepTrial trial_of(const std::string& config, RemoteWorker::Reply reply);
  Message ask(const Message& question, std::chrono::milliseconds limit);
  void open();
  const WorkerSettings settings_;
  const OpenMessage open_;
  RemoteWorker worker_;
  std::optional<DeviceFacts> facts_;  // of the running worker
};

// The result of a compile in a worker: the image, or why there is none.
struct CompileOutcome {
  std::optional<ImageMessage> image;
  FailureKind failure = FailureKind::compile;
  std::string why;
};

class RemoteCompiler {
 public:
  explicit RemoteCompiler(const WorkerSettings& settings) : settings_(settings), worker_(settings) {}
  // Throws Error for what is not the candidate's fault, for example no compiler.
  CompileOutcome compile(const CompileMessage& message);

 private:
  const WorkerSettings settings_;
  RemoteWorker worker_;
};

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_REMOTE_H_
