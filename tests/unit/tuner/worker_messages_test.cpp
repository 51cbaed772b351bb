#include "tuner/worker/worker_messages.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

Message sent(const Message& message) { return parse_message(serialize(message)); }

std::string message_refusal(const std::string& line) {
  try {
    parse_message(line);
  } catch (const Error& error) {
    return error.sentence;
  }
  return "none";
}

TEST(WorkerMessages, ArriveAsTheyWereSent) {
  Message message;
  message.open = OpenMessage{"cuda:1", "gather width=64", "warm", "threads=64", 1 << 20};
  const auto open = sent(message).open;
  ASSERT_TRUE(open);
  EXPECT_EQ(open->device, "cuda:1");
  EXPECT_EQ(open->trusted, "threads=64");
  EXPECT_EQ(open->memory_bytes, 1 << 20);

  message = {};
  message.rounds = {{1.5, 2.5, 3.5, 4.5}, {1, 2, 3, 4}};
  const auto rounds = sent(message).rounds;
  ASSERT_TRUE(rounds);
  EXPECT_EQ(rounds->at(0).b2, 3.5);
  EXPECT_EQ(rounds->at(1).a2, 4);

  message = {};
  message.trial.emplace();
  message.trial->config = "threads=64";
  message.trial->failure = FailureKind::unstable;
  message.trial->why = "a \"quoted\"\nword";
  EXPECT_EQ(sent(message).trial, message.trial);
}

TEST(WorkerMessages, AnErrorKeepsWhatItSays) {
  Error error(Code::compile, Stage::compile, "the compiler refused it");
  error.problem = "gather width=64";
  error.log = "line 1\nline 2";
  error.lasting = true;
  Message message;
  message.error = to_message(error);
  const Error back = to_error(*sent(message).error);
  EXPECT_EQ(back.code, Code::compile);
  EXPECT_EQ(back.sentence, error.sentence);
  EXPECT_EQ(back.log, error.log);
  EXPECT_EQ(back.problem, error.problem);
  EXPECT_TRUE(back.lasting);
}

TEST(WorkerMessages, WhatIsNoneIsRefusedWithAReason) {
  EXPECT_NE(message_refusal("").find("invalid JSON"), std::string::npos);
  EXPECT_NE(message_refusal("[1]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(message_refusal("{}").find("0 known members"), std::string::npos);
  EXPECT_NE(message_refusal(R"({"evaluate": {}})").find("config is missing"), std::string::npos);
  EXPECT_NE(message_refusal(R"({"evaluate": {"config": 3}})").find("config is not a string"), std::string::npos);
  EXPECT_NE(
      message_refusal(R"({"evaluate": {"config": ""}, "compare": {"a": "", "b": "", "count": 1}})").find("2 known"),
      std::string::npos);
}

}  // namespace
}  // namespace quern
