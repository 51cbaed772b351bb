// What a sweep and its workers say to each other: lines of JSON, one object with one member each, which names the
// message.
//
//   to the worker                                       its answer
//   {"open": {"device": "cuda:0", "problem": "…", …}}   {"facts": {…}}
//   {"evaluate": {"config": "threads=128", …}}           {"trial": {…}}
//   {"compare": {"a": "…", "b": "…", "count": 15}}      {"rounds": [{…}, …]}
//   {"compile": {"problem": "…", "config": "…", …}}     {"image": {…}}
//
// or, to any of them, {"error": {…}}.
#ifndef QUERN_TUNER_WORKER_WORKER_MESSAGES_H_
#define QUERN_TUNER_WORKER_WORKER_MESSAGES_H_

#include <optional>
#include <string>
#include <vector>

#include "quern/error.h"
#include "tuner/evaluate/evaluator.h"

namespace quern {

struct OpenMessage {
  std::string device;  // as parse_device takes it
  std::string problem;
  std::string regime;
  std::string trusted;
  std::int64_t memory_bytes = 0;
};

struct EvaluateMessage {
  std::string config;
  double best_us = 0;  // 0: nothing is known
};

struct CompareMessage {
  std::string a;
  std::string b;
  int count = 0;
};

// Makes the image of a config and stores it. Needs no device.
struct CompileMessage {
  std::string problem;
  std::string target;        // "sm_90a"
  std::string device_model;  // a row of the table
  std::string config;
};

struct ImageMessage {
  std::string key;
  std::string digest;  // of what the driver loads: equal images have equal ones
  std::int64_t registers = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t stack_bytes = 0;
  std::int64_t spills = 0;
  double compile_ms = 0;  // 0: it came from the store
};

struct ErrorMessage {
  int code = 0;  // of quern::Code
  std::string sentence;
  std::string problem;
  std::string log;
  bool lasting = false;
};

// Exactly one is there.
struct Message {
  std::optional<OpenMessage> open;
  std::optional<EvaluateMessage> evaluate;
  std::optional<CompareMessage> compare;
  std::optional<CompileMessage> compile;
  std::optional<DeviceFacts> facts;
  std::optional<SweepTrial> trial;
  std::optional<std::vector<Round>> rounds;
  std::optional<ImageMessage> image;
  std::optional<ErrorMessage> error;
};

std::string serialize(const Message& message);
// Throws Error (bad_input) that says what is wrong with the line.
Message parse_message(std::string_view line);

ErrorMessage to_message(const Error& error);
Error to_error(const ErrorMessage& message);

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_WORKER_MESSAGES_H_
