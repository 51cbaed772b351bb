#include "testbench/open_device.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

std::string device_refusal(const std::string& text) {
  try {
    parse_device(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    return error.sentence;
  }
  return "accepted";
}

TEST(DeviceNames, AreReadAndTheCanonicalNameIsPrinted) {
  const std::pair<const char*, const char*> names[] = {{"cuda:1", "cuda:1"}, {"host", "host:0"}, {"host:2", "host:2"},
                                                       {"cuda", "cuda:0"},   {"gpu", "cuda:0"},  {"gpu:1", "cuda:1"},
                                                       {"cpu", "host:0"},    {"CPU", "host:0"}};
  for (const auto& [typed, canonical] : names) EXPECT_EQ(parse_device(typed).text(), canonical) << typed;
}

TEST(DeviceNames, WhatMeansNothingIsRefusedWithTheClosest) {
  for (const char* text : {"", "cuda:", "cuda:-1", "cuda:x", "cuda:1024", "gpu0x", "vulkan"})
    EXPECT_NE(device_refusal(text).find("is invalid; it takes cuda:N"), std::string::npos) << text;
  EXPECT_NE(device_refusal("cuda0").find("Did you mean cuda:0?"), std::string::npos);
  EXPECT_NE(device_refusal("hots").find("Did you mean host?"), std::string::npos);
}

}  // namespace
}  // namespace quern
