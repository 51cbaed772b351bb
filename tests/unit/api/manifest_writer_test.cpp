// Lines of a manifest whose file temporarily cannot be written or read.
#include "api/manifest_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "base/files.h"
#include "support/no_descriptors.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

constexpr const char* kWideLine = "{\"problem\":\"gather width=512\",\"arch\":\"sm_90a\"}\n";
constexpr const char* kOpenLine = "{\"problem\":\"gather\",\"arch\":\"sm_90a\"}\n";

class ManifestLines : public ::testing::Test {
 protected:
  const cache::Scratch scratch_;
  const std::string path_ = scratch_ / "manifest";
  KeptLog kept_;
  const Log log_{LogLevel::warning, kept_.sink()};
};

// Files may not be longer than that.
class ShortFiles {
 public:
  explicit ShortFiles(rlim_t bytes) : ignored_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~ShortFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, ignored_);
  }
  ShortFiles(const ShortFiles&) = delete;
  ShortFiles& operator=(const ShortFiles&) = delete;

 private:
  rlimit before_{};
  void (*ignored_)(int);
};

TEST_F(ManifestLines, OneThatWasCutShortIsEndedAndWrittenAgain) {
  ManifestWriter manifest(path_, log_);
  {
    const ShortFiles limit(10);
    manifest.add("gather", "sm_90a", "");
  }
  EXPECT_EQ(*read_file(path_), std::string(kOpenLine).substr(0, 10));
  EXPECT_EQ(kept_.count(LogLevel::warning, "a line was cut short"), 1) << kept_.all();
  manifest.add("gather width=512", "sm_90a", "");
  EXPECT_EQ(*read_file(path_), cat(std::string(kOpenLine).substr(0, 10), "\n", kOpenLine, kWideLine));
}

TEST_F(ManifestLines, AMomentWithoutDescriptorsDoesNotMakeThemTwo) {
  cache::overwrite(path_, cat(kOpenLine, kWideLine));
  ManifestWriter manifest(path_, log_);
  {
    const NoDescriptors none;
    manifest.add("gather", "sm_90a", "");
  }
  manifest.add("gather width=512", "sm_90a", "");
  EXPECT_EQ(*read_file(path_), cat(kOpenLine, kWideLine));
}

}  // namespace
}  // namespace quern::test
