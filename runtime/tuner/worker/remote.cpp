#include "tuner/worker/remote.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace quern {
namespace {

constexpr std::chrono::milliseconds kExitTimeout{2000};  // from the end of a worker's output to its exit

double seconds(std::chrono::milliseconds limit) { return std::chrono::duration<double>(limit).count(); }

}  // namespace

WorkerSettings worker_of(const std::string& program, const std::string& cache_dir, const WorkerLibraries& libraries) {
  WorkerSettings settings;
  settings.program = program;
  // Candidates must not be in a manifest, so QUERN_MANIFEST is cleared.
  settings.variables = {
      {"QUERN_CACHE_DIR", cache_dir}, {"QUERN_CACHE", "read-write"}, {"QUERN_MANIFEST", ""}, {"QUERN_IN_WORKER", "1"}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) settings.variables.emplace_back(name, value);
  };
  add("QUERN_NVRTC", libraries.nvrtc);
  add("QUERN_CXX", libraries.cxx);
  add("QUERN_LIBCUDA", libraries.libcuda);
  return settings;
}

// ---- RemoteWorker

// The expected member of the answer. A worker that sends anything else is stopped.
template <class Answer>
Answer RemoteWorker::expect(Message& message, std::optional<Answer> Message::*member) {
  if (message.*member) return *std::move(message.*member);
  stop();
  throw Error(Code::io, Stage::tool, cat("the worker ", settings_.program, " sent an answer of the wrong kind"));
}

Message RemoteWorker::parse(const std::string& line) {
  try {
    return parse_message(line);
  } catch (const Error& error) {
    stop();
    throw Error(Code::io, Stage::tool,
                cat("the worker ", settings_.program, " sent \"", line.substr(0, 80), "\", which is not an answer (",
                    error.sentence, "); a worker prints nothing to standard output before it calls serve_worker"));
  }
}

ChildProcess::Reading RemoteWorker::read(std::string* line, std::chrono::milliseconds limit) {
  if (!settings_.stop) return process_->read_line(line, limit);
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (settings_.stop()) {
      process_.reset();
      throw Stopped();
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const auto reading = process_->read_line(line, std::clamp(left, std::chrono::milliseconds{0}, kPollInterval));
    if (reading != ChildProcess::Reading::timeout || left <= kPollInterval) return reading;
  }
}

RemoteWorker::Reply RemoteWorker::ask(const Message& question, std::chrono::milliseconds limit) {
  if (!process_) process_ = std::make_unique<ChildProcess>(settings_.program, settings_.arguments, settings_.variables);
  std::string line;
  auto reading = ChildProcess::Reading::end;
  if (process_->write_line(serialize(question))) reading = read(&line, limit);
  if (reading == ChildProcess::Reading::line) return {Outcome::answered, parse(line), {}};
  const bool timeout = reading == ChildProcess::Reading::timeout;
  Reply reply{timeout ? Outcome::timeout : Outcome::ended,
              {},
              process_->end(timeout ? std::chrono::milliseconds{0} : kExitTimeout)};
  process_.reset();
  return reply;
}

// ---- RemoteEvaluator

// The answer; throws Error where the worker answers with an error, times out or ends.
Message RemoteEvaluator::ask(const Message& question, std::chrono::milliseconds limit) {
  RemoteWorker::Reply reply = worker_.ask(question, limit);
  if (reply.outcome == RemoteWorker::Outcome::answered) {
    if (reply.message.error) throw to_error(*reply.message.error);
    return std::move(reply.message);
  }
  facts_.reset();
  const bool timeout = reply.outcome == RemoteWorker::Outcome::timeout;
  throw Error(Code::io, Stage::tool,
              timeout ? cat("the worker ", settings_.program, " did not answer within ", fixed(seconds(limit), 0), " s")
                      : cat("the worker ", settings_.program, " ended: ", reply.how));
}

void RemoteEvaluator::open() {
  if (facts_ && worker_.running()) return;
  facts_.reset();
  Message question;
  question.open = open_;
  Message answer = ask(question, settings_.open_limit);
  facts_ = worker_.expect(answer, &Message::facts);
}

DeviceFacts RemoteEvaluator::facts() {
  open();
  return *facts_;
}

SweepTrial RemoteEvaluator::trial_of(const std::string& config, RemoteWorker::Reply reply) {
  if (reply.message.error) throw to_error(*reply.message.error);
  if (reply.outcome == RemoteWorker::Outcome::answered) return worker_.expect(reply.message, &Message::trial);
  const bool timeout = reply.outcome == RemoteWorker::Outcome::timeout;
  SweepTrial trial;
  trial.config = config;
  trial.failure = timeout ? FailureKind::timeout : FailureKind::crash;
  trial.why = timeout ? cat("it did not end within ", fixed(seconds(settings_.evaluate_limit), 1), " s")
                      : cat("it ended its worker: ", reply.how);
  return trial;
}

SweepTrial RemoteEvaluator::evaluate(const std::string& config, double best_us) {
  open();
  Message question;
  question.evaluate = EvaluateMessage{config, std::isfinite(best_us) ? best_us : 0};
  SweepTrial trial = trial_of(config, worker_.ask(question, settings_.evaluate_limit));
  if (trial.failure == FailureKind::crash) worker_.stop();  // its context is lost
  return trial;
}

std::vector<Round> RemoteEvaluator::rounds(const std::string& a, const std::string& b, int count) {
  open();
  Message question;
  question.compare = CompareMessage{a, b, count};
  Message answer = ask(question, settings_.evaluate_limit);
  std::vector<Round> rounds = worker_.expect(answer, &Message::rounds);
  if (rounds.size() == static_cast<std::size_t>(count)) return rounds;
  worker_.stop();
  throw Error(Code::io, Stage::tool,
              cat("the worker ", settings_.program, " answered ", rounds.size(), " rounds of ", count));
}

// ---- RemoteCompiler

CompileOutcome RemoteCompiler::compile(const CompileMessage& message) {
  Message question;
  question.compile = message;
  RemoteWorker::Reply reply = worker_.ask(question, settings_.compile_limit);
  CompileOutcome outcome;
  if (reply.outcome == RemoteWorker::Outcome::timeout) {
    outcome.failure = FailureKind::compile_timeout;
    outcome.why = cat("the compile did not end within ", fixed(seconds(settings_.compile_limit), 1), " s");
  } else if (reply.outcome == RemoteWorker::Outcome::ended) {
    outcome.why = cat("the compiler ended its process: ", reply.how);
  } else if (!reply.message.error) {
    outcome.image = worker_.expect(reply.message, &Message::image);
  } else if (reply.message.error->code == static_cast<int>(Code::compile)) {
    outcome.why = reply.message.error->sentence;
  } else {
    throw to_error(*reply.message.error);
  }
  return outcome;
}

}  // namespace quern
