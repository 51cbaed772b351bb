#include "quern/worker.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "testbench/open_device.h"
#include "tuner/evaluate/device_evaluator.h"
#include "tuner/worker/compile_candidate.h"
#include "tuner/worker/worker_messages.h"

namespace quern {
namespace {

constexpr int kContextLost = 3;

// Ends this process when its parent is gone, even while a candidate runs. A forked process may keep the parent's end of
// the input open; then only the parent's process id tells.
void end_with_parent() {
  std::thread([parent = ::getppid()] {
    constexpr int kPollMilliseconds = 1000;
    pollfd input = {STDIN_FILENO, POLLRDHUP, 0};
    while ((input.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) == 0 && ::getppid() == parent)
      ::poll(&input, 1, kPollMilliseconds);
    ::_exit(0);
  }).detach();
}

// Sends answers on standard output. Anything else that is printed goes to standard error instead.
class Channel {
 public:
  Channel() : out_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  bool read(std::string* line) {
    const ssize_t length = ::getline(&read_, &space_, stdin);
    if (length < 0) return false;
    line->assign(read_, static_cast<std::size_t>(length));
    if (line->ends_with('\n')) line->pop_back();
    return true;
  }
  void write(const Message& message) const {
    const std::string line = serialize(message) + "\n";
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t count = ::write(out_, line.data() + sent, line.size() - sent);
      if (count < 0 && errno != EINTR) ::_exit(0);
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
  }

 private:
  const int out_;
  char* read_ = nullptr;  // getline's buffer; not freed
  std::size_t space_ = 0;
};

class Worker {
 public:
  explicit Worker(Runtime& runtime) : runtime_(runtime) {}

  Message answer(const Message& request) {
    Message answer;
    if (request.open) answer.facts = open(*request.open);
    if (request.evaluate) answer.trial = evaluate(*request.evaluate);
    if (request.compare)
      answer.rounds = evaluator().rounds(request.compare->a, request.compare->b, request.compare->count);
    if (request.compile) answer.image = make_image(runtime_, *request.compile);
    runtime_.flush();  // before the answer is used; and this process ends without destructors
    return answer;
  }

  // After a crash the context is lost.
  bool lost() const { return lost_; }

 private:
  DeviceEvaluator& evaluator() {
    if (!evaluator_) throw Error(Code::bad_input, Stage::tool, "no problem is open; send an \"open\" first");
    return *evaluator_;
  }

  DeviceFacts open(const OpenMessage& message) {
    evaluator_.reset();
    device_.reset();
    const AnyProblem problem = runtime_.parse(message.problem);  // reports an unknown family before a device is opened
    device_ = open_device(runtime_, parse_device(message.device));
    EvaluatorSettings settings;
    settings.regime = parse_regime(message.regime);
    settings.trusted = message.trusted;
    settings.memory_bytes = message.memory_bytes;
    evaluator_.emplace(runtime_, device_->driver, device_->device, problem, settings);
    return evaluator_->facts();
  }

  SweepTrial evaluate(const EvaluateMessage& message) {
    const double best_us = message.best_us > 0 ? message.best_us : std::numeric_limits<double>::infinity();
    SweepTrial trial = evaluator().evaluate(message.config, best_us);
    lost_ = trial.failure == FailureKind::crash;
    return trial;
  }

  Runtime& runtime_;
  std::optional<OpenDevice> device_;
  std::optional<DeviceEvaluator> evaluator_;  // destroyed before the device
  bool lost_ = false;
};

Message answer_or_error(Worker& worker, const std::string& line) {
  Message answer;
  try {
    return worker.answer(parse_message(line));
  } catch (const Error& error) {
    answer.error = to_message(error);
  } catch (const std::exception& error) {
    answer.error = to_message(Error(Code::io, Stage::tool, error.what()));
  }
  return answer;
}

}  // namespace

void serve_worker(const std::vector<const Family*>& families, const Options& options) {
  end_with_parent();
  Runtime runtime(options);
  for (const Family* family : families) runtime.add(*family);
  Channel channel;
  Worker worker(runtime);
  for (std::string line; channel.read(&line);) {
    channel.write(answer_or_error(worker, line));
    if (worker.lost()) ::_exit(kContextLost);  // every driver call in a destructor would fail
  }
  ::_exit(0);
}

}  // namespace quern
