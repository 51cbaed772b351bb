#include "plan/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/has.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

using test::has;
using test::problem;
using test::step_of;
using test::variants_of;

const Target kTargets[] = {{80, ""}, {90, "a"}, {100, "a"}, {120, "a"}};

std::string refusal(const AnyProblem& p, std::string_view changes, const Target& target = {90, "a"}) {
  try {
    parse_config(step_of(p), changes, variants_of(p).front().config, p.data(), target);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    return error.sentence;
  }
  return "accepted";
}

TEST(Config, TextNamesEachParameterInOrder) {
  Config config;
  config.values = {0, 16, 4, 256, 1, 0, 1, 8};
  const AnyProblem p = problem("gather");
  EXPECT_EQ(config_text(step_of(p), p.data(), config),
            "form=0 vector=16 unroll=4 threads=256 load_once=1 store_stream=0 persistent=1 blocks_per_sm=8");
}

TEST(Config, AParameterThatDoesNotApplyStandsInNoTextAndHasOneValue) {
  const AnyProblem p = problem("gather width=4096 dtype=bf16");
  const Config base = variants_of(p).front().config;
  const Config ragged = parse_config(step_of(p), "form=1", base, p.data(), {90, "a"});
  EXPECT_EQ(ragged[1], 16);
  EXPECT_EQ(config_text(step_of(p), p.data(), ragged),
            "form=1 unroll=2 threads=128 load_once=1 store_stream=1 persistent=0 row_threads=0");
  EXPECT_EQ(parse_config(step_of(p), "form=1,vector=16,blocks_per_sm=0", base, p.data(), {90, "a"}), ragged)
      << "the value that it has there may be said";
  EXPECT_TRUE(has(refusal(p, "form=1,vector=8"), "vector=8 does not apply to the config form=1 unroll=2"))
      << refusal(p, "form=1,vector=8");
  EXPECT_TRUE(has(refusal(p, "form=1,vector=8"), "of this problem: bytes per access; the ragged form has 16"));
  const Config persistent = parse_config(step_of(p), "persistent=1,blocks_per_sm=4", base, p.data(), {90, "a"});
  try {
    parse_config(step_of(p), "persistent=0,blocks_per_sm=2", persistent, p.data(), {90, "a"});
    ADD_FAILURE() << "a value that is passed over";
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.sentence, "blocks_per_sm=2 does not apply")) << error.sentence;
  }
  Config other = base;
  other[7] = 4;
  EXPECT_EQ(normalized(step_of(p), p.data(), other), base) << "blocks_per_sm of a kernel that is not persistent";
}

TEST(Config, ChangesAreAppliedToTheBase) {
  const AnyProblem p = problem("gather width=4096 dtype=bf16");
  const Config base = variants_of(p).front().config;
  EXPECT_EQ(parse_config(step_of(p), "", base, p.data(), {90, "a"}), base);
  const Config changed = parse_config(step_of(p), "threads=512, unroll = 8", base, p.data(), {90, "a"});
  Config expected = base;
  expected[2] = 8;
  expected[3] = 512;
  EXPECT_EQ(changed, expected);
}

TEST(Config, IsTakenAsItIsPrinted) {
  const AnyProblem p = problem("gather width=4096 dtype=bf16");
  const Config base = variants_of(p).front().config;
  const Config changed = parse_config(step_of(p), "threads=512,unroll=8", base, p.data(), {90, "a"});
  EXPECT_EQ(parse_config(step_of(p), config_text(step_of(p), p.data(), changed), base, p.data(), {90, "a"}), changed);
  EXPECT_EQ(parse_config(step_of(p), "threads=512  unroll=8, form=0", base, p.data(), {90, "a"}), changed);
  EXPECT_THROW(parse_config(step_of(p), "threads=512 unroll", base, p.data(), {90, "a"}), Error);
}

TEST(Config, WhatIsWrongIsNamedWithWhatWouldBeRight) {
  const AnyProblem p = problem("gather width=4096 dtype=bf16");
  EXPECT_TRUE(has(refusal(p, "thread=128"), "no parameter \"thread\"; the parameters are: form, vector, unroll"));
  EXPECT_TRUE(has(refusal(p, "thread=128"), ". Did you mean threads?"));
  EXPECT_FALSE(has(refusal(p, "something_else=128"), "Did you mean"));
  EXPECT_TRUE(has(refusal(p, "threads=100"), "threads=100 is not in the tuning space; it takes 64, 128"));
  EXPECT_TRUE(has(refusal(p, "threads"), "threads= is not"));
  EXPECT_TRUE(has(refusal(p, "threads=128x"), "threads=128x is not"));
  EXPECT_TRUE(has(refusal(p, "vector=32"), "32-byte accesses exist on sm_100"));
  EXPECT_TRUE(has(refusal(p, "vector=16,unroll=8,form=1"), "must fit the registers"));
  EXPECT_EQ(refusal(p, "vector=32", {100, "a"}), "accepted");
}

TEST(Config, AVectorThatDoesNotDivideIsRefused) {
  EXPECT_TRUE(has(refusal(problem("gather width=4097 dtype=bf16"), "form=0"), "must divide the row length"));
}

TEST(Config, BlocksPerSmLimitPersistentKernelsOnly) {
  for (const char* text : {"gather width=4096 dtype=bf16", "pointwise width=4096"}) {
    const AnyProblem p = problem(text);
    EXPECT_TRUE(has(refusal(p, "blocks_per_sm=1"), "blocks_per_sm=1 does not apply to the config")) << text;
    EXPECT_EQ(refusal(p, "persistent=1"), "accepted") << text;
    EXPECT_EQ(refusal(p, "persistent=1,blocks_per_sm=4,threads=512"), "accepted") << text;
    EXPECT_TRUE(has(refusal(p, "persistent=1,blocks_per_sm=8,threads=512"), "multiprocessor's threads")) << text;
    EXPECT_TRUE(has(refusal(p, "persistent=1,blocks_per_sm=4,threads=512", {120, "a"}), "multiprocessor's threads"));
  }
}

// The filtered product of all values, computed in another way than in legal_configs.
std::size_t count_legal(const AnyProblem& p, const Target& target, int parameter, Config config) {
  if (parameter == step_of(p).parameters.count)
    return config == normalized(step_of(p), p.data(), config) && violated(step_of(p), config, p.data(), target).empty();
  std::size_t legal = 0;
  for (const std::int32_t* value = step_of(p).parameters[parameter].values; *value != kNoMore; ++value) {
    config[parameter] = *value;
    legal += count_legal(p, target, parameter + 1, config);
  }
  return legal;
}

const char* const kProblems[] = {
    "gather width=4096 dtype=bf16",
    "gather width=4097 dtype=bf16",
    "gather width=3 dtype=f64 scale=f32",
    "gather width=5 dtype=c128",
    "gather width=4 dtype=c128",
    "gather width=0",
    "gather width=17179868160 dtype=u8",
    "pointwise width=4096",
    "pointwise width=4097 bias_spread=full",
    "pointwise width=100 dtype=f32 x_stride=101",
    "pointwise width=7 dtype=f32 y_dtype=bf16 op=add_mul_act x_spread=row",
    "pointwise width=0",
};

TEST(LegalConfigs, AreAllThatViolateNothingAndEachOnce) {
  for (const char* text : kProblems) {
    const AnyProblem p = problem(text);
    for (const Target& target : kTargets) {
      const std::vector<Config> configs = legal_configs(step_of(p), p.data(), target);
      std::set<std::string> texts;
      for (const Config& config : configs) {
        EXPECT_EQ(violated(step_of(p), config, p.data(), target), "");
        EXPECT_TRUE(texts.insert(config_text(step_of(p), p.data(), config)).second);
      }
      EXPECT_EQ(configs.size(), count_legal(p, target, 0, Config{})) << text << " " << target.text();
      EXPECT_GT(configs.size(), 0u) << text << " " << target.text();
    }
  }
}

TEST(LegalConfigs, TheLastParameterVariesFastest) {
  const AnyProblem p = problem("gather width=4096 dtype=bf16");
  const std::vector<Config> configs = legal_configs(step_of(p), p.data(), {90, "a"});
  EXPECT_TRUE(std::is_sorted(configs.begin(), configs.end(),
                             [](const Config& a, const Config& b) { return a.values < b.values; }));
}

TEST(LegalConfigs, HoldTheDefaultOfEveryProblem) {
  for (const char* text : kProblems) {
    const AnyProblem p = problem(text);
    for (const Target& target : kTargets) {
      const std::vector<Variant> variants = variants_of(p, target);
      EXPECT_EQ(violated(step_of(p), variants.front().config, p.data(), target), "") << text << " " << target.text();
    }
  }
}

TEST(Constraints, EachHasASentence) {
  for (const Family* family : builtin_families()) {
    const Step& step = family->steps[0];
    for (const Constraint& constraint : step.constraints) EXPECT_GT(std::string(constraint.sentence).size(), 10u);
    for (const Parameter& parameter : step.parameters) EXPECT_GT(std::string(parameter.sentence).size(), 5u);
  }
}

}  // namespace
}  // namespace quern
