#include "io/variable_names.h"

#include <gtest/gtest.h>

#include "base/environment.h"

namespace quern::tool {
namespace {

using Sentences = std::vector<std::string>;

TEST(VariableNames, WhatIsCloseToAKnownOneIsSaid) {
  EXPECT_EQ(mistyped_variables({"QUERN_CACH_DIR"}),
            Sentences{"QUERN_CACH_DIR is set, and nothing reads it. Did you mean QUERN_CACHE_DIR?"});
  EXPECT_EQ(mistyped_variables({"QUERN_TUEN", "QUERN_NVRCT"}).size(), 2u);
}

TEST(VariableNames, WhatAVariableWasCalledOnceIsSaid) {
  EXPECT_EQ(mistyped_variables({"QUERN_RECORD"}),
            Sentences{"QUERN_RECORD is set, and nothing reads it. Did you mean QUERN_MANIFEST?"});
}

TEST(VariableNames, WhatSomethingReadsIsNoTypo) {
  Sentences names;
  for (int i = 0; i < static_cast<int>(Variable::count); ++i) names.emplace_back(row(static_cast<Variable>(i)).name);
  for (const char* other : {"QUERN_HOSTDRIVER", "QUERN_CUDA_INCLUDE", "QUERN_FORCE_WHEELS", "QUERN_TEST_FULL"})
    names.emplace_back(other);
  EXPECT_EQ(mistyped_variables(names), Sentences());
}

TEST(VariableNames, WhatIsFarFromAllAndWhatIsNotOursIsLeftAlone) {
  EXPECT_EQ(mistyped_variables({"QUERN_SOMETHING_OF_AN_APPLICATION", "CACH_DIR", "QUERNCACHE_DIR"}), Sentences());
}

}  // namespace
}  // namespace quern::tool
