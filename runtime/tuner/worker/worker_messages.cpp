#include "tuner/worker/worker_messages.h"

#include "base/json.h"
#include "tuner/journal/journal_members.h"

namespace quern {

constexpr auto members(const OpenMessage&) {
  return std::tuple{
      required("device", &OpenMessage::device),
      required("problem", &OpenMessage::problem),
      required("regime", &OpenMessage::regime),
      optional("trusted", &OpenMessage::trusted),
      optional("memory_bytes", &OpenMessage::memory_bytes),
  };
}

constexpr auto members(const EvaluateMessage&) {
  return std::tuple{
      required("config", &EvaluateMessage::config),
      optional("best_us", &EvaluateMessage::best_us),
  };
}

constexpr auto members(const CompareMessage&) {
  return std::tuple{
      required("a", &CompareMessage::a),
      required("b", &CompareMessage::b),
      required("count", &CompareMessage::count),
  };
}

constexpr auto members(const CompileMessage&) {
  return std::tuple{
      required("problem", &CompileMessage::problem),
      required("target", &CompileMessage::target),
      required("device_model", &CompileMessage::device_model),
      required("config", &CompileMessage::config),
  };
}

constexpr auto members(const DeviceFacts&) {
  return std::tuple{
      required("device", &DeviceFacts::device), required("target", &DeviceFacts::target),
      required("driver", &DeviceFacts::driver), required("clocks", &DeviceFacts::clocks),
      required("bytes", &DeviceFacts::bytes),   required("copy_us", &DeviceFacts::copy_us),
  };
}

constexpr auto members(const Round&) {
  return std::tuple{
      required("a1", &Round::a1),
      required("b1", &Round::b1),
      required("b2", &Round::b2),
      required("a2", &Round::a2),
  };
}

constexpr auto members(const ImageMessage&) {
  return std::tuple{
      required("key", &ImageMessage::key),
      required("digest", &ImageMessage::digest),
      always("registers", &ImageMessage::registers),
      always("shared_bytes", &ImageMessage::shared_bytes),
      always("stack_bytes", &ImageMessage::stack_bytes),
      always("spills", &ImageMessage::spills),
      always("compile_ms", &ImageMessage::compile_ms),
  };
}

constexpr auto members(const ErrorMessage&) {
  return std::tuple{
      required("code", &ErrorMessage::code),       required("sentence", &ErrorMessage::sentence),
      optional("problem", &ErrorMessage::problem), optional("log", &ErrorMessage::log),
      optional("lasting", &ErrorMessage::lasting),
  };
}

constexpr auto members(const Message&) {
  return std::tuple{
      optional("open", &Message::open),       optional("evaluate", &Message::evaluate),
      optional("compare", &Message::compare), optional("compile", &Message::compile),
      optional("facts", &Message::facts),     optional("trial", &Message::trial),
      optional("rounds", &Message::rounds),   optional("image", &Message::image),
      optional("error", &Message::error),
  };
}

std::string serialize(const Message& message) { return line_of(json_of(message)); }

Message parse_message(std::string_view line) {
  try {
    Message message;
    read_json(parse_object(line), "the message", message);
    int parts = 0;
    each_member(message, [&](auto, const auto& part) { parts += part ? 1 : 0; });
    if (parts != 1) throw Damage{cat("it has ", parts, " known members and should have one")};
    return message;
  } catch (const Damage& damage) {
    throw Error(Code::bad_input, Stage::tool, cat("no message of a worker: ", damage.reason));
  }
}

ErrorMessage to_message(const Error& error) {
  return {static_cast<int>(error.code), error.sentence, error.problem, error.log, error.lasting};
}

Error to_error(const ErrorMessage& message) {
  Error error(static_cast<Code>(message.code), Stage::tool, message.sentence);
  error.problem = message.problem;
  error.log = message.log;
  error.lasting = message.lasting;
  return error;
}

}  // namespace quern
