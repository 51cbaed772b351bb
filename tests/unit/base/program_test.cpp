#include "base/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/text.h"
#include "support/scratch.h"

namespace quern {
namespace {

TEST(FindProgram, TakesTheFirstFolderThatHasOneToRun) {
  const test::Scratch scratch;
  for (const char* folder : {"a", "b", "c"}) ASSERT_EQ(::mkdir((scratch / folder).c_str(), 0777), 0);
  std::ofstream(scratch / "a/tool") << "not to be run";
  for (const char* folder : {"b", "c"}) {
    std::ofstream(scratch / folder + "/tool") << "#!/bin/sh\n";
    ASSERT_EQ(::chmod((scratch / folder + "/tool").c_str(), 0755), 0);
  }
  const std::string folders = cat("", ":", scratch / "a", ":", scratch / "b", ":", scratch / "c");
  EXPECT_EQ(find_program("tool", folders), scratch / "b/tool");
  EXPECT_EQ(find_program("other", folders), "");
  EXPECT_EQ(find_program("tool", ""), "");
  EXPECT_EQ(find_program(scratch / "c/tool", ""), scratch / "c/tool");
  EXPECT_EQ(find_program(scratch / "a/tool", folders), "");
  EXPECT_EQ(find_program(scratch / "a", folders), "") << "a folder";
}

}  // namespace
}  // namespace quern
