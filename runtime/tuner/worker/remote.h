// Workers, seen from the process that they work for.
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

// How a worker is started and how long it may take.
struct WorkerSettings {
  std::string program;  // a path: `quern`, or an application's own
  std::vector<std::string> arguments = {"worker"};
  ChildProcess::Variables variables;  // of its environment
  std::chrono::milliseconds compile_limit{60'000};
  std::chrono::milliseconds evaluate_limit{20'000};  // of one config: runs for the check, and samples
  std::chrono::milliseconds open_limit{300'000};     // a context, data, and the reference on the host
  // Asked all the while a worker is at work, where it is given: true ends the worker, and whoever waits for it gets a
  // Stopped. Thread-safe.
  std::function<bool()> stop;
};

// Nobody wants the answer any more.
class Stopped : public Error {
 public:
  Stopped() : Error(Code::unsupported, Stage::tool, "the sweep was stopped") {}
};

// Where a worker finds what its images are made with; "" for what it may look for itself.
struct WorkerLibraries {
  std::string nvrtc;
  std::string cxx;
  std::string libcuda;
};

// Started as `program worker`, with images in `cache_dir`, and never tuning anything by itself.
WorkerSettings worker_of(const std::string& program, const std::string& cache_dir, const WorkerLibraries& libraries);

// One worker, started anew when the last one is gone. Not thread-safe.
class RemoteWorker {
 public:
  explicit RemoteWorker(const WorkerSettings& settings) : settings_(settings) {}

  // What became of a question.
  enum class Outcome { answered, timeout, ended };
  struct Reply {
    Outcome outcome = Outcome::answered;
    Message message;  // where it was answered
    std::string how;  // where the worker ended: "signal 11 (Segmentation fault)"
  };
  // After a timeout or an end the worker is gone, and the next question starts another. Throws Error (io) where none
  // can be started, and Stopped.
  Reply ask(const Message& question, std::chrono::milliseconds limit);
  // What an answer must hold. Throws Error (io), without the worker, where it holds something else.
  template <class Answer>
  Answer expect(Message& message, std::optional<Answer> Message::*member);
  bool running() const { return process_ != nullptr; }
  // Of a worker that cannot go on.
  void stop() { process_.reset(); }

 private:
  Message parse(const std::string& line);
  ChildProcess::Reading read(std::string* line, std::chrono::milliseconds limit);
  const WorkerSettings settings_;
  std::unique_ptr<ChildProcess> process_;
};

// An evaluator in a worker. What a candidate breaks is thrown away with the worker.
class RemoteEvaluator : public Evaluator {
 public:
  // Opens nothing yet.
  RemoteEvaluator(const WorkerSettings& settings, OpenMessage open)
      : settings_(settings), open_(std::move(open)), worker_(settings) {}

  DeviceFacts facts() override;
  // Failures of kind `timeout` and `crash` among the others; `worker` where a new worker would not open.
  SweepTrial evaluate(const std::string& config, double best_us) override;
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override;

 private:
  SweepTrial trial_of(const std::string& config, RemoteWorker::Reply reply);
  Message ask(const Message& question, std::chrono::milliseconds limit);
  void open();
  const WorkerSettings settings_;
  const OpenMessage open_;
  RemoteWorker worker_;
  std::optional<DeviceFacts> facts_;  // of the worker that runs
};

// What a compile in a worker gives: the image, or why there is none.
struct CompileOutcome {
  std::optional<ImageMessage> image;
  FailureKind failure = FailureKind::compile;
  std::string why;
};

class RemoteCompiler {
 public:
  explicit RemoteCompiler(const WorkerSettings& settings) : settings_(settings), worker_(settings) {}
  // Throws Error for what is not the candidate's fault: no compiler, for one.
  CompileOutcome compile(const CompileMessage& message);

 private:
  const WorkerSettings settings_;
  RemoteWorker worker_;
};

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_REMOTE_H_
