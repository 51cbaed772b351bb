// What a writer does to a directory, one thing each: to be killed in, or to lose power in.
#ifndef QUERN_TESTS_STORE_SCENARIOS_H_
#define QUERN_TESTS_STORE_SCENARIOS_H_

#include <functional>
#include <string>
#include <vector>

#include "store/support.h"

namespace quern::cache {

inline constexpr int kScenarioKeys = 5;         // numbers 0 … 4
inline constexpr int kFailing = kScenarioKeys;  // does not compile

struct Scenario {
  std::string name;
  std::function<void(const std::string& dir)> prepare;
  std::function<void(const std::string& dir, FileSystem& files)> run;
  bool synced = true;  // before it is over each file is on the disk before it has its name
};
const std::vector<Scenario>& scenarios();

// The pack that lies in a scenario's directory, if there is one.
std::string pack_of(const std::string& dir);

// expect_sound, a pack is whole, and what was remembered of kFailing is the whole of it or nothing.
void expect_scenario_sound(const std::string& dir);

// A build that the compiler refuses.
Entry fail_for_good();
// As prewarm makes it.
Entry marked(Entry entry);

}  // namespace quern::cache

#endif  // QUERN_TESTS_STORE_SCENARIOS_H_
