#include "compiler/host_compiler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/text.h"
#include "quern/error.h"
#include "support/no_descriptors.h"
#include "unit/cache/support.h"

namespace quern {
namespace {

const Target kHost{90, "", true};
// A minimal image: the back end needs QUERN_HOST_KERNEL of its prelude and nothing else.
const Unit kHostUnit{{"made/made.cu", "#include \"made/part.cuh\"\n"},
                     {{"made/part.cuh", "// one\nextern \"C\" int part() { return 1; }\n"},
                      {"prelude.cuh", "#define QUERN_HOST_KERNEL(name)\n"}},
                     {"prelude.cuh"}};

class HostCompilerTest : public ::testing::Test {
 protected:
  Environment environment_ = Environment::read();
  cache::Scratch scratch_;

  std::string script(const std::string& name, const std::string& text) {
    const std::string path = scratch_ / name;
    cache::overwrite(path, "#!/bin/sh\n" + text);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string refusal(HostCompiler& compiler) {
    try {
      compiler.compile(kHostUnit, "quern_made", kHost, false);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(HostCompilerTest, MakesASharedObjectAndLeavesNothingBehind) {
  environment_[Variable::tmpdir] = scratch_.path();
  HostCompiler compiler("", environment_);
  const Image image = compiler.compile(kHostUnit, "quern_made", kHost, false);
  EXPECT_EQ(image.cubin.substr(1, 3), "ELF");
  EXPECT_EQ(image.kernel, "quern_made");
  EXPECT_EQ(image.compiler, compiler.version());
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

// g++ reads stdc-predef.h first, wherever CPATH points.
TEST_F(HostCompilerTest, WhatTheEnvironmentSaysOfIncludesDecidesNothing) {
  cache::overwrite(scratch_ / "stdc-predef.h", "#error not of this unit\n");
  HostCompiler compiler("", environment_);
  for (const char* variable : {"CPATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX"}) {
    ::setenv(variable, (scratch_ / "").c_str(), 1);
    EXPECT_EQ(refusal(compiler), "") << variable;
    ::unsetenv(variable);
  }
}

TEST_F(HostCompilerTest, AnErrorNamesTheFileAndTheLine) {
  Unit wrong = kHostUnit;
  wrong.headers[0].text = "// one\nint x = nothing;\n";
  HostCompiler compiler("", environment_);
  try {
    compiler.compile(wrong, "quern_made", kHost, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::compile);
    EXPECT_NE(error.log.find("made/part.cuh:2:"), std::string::npos) << error.log;
  }
}

TEST_F(HostCompilerTest, TheTargetIsInTheOptionsAndSoInTheKey) {
  EXPECT_NE(HostCompiler::options(kHost, false), HostCompiler::options({80, "", true}, false));
  EXPECT_NE(HostCompiler::options(kHost, false), HostCompiler::options(kHost, true));
}

TEST_F(HostCompilerTest, WhereThereIsNoneEachPlaceIsNamed) {
  environment_[Variable::path] = scratch_.path();
  HostCompiler compiler("", environment_);
  EXPECT_EQ(compiler.identity(), "");
  const std::string words = refusal(compiler);
  for (const char* word : {"QUERN_CXX", "c++ (PATH): not in PATH", "g++", "clang++"})
    EXPECT_NE(words.find(word), std::string::npos) << words;
}

TEST_F(HostCompilerTest, APathOfAnyLengthIsOnlyNotThere) {
  HostCompiler compiler("/" + std::string(5000, 'x'), environment_);
  EXPECT_NE(refusal(compiler).find("no such file"), std::string::npos);
}

TEST_F(HostCompilerTest, ARelativePathStaysRight) {
  script("mine", "exec c++ \"$@\"\n");
  const auto was = std::filesystem::current_path();
  std::filesystem::current_path(scratch_.path());
  HostCompiler compiler("./mine", environment_);
  const std::string words = refusal(compiler);
  std::filesystem::current_path(was);
  EXPECT_EQ(words, "");
}

TEST_F(HostCompilerTest, AProgramThatSaysNothingIsNoCompiler) {
  HostCompiler compiler(script("silent", "exit 0\n"), environment_);
  EXPECT_NE(refusal(compiler).find("is not a compiler"), std::string::npos);
}

TEST_F(HostCompilerTest, ACompilerThatMakesNothingIsAnErrorAndNoImage) {
  HostCompiler compiler(script("idle", "[ \"$1\" = --version ] && echo idle 1.0\nexit 0\n"), environment_);
  EXPECT_NE(refusal(compiler).find("idle 1.0 produced no image of made/made.cu"), std::string::npos)
      << refusal(compiler);
}

TEST_F(HostCompilerTest, AnApplicationMayIgnoreItsChildren) {
  const auto was = std::signal(SIGCHLD, SIG_IGN);
  HostCompiler compiler("", environment_);
  const std::string words = refusal(compiler);
  std::signal(SIGCHLD, was);
  EXPECT_EQ(words, "");
}

TEST_F(HostCompilerTest, AMomentWithoutDescriptorsIsNoVerdictOnTheCompiler) {
  HostCompiler compiler("", environment_);
  {
    const test::NoDescriptors none;
    EXPECT_THROW(compiler.identity(), Error);
  }
  EXPECT_NE(compiler.identity(), "");
  EXPECT_EQ(refusal(compiler), "");
}

// The linker reports a full disk as an "error", and the compiler's exit status is that of a wrong source.
TEST_F(HostCompilerTest, AFullTmpdirIsNotTheCompilersVerdict) {
  const auto lasting = [&](const std::string& name, const std::string& words) {
    HostCompiler compiler(script(name, cat("[ \"$1\" = --version ] && echo mine 1.0 && exit 0\n", words, "\nexit 1\n")),
                          environment_);
    try {
      compiler.compile(kHostUnit, "made", kHost, false);
    } catch (const Error& error) {
      return error.lasting;
    }
    ADD_FAILURE() << "compiled";
    return false;
  };
  EXPECT_FALSE(lasting("full",
                       "echo '/usr/bin/ld: final link failed: No space left on device'\n"
                       "echo 'collect2: error: ld returned 1 exit status'"));
  EXPECT_FALSE(
      lasting("full2", "echo 'made/made.cu:1:1: fatal error: cannot write image.so: No space left on device'"));
  EXPECT_TRUE(lasting("wrong", "echo 'made/part.cuh:2:7: error: made up'"));
}

TEST_F(HostCompilerTest, ACompilerThatWasReplacedIsAskedForItsVersionAgain) {
  const std::string path = script("mine", "[ \"$1\" = --version ] && echo mine 1.0 && exit 0\nexec c++ \"$@\"\n");
  HostCompiler compiler(path, environment_);
  const std::string before = compiler.identity();
  script("mine", "[ \"$1\" = --version ] && echo mine 2.0 && exit 0\nexec c++ \"$@\"\n");
  const Image image = compiler.compile(kHostUnit, "made", kHost, false);
  EXPECT_NE(image.identity, before);
  EXPECT_EQ(image.compiler, "mine 2.0");
  EXPECT_EQ(image.identity, compiler.identity());
}

TEST_F(HostCompilerTest, AFolderThatCannotBeMadeNamesTmpdir) {
  environment_[Variable::tmpdir] = scratch_ / "missing";
  HostCompiler compiler("", environment_);
  const std::string words = refusal(compiler);
  EXPECT_NE(words.find("No such file or directory; set TMPDIR"), std::string::npos) << words;
}

}  // namespace
}  // namespace quern
