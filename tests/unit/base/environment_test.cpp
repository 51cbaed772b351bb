#include "base/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>

#include "quern/error.h"

namespace quern {
namespace {

TEST(Environment, RowsHaveNamesAndSentencesAndNoneTwice) {
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(Variable::count); ++i) {
    const VariableRow& variable = row(static_cast<Variable>(i));
    ASSERT_NE(variable.name, nullptr) << i;
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_GT(std::string(variable.sentence).size(), 5u) << variable.name;
  }
  EXPECT_STREQ(row(Variable::nvrtc).name, "QUERN_NVRTC");
  EXPECT_STREQ(row(Variable::home).name, "HOME");
}

TEST(Environment, ReadTakesASnapshot) {
  ::setenv("QUERN_DUMP", "somewhere", 1);
  const Environment environment = Environment::read();
  ::setenv("QUERN_DUMP", "", 1);
  const Environment emptied = Environment::read();
  ::unsetenv("QUERN_DUMP");
  EXPECT_EQ(environment[Variable::dump], "somewhere");
  EXPECT_EQ(emptied[Variable::dump], "");
}

TEST(Resolve, AnEmptyEnvironmentGivesTheDefaults) {
  const Options options = resolve({}, {});
  EXPECT_EQ(options.cache_dir, "");
  EXPECT_EQ(options.cache_mode, CacheMode::read_write);
  EXPECT_EQ(options.cache_match, CacheMatch::standard);
  EXPECT_EQ(options.log_level, LogLevel::warning);
  EXPECT_EQ(options.nvrtc + options.libcuda + options.dump_dir + options.manifest, "");
}

TEST(Resolve, TheCacheDirectoryIsTheFirstThatIsSet) {
  Environment environment;
  environment[Variable::home] = "/h";
  EXPECT_EQ(resolve({}, environment).cache_dir, "/h/.cache/quern");
  environment[Variable::xdg_cache_home] = "/x";
  EXPECT_EQ(resolve({}, environment).cache_dir, "/x/quern");
  environment[Variable::cache_dir] = "/c";
  EXPECT_EQ(resolve({}, environment).cache_dir, "/c");
  Options options;
  options.cache_dir = "/o";
  EXPECT_EQ(resolve(options, environment).cache_dir, "/o");
}

TEST(Resolve, OptionsWinOverTheEnvironment) {
  Environment environment;
  environment[Variable::cache] = "off";
  environment[Variable::cache_match] = "exact";
  environment[Variable::log] = "debug";
  environment[Variable::nvrtc] = "a.so";
  environment[Variable::libcuda] = "b.so";
  environment[Variable::dump] = "d";
  environment[Variable::manifest] = "r";
  const Options from_environment = resolve({}, environment);
  EXPECT_EQ(from_environment.cache_mode, CacheMode::off);
  EXPECT_EQ(from_environment.cache_match, CacheMatch::exact);
  EXPECT_EQ(from_environment.log_level, LogLevel::debug);
  EXPECT_EQ(from_environment.nvrtc, "a.so");
  EXPECT_EQ(from_environment.libcuda, "b.so");
  EXPECT_EQ(from_environment.dump_dir, "d");
  EXPECT_EQ(from_environment.manifest, "r");
  Options options;
  options.cache_mode = CacheMode::read_only;
  options.cache_match = CacheMatch::any;
  options.log_level = LogLevel::off;
  options.nvrtc = "mine.so";
  const Options given = resolve(options, environment);
  EXPECT_EQ(given.cache_mode, CacheMode::read_only);
  EXPECT_EQ(given.cache_match, CacheMatch::any);
  EXPECT_EQ(given.log_level, LogLevel::off);
  EXPECT_EQ(given.nvrtc, "mine.so");
}

TEST(Resolve, ABadValueNamesTheVariableAndWhatItTakes) {
  const std::pair<Variable, const char*> variables[] = {{Variable::cache, "read-write, read-only, off"},
                                                        {Variable::cache_match, "default, exact, any"},
                                                        {Variable::log, "debug, info, warning, error, off"}};
  for (const auto& [variable, accepted] : variables) {
    Environment environment;
    environment[variable] = "nonsense";
    try {
      resolve({}, environment);
      ADD_FAILURE() << row(variable).name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::bad_input);
      EXPECT_NE(error.sentence.find(std::string(row(variable).name) + "=nonsense"), std::string::npos)
          << error.sentence;
      EXPECT_NE(error.sentence.find(accepted), std::string::npos) << error.sentence;
    }
  }
}

}  // namespace
}  // namespace quern
