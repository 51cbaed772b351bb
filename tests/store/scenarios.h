// Operations of a writer on a directory, one per scenario: to be killed in, or to lose power in.
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
  bool synced = true;  // each file is synced before it is renamed
};
const std::vector<Scenario>& scenarios();

// The pack in a scenario's directory, if there is one.
std::string pack_of(const std::string& dir);

// expect_sound; in addition a pack is complete, and the remembered failure of kFailing is complete or absent.
void expect_scenario_sound(const std::string& dir);

// A build that the compiler refuses.
Entry fail_for_good();
// As prewarm writes it.
Entry marked(Entry entry);

}  // namespace quern::cache

#endif  // QUERN_TESTS_STORE_SCENARIOS_H_
