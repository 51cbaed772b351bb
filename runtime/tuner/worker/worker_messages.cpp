#include "tuner/worker/worker_messages.h"

#include "tuner/journal/journal_members.h"

namespace quern {

template <class Visit>
void members(Visit& v, OpenMessage& m) {
  v.required("device", m.device);
  v.required("problem", m.problem);
  v.required("regime", m.regime);
  v.optional("trusted", m.trusted);
  v.optional("memory_bytes", m.memory_bytes);
}

template <class Visit>
void members(Visit& v, EvaluateMessage& m) {
  v.required("config", m.config);
  v.optional("best_us", m.best_us);
}

template <class Visit>
void members(Visit& v, CompareMessage& m) {
  v.required("a", m.a);
  v.required("b", m.b);
  v.required("count", m.count);
}

template <class Visit>
void members(Visit& v, CompileMessage& m) {
  v.required("problem", m.problem);
  v.required("target", m.target);
  v.required("device_model", m.device_model);
  v.required("config", m.config);
}

template <class Visit>
void members(Visit& v, DeviceFacts& f) {
  v.required("device", f.device);
  v.required("target", f.target);
  v.required("driver", f.driver);
  v.required("clocks", f.clocks);
  v.required("bytes", f.bytes);
  v.required("copy_us", f.copy_us);
}

template <class Visit>
void members(Visit& v, Round& r) {
  v.required("a1", r.a1);
  v.required("b1", r.b1);
  v.required("b2", r.b2);
  v.required("a2", r.a2);
}

template <class Visit>
void members(Visit& v, ImageMessage& m) {
  v.required("key", m.key);
  v.required("digest", m.digest);
  v.plain("registers", m.registers);
  v.plain("shared_bytes", m.shared_bytes);
  v.plain("stack_bytes", m.stack_bytes);
  v.plain("spills", m.spills);
  v.plain("compile_ms", m.compile_ms);
}

template <class Visit>
void members(Visit& v, ErrorMessage& m) {
  v.required("code", m.code);
  v.required("sentence", m.sentence);
  v.optional("problem", m.problem);
  v.optional("log", m.log);
  v.optional("lasting", m.lasting);
}

namespace {

template <class Each>
void each_kind(Message& m, const Each& each) {
  each("open", m.open);
  each("evaluate", m.evaluate);
  each("compare", m.compare);
  each("compile", m.compile);
  each("facts", m.facts);
  each("trial", m.trial);
  each("rounds", m.rounds);
  each("image", m.image);
  each("error", m.error);
}

}  // namespace

std::string serialize(const Message& message) {
  Json json = Json::object();
  Message copy = message;
  each_kind(copy, [&](const char* name, const auto& part) {
    if (part) json[name] = to_json(*part);
  });
  return line_of(json);
}

Message parse_message(std::string_view line) {
  try {
    const Json json = parse_line(line);
    Message message;
    int parts = 0;
    each_kind(message, [&](const char* name, auto& part) {
      if (!json.contains(name)) return;
      from_json(json[name], name, part.emplace());
      ++parts;
    });
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
