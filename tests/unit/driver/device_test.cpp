#include "driver/device.h"

#include <gtest/gtest.h>

#include <set>

#include "unit/driver/support.h"

namespace quern {
namespace {

template <class F>
Error refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {Code::bad_input, Stage::tool, ""};
}

bool has(const Error& error, const std::string& words) { return error.sentence.find(words) != std::string::npos; }

TEST(DeviceModels, EachArchitectureHasOneGenericRowWhichComesFirst) {
  std::set<int> seen;
  std::set<int> generic;
  std::set<std::string> names;
  for (const DeviceModel& model : device_models()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    const bool is_generic = std::string(model.name) == "generic sm_" + std::to_string(model.arch);
    EXPECT_EQ(is_generic, seen.insert(model.arch).second) << model.name;
    if (is_generic) generic.insert(model.arch);
    EXPECT_GT(model.multiprocessors, 0);
    EXPECT_GT(model.threads_per_multiprocessor, 0);
    EXPECT_GT(model.shared_bytes_per_multiprocessor, 0);
    EXPECT_GT(model.l2_bytes, 0);
  }
  for (const int arch : {80, 90, 100, 120}) EXPECT_EQ(generic.count(arch), 1u) << arch;
}

TEST(DeviceModels, ADeviceUsesItsOwnRowElseTheGenericOne) {
  Device device;
  device.arch = 90;
  device.name = "NVIDIA H200";
  EXPECT_STREQ(model_of(device).name, "NVIDIA H200");
  device.name = "NVIDIA H300";
  EXPECT_STREQ(model_of(device).name, "generic sm_90");
  EXPECT_EQ(generic_model(90).arch, 90);
  EXPECT_EQ(generic_model(87).arch, 86);
  EXPECT_EQ(generic_model(75).arch, 80);
  EXPECT_EQ(generic_model(999).arch, 120);
}

TEST(DeviceModels, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_EQ(&model_by_name("NVIDIA H200"), &model_by_name("NVIDIA H200"));
  EXPECT_EQ(&model_by_name("h200"), &model_by_name("NVIDIA H200"));
  EXPECT_TRUE(has(refusal([] { model_by_name("NVIDIA H220"); }), ". Did you mean NVIDIA H200?"));
  const Error error = refusal([] { model_by_name("H2000"); });
  EXPECT_EQ(error.code, Code::bad_input);
  EXPECT_TRUE(has(error, "\"H2000\"") && has(error, "NVIDIA H200") && has(error, "generic sm_80")) << error.sentence;
}

TEST(Targets, ParseAndPrintAreInverse) {
  for (const char* text :
       {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "sm_103a", "sm_120", "sm_120a"})
    EXPECT_EQ(parse_target(text).text(), text);
}

TEST(Targets, AreKnownByWhatPeopleCallThem) {
  const std::pair<const char*, const char*> names[] = {
      {"SM_90a", "sm_90a"}, {"sm90a", "sm_90a"}, {"90a", "sm_90a"}, {"h100", "sm_90a"},     {"H200", "sm_90a"},
      {"b200", "sm_100a"},  {"a100", "sm_80"},   {"l40s", "sm_89"}, {"rtx5090", "sm_120a"}, {"cpu", "host"}};
  for (const auto& [typed, canonical] : names) EXPECT_EQ(parse_target(typed).text(), canonical) << typed;
}

// Code for sm_90 would be correct, but no device would ever request it.
TEST(Targets, ANumberAloneMeansWhatADeviceAsksFor) {
  for (const char* typed : {"90", "sm90", "9.0"}) EXPECT_EQ(parse_target(typed).text(), target_of(90).text()) << typed;
  EXPECT_EQ(parse_target("sm_90").text(), "sm_90");
  EXPECT_EQ(parse_target("80").text(), "sm_80");
  EXPECT_EQ(parse_target("12.0").text(), "sm_120a");
}

TEST(Targets, TheClosestIsSuggested) {
  EXPECT_TRUE(has(refusal([] { parse_target("sm_109"); }), ". Did you mean sm_100?"));
  EXPECT_TRUE(has(refusal([] { parse_target("hots"); }), ". Did you mean host?"));
}

TEST(Targets, SpecificFeaturesStartAtHopper) {
  EXPECT_EQ(target_of(80).text(), "sm_80");
  EXPECT_EQ(target_of(89).text(), "sm_89");
  EXPECT_EQ(target_of(90).text(), "sm_90a");
  EXPECT_EQ(target_of(120).text(), "sm_120a");
}

TEST(Targets, AnUnknownOneIsRefusedWithTheKnownOnes) {
  for (const char* text : {"", "sm", "sm_70", "sm_90b", "75", "compute_90", "sm_90a ", "9.", "h300"}) {
    const Error error = refusal([&] { parse_target(text); });
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_TRUE(has(error, std::string("\"") + text + "\"") && has(error, "sm_80, ") && has(error, "sm_120a"))
        << error.sentence;
  }
}

class NullDevice : public ::testing::Test {
 protected:
  void SetUp() override { test::reset_null_driver(); }
  void TearDown() override { test::reset_null_driver(); }
  const Driver driver_{null_driver_table()};
};

TEST_F(NullDevice, IsDescribed) {
  const Device device = describe_device(driver_, 0);
  EXPECT_EQ(device.name, "null device");
  EXPECT_EQ(device.arch, 90);
  EXPECT_EQ(device.multiprocessors, 132);
  EXPECT_EQ(device.memory_bytes, std::int64_t{1} << 30);
}

TEST_F(NullDevice, AnOrdinalThatDoesNotExistIsRefusedWithTheCount) {
  null_driver().devices = 2;
  EXPECT_EQ(describe_device(driver_, 1).ordinal, 1);
  for (const int ordinal : {-1, 2}) {
    const Error error = refusal([&] { describe_device(driver_, ordinal); });
    EXPECT_EQ(error.code, Code::no_device);
    EXPECT_TRUE(has(error, "device " + std::to_string(ordinal)) && has(error, "sees 2")) << error.sentence;
  }
}

TEST_F(NullDevice, NoCurrentContextIsRefusedWithWhatToDo) {
  null_driver().current_context = 7;
  EXPECT_EQ(current_context(driver_).id, 7u);
  EXPECT_EQ(current_context_id(driver_), 7u);
  null_driver().current_context = 0;
  EXPECT_EQ(current_context_id(driver_), 0u);
  const Error error = refusal([&] { current_context(driver_); });
  EXPECT_EQ(error.code, Code::no_device);
  EXPECT_TRUE(has(error, "no context is current") && has(error, "cudaSetDevice")) << error.sentence;
}

}  // namespace
}  // namespace quern
