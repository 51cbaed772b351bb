#include "base/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "quern/error.h"
#include "support/scratch.h"

namespace quern {
namespace {

std::vector<std::string> misread;

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

// As with a sudo that keeps HOME.
TEST(Environment, RootMakesNoCacheInAnotherUsersHome) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const test::Scratch scratch;
  const std::string home = scratch / "home";
  std::filesystem::create_directory(home);
  Environment environment;
  environment[Variable::home] = home;
  EXPECT_EQ(resolve({}, environment, &misread).cache.directory, home + "/.cache/quern");
  ASSERT_EQ(::chown(home.c_str(), 1000, 1000), 0);
  EXPECT_EQ(resolve({}, environment, &misread).cache.directory, "");
  environment[Variable::xdg_cache_home] = home;
  EXPECT_EQ(resolve({}, environment, &misread).cache.directory, "");
  environment[Variable::cache_dir] = home + "/asked";
  EXPECT_EQ(resolve({}, environment, &misread).cache.directory, home + "/asked");
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

// A program with another effective group than its user's, as with the setgid bit: this very test in a separate process.
constexpr const char* kInside = "QUERN_TEST_MORE_RIGHTS";
constexpr gid_t kOtherGroup = 1;
constexpr int kNotPermitted = 77;

void be_that_program() {
  ASSERT_NE(::getauxval(AT_SECURE), 0u) << "the kernel does not take it for one with more rights";
  ASSERT_STREQ(::getenv("QUERN_NVRTC"), "planted.so");
  const Environment environment = Environment::read();
  for (int i = 0; i < static_cast<int>(Variable::count); ++i)
    EXPECT_EQ(environment[static_cast<Variable>(i)], "") << row(static_cast<Variable>(i)).name;
}

TEST(Environment, AProgramWithMoreRightsThanItsUserIgnoresIt) {
  if (::getenv(kInside) != nullptr) return be_that_program();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::getgid() == kOtherGroup || ::setegid(kOtherGroup) != 0) ::_exit(kNotPermitted);
    ::setenv(kInside, "1", 1);
    ::setenv("QUERN_NVRTC", "planted.so", 1);
    ::execl("/proc/self/exe", "quern_unit", "--gtest_filter=Environment.AProgramWithMore*", "--gtest_brief=1", nullptr);
    ::_exit(127);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPermitted) GTEST_SKIP() << "only root may start one";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Resolve, AnEmptyEnvironmentGivesTheDefaults) {
  const Options options = resolve({}, {}, &misread);
  EXPECT_EQ(options.cache.directory, "");
  EXPECT_EQ(options.cache.mode, CacheMode::read_write);
  EXPECT_EQ(options.cache.match, CacheMatch::standard);
  EXPECT_EQ(options.log.level, LogLevel::warning);
  EXPECT_EQ(options.compiler.nvrtc + options.libcuda + options.compiler.dump_dir + options.manifest, "");
}

TEST(Resolve, TheCacheDirectoryIsTheFirstThatIsSet) {
  Environment environment;
  environment[Variable::home] = "/h";
  EXPECT_EQ(resolve({}, environment, &misread).cache.directory, "/h/.cache/quern");
  environment[Variable::xdg_cache_home] = "relative";
  EXPECT_EQ(resolve({}, environment, &misread).cache.directory, "/h/.cache/quern") << "finding A14";
  environment[Variable::xdg_cache_home] = "/x";
  EXPECT_EQ(resolve({}, environment, &misread).cache.directory, "/x/quern");
  environment[Variable::cache_dir] = "/c";
  EXPECT_EQ(resolve({}, environment, &misread).cache.directory, "/c");
  Options options;
  options.cache.directory = "/o";
  EXPECT_EQ(resolve(options, environment, &misread).cache.directory, "/o");
}

// Finding A14.
TEST(Resolve, LayersMayHaveColonsAndAreNoUrls) {
  using Paths = std::vector<std::string>;
  std::vector<std::string> said;
  Environment environment;
  environment[Variable::cache_layers] = "/a.pack:/b\\:c.pack::rel";
  EXPECT_EQ(resolve({}, environment, &said).cache.layers, Paths({"/a.pack", "/b:c.pack", "rel"}));
  EXPECT_TRUE(said.empty());
  environment[Variable::cache_layers] = "/a.pack:https://host:8080/b.pack:/c.pack";
  EXPECT_EQ(resolve({}, environment, &said).cache.layers, Paths({"/a.pack", "/c.pack"}));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("https://host:8080/b.pack is a URL"), std::string::npos) << said[0];
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
  const Options from_environment = resolve({}, environment, &misread);
  EXPECT_EQ(from_environment.cache.mode, CacheMode::off);
  EXPECT_EQ(from_environment.cache.match, CacheMatch::exact);
  EXPECT_EQ(from_environment.log.level, LogLevel::debug);
  EXPECT_EQ(from_environment.compiler.nvrtc, "a.so");
  EXPECT_EQ(from_environment.libcuda, "b.so");
  EXPECT_EQ(from_environment.compiler.dump_dir, "d");
  EXPECT_EQ(from_environment.manifest, "r");
  Options options;
  options.cache.mode = CacheMode::read_only;
  options.cache.match = CacheMatch::any;
  options.log.level = LogLevel::off;
  options.compiler.nvrtc = "mine.so";
  const Options given = resolve(options, environment, &misread);
  EXPECT_EQ(given.cache.mode, CacheMode::read_only);
  EXPECT_EQ(given.cache.match, CacheMatch::any);
  EXPECT_EQ(given.log.level, LogLevel::off);
  EXPECT_EQ(given.compiler.nvrtc, "mine.so");
}

TEST(Resolve, ABadValueIsTheDefaultAndASentenceThatNamesTheVariableAndWhatItTakes) {
  const std::pair<Variable, const char*> variables[] = {
      {Variable::cache, "read-write, read-only, off"},
      {Variable::cache_match, "default, exact, any"},
      {Variable::log, "debug, info, warning, error, off"},
      {Variable::tune, "off, lookup, on-prepare, background"},
      {Variable::tune_seconds, "a number from 0.001 to 86400"},
      {Variable::tune_share, "a number from 0.001 to 1"},
      {Variable::tune_memory, "a number, optionally followed by K, M, G or T"},
      {Variable::wait_seconds, "a number from 0.000 to 86400"},
      {Variable::cache_max_bytes, "a number, optionally followed by K, M, G or T"},
      {Variable::cache_max_entries, "a number, optionally followed by K, M, G or T"},
      {Variable::alignment, "a power of two from 1 to 256"}};
  const Options usual = resolve({}, {}, &misread);
  for (const auto& [variable, accepted] : variables) {
    Environment environment;
    environment[variable] = "nonsense";
    std::vector<std::string> sentences;
    const Options options = resolve({}, environment, &sentences);
    ASSERT_EQ(sentences.size(), 1u) << row(variable).name;
    EXPECT_EQ(sentences[0].find("invalid value " + std::string(row(variable).name) + "=nonsense"), 0u) << sentences[0];
    EXPECT_NE(sentences[0].find(accepted), std::string::npos) << sentences[0];
    EXPECT_EQ(options.cache.mode, usual.cache.mode);
    EXPECT_EQ(options.cache.match, usual.cache.match);
    EXPECT_EQ(options.log.level, usual.log.level);
    EXPECT_EQ(options.tuning.mode, usual.tuning.mode);
    EXPECT_EQ(options.tuning.seconds, usual.tuning.seconds);
    EXPECT_EQ(options.tuning.share, usual.tuning.share);
    EXPECT_EQ(options.tuning.memory_bytes, usual.tuning.memory_bytes);
    EXPECT_EQ(options.cache.wait_seconds, usual.cache.wait_seconds);
    EXPECT_EQ(options.cache.max_bytes, usual.cache.max_bytes);
    EXPECT_EQ(options.cache.max_entries, usual.cache.max_entries);
    EXPECT_EQ(options.alignment, 1U);
  }
  EXPECT_TRUE(misread.empty()) << misread.front();
}

TEST(Resolve, ABadOptionIsStillAnError) {
  Options options;
  options.cache.wait_seconds = -1;
  EXPECT_THROW(resolve(options, {}, &misread), Error);
  options = {};
  options.tuning.share = 7;
  EXPECT_THROW(resolve(options, {}, &misread), Error);
  for (const std::uint32_t alignment : {0U, 3U, 512U}) {
    options = {};
    options.alignment = alignment;
    EXPECT_THROW(resolve(options, {}, &misread), Error) << alignment;
  }
}

TEST(Resolve, AnAlignmentIsAPowerOfTwo) {
  Environment environment;
  for (const char* bad : {"0", "3", "16.5", "512", "-16"}) {
    environment[Variable::alignment] = bad;
    std::vector<std::string> sentences;
    EXPECT_EQ(resolve({}, environment, &sentences).alignment, 1U);
    EXPECT_EQ(sentences.size(), 1U) << bad;
  }
  environment[Variable::alignment] = "256";
  EXPECT_EQ(resolve({}, environment, &misread).alignment, 256U);
  Options options;
  options.alignment = 16;
  EXPECT_EQ(resolve(options, environment, &misread).alignment, 16U);
}

}  // namespace
}  // namespace quern
