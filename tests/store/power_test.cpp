// Power failure after any call: each possible state of the disk is consistent.
#include <gtest/gtest.h>

#include <algorithm>

#include "store/disk_model.h"
#include "store/scenarios.h"

namespace quern::cache {
namespace {

constexpr std::uint64_t kSeed = 5;

struct PowerTotals {
  std::size_t calls = 0, points = 0, sampled_points = 0;
  std::set<DiskState> seen;  // of one scenario: most points have the same states
  std::size_t states = 0;
  std::size_t short_accounts = 0;  // until the next full scan: the account is not synced
};

void check(const DiskState& state, PowerTotals* totals) {
  if (!totals->seen.insert(state).second) return;
  ++totals->states;
  const Scratch scratch;
  materialize(state, scratch / "cache");
  if (!why_account_short(scratch / "cache").empty()) ++totals->short_accounts;
  expect_scenario_sound(scratch / "cache");
}

// All states of one point if there are at most `most`, else that many random ones.
void lose_power(const DiskModel& model, int most, PowerTotals* totals) {
  std::vector<DiskState> states;
  Choices choices;
  bool more = true;
  for (; more && static_cast<int>(states.size()) < most; more = choices.next())
    states.push_back(model.after_power_loss(choices));
  if (more) {
    ++totals->sampled_points;
    choices.at_random(kSeed + totals->points);
    for (DiskState& state : states) state = model.after_power_loss(choices);
  }
  ++totals->points;
  for (const DiskState& state : states) check(state, totals);
}

std::vector<DiskCall> record(const Scenario& scenario, const std::string& dir, std::optional<DiskModel>* model) {
  scenario.prepare(dir);
  RecordingFiles files(dir);
  model->emplace(files);
  scenario.run(dir, files);
  return files.calls;
}

TEST(PowerLoss, AfterEveryCall) {
  const int most = sized(5000, 50);
  const Stopwatch watch;
  PowerTotals totals;
  for (const Scenario& scenario : scenarios()) {
    if (!scenario.synced) continue;
    SCOPED_TRACE(scenario.name);
    const Scratch scratch;
    std::optional<DiskModel> model;
    const std::vector<DiskCall> calls = record(scenario, scratch / "cache", &model);
    totals.seen.clear();
    lose_power(*model, most, &totals);
    for (const DiskCall& call : calls) {
      SCOPED_TRACE(cat("after ", static_cast<int>(call.kind), " of ", call.path));
      model->apply(call);
      lose_power(*model, most, &totals);
      if (HasFailure()) return;
    }
    totals.calls += calls.size();
  }
  figures(cat("power loss: ", totals.calls, " changing calls in ", scenarios().size(), " scenarios, ", totals.points,
              " points, ", totals.states, " different states (in ", totals.short_accounts,
              " the account is short until a sweep); ", totals.sampled_points, " points had more than ", most,
              " and were sampled, seed ", kSeed, "; ", watch.text()));
}

// Tests the model itself: it must detect a store without syncs.
TEST(PowerLoss, TheModelFindsAMissingSync) {
  const Scratch scratch;
  std::optional<DiskModel> model;
  const std::vector<DiskCall> calls = record(scenarios().front(), scratch / "cache", &model);
  for (const DiskCall& call : calls)
    if (call.kind != DiskCall::Kind::sync_file) model->apply(call);
  const std::string path = key_of(0).path();
  std::set<std::string> contents;
  Choices choices;
  do {
    const DiskState state = model->after_power_loss(choices);
    if (const auto found = state.files.find(path); found != state.files.end()) contents.insert(found->second);
  } while (choices.next());
  EXPECT_EQ(contents.size(), 5U);  // nothing, all, half, short of one, zeros
}

// A second compiler's image in an existing folder: its name is synced before put returns.
TEST(PowerLoss, WhatWasPutIsThereAfterwards) {
  const Scratch scratch;
  const Key second = key_named("kernel 0", "another compiler");
  const auto put = [](const std::string& dir, FileSystem& files, const Key& key) {
    Store(in(dir), silent(), files).put(key, image_of(0));
  };
  const Scenario scenario{"second", [&](const std::string& dir) { put(dir, real_file_system(), key_of(0)); },
                          [&](const std::string& dir, FileSystem& files) { put(dir, files, second); }};
  std::optional<DiskModel> model;
  for (const DiskCall& call : record(scenario, scratch / "cache", &model)) model->apply(call);
  Choices choices;
  do {
    EXPECT_EQ(model->after_power_loss(choices).files.count(second.path()), 1U);
  } while (choices.next());
}

// All of it with one sync at the end, not one per file.
TEST(PowerLoss, WhatWasImportedIsThereAfterwards) {
  const Scratch scratch;
  const auto row = std::find_if(scenarios().begin(), scenarios().end(),
                                [](const Scenario& scenario) { return scenario.name == "import"; });
  std::optional<DiskModel> model;
  const std::vector<DiskCall> calls = record(*row, scratch / "cache", &model);
  for (const DiskCall& call : calls) {
    model->apply(call);
    EXPECT_NE(call.kind, DiskCall::Kind::sync_file) << call.path;
  }
  EXPECT_EQ(calls.back().kind, DiskCall::Kind::sync_all);
  Choices choices;
  do {
    const DiskState state = model->after_power_loss(choices);
    for (int number = 0; number < 4; ++number) {
      const auto found = state.files.find(key_of(number).path());
      ASSERT_NE(found, state.files.end()) << number;
      EXPECT_TRUE(parse(found->second, nullptr)) << number;
    }
  } while (choices.next());
}

}  // namespace
}  // namespace quern::cache
