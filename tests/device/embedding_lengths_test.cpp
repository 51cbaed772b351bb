// embedding with bags by lengths, of data of its own: lengths that no bags have, ids in no bag, and used workspaces.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/text.h"
#include "embedding/lookup.h"
#include "quern/embedding.h"
#include "support/replay.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

class EmbeddingLengths : public ReplayTest {
 protected:
  template <class T>
  static T* numbers(HostOperands& host, const std::string& name) {
    for (int i = 0; i < host.size(); ++i)
      if (host.name(i) == name) return reinterpret_cast<T*>(host.data(i));
    return nullptr;
  }

  // What a launch makes of these lengths, which the reference makes too. A report is -1 before.
  HostOperands checked(const std::string& text, const std::vector<std::int64_t>& lengths) {
    const AnyProblem problem = runtime().parse(text);
    HostOperands host(problem.family(), problem.data());
    host.generate(7, false);
    if (auto* const report = numbers<std::int64_t>(host, "report"); report != nullptr) *report = -1;
    std::copy(lengths.begin(), lengths.end(), numbers<std::int64_t>(host, "lengths"));
    HostOperands got = launched(host, "");
    EXPECT_EQ(compare(got, host.reference(AnyArgs(problem.family()))).difference, "") << text;
    return got;
  }
};

// As offsets that fall, or that pass the end: bags are cut to the ids that there are.
TEST_F(EmbeddingLengths, ThatNoBagsHaveAreReportedAndReadNothingOutside) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kFar = std::int64_t{1} << 40;
  for (const char* mode : {"zero", "clamp", "first", "report", "report_first"}) {
    for (const char* pooling : {"sum", "mean", "max"}) {
      const std::string how = cat(" mode=", mode, " pooling=", pooling);
      HostOperands got = checked(cat("embedding bags=lengths batch=5 tables=2 dim=4 rows=20 count=40", how),
                                 {4, 0, -2, 48, -47, 0, kFar, -kFar, kMost, kMost});
      if (cat(mode).find("report") == std::string::npos) continue;
      const auto report = *numbers<std::int64_t>(got, "report");
      EXPECT_TRUE(report < 40 || report == 40 + 2) << "the bag from 4 to 2, unless an id is bad";
    }
  }
}

// The last bag ends where the lengths end, not with the ids.
TEST_F(EmbeddingLengths, LeaveIdsAfterTheLastBagInNone) {
  const std::string shape = "batch=3 tables=2 dim=4 rows=9 count=60 ";
  const std::vector<std::int64_t> lengths = {2, 0, 5, 1, 3, 4};
  for (const char* pooling :
       {"pooling=sum", "pooling=mean", "pooling=max", "pooling=mean padding=2", "pooling=sum sample_weights=f32"}) {
    checked(cat("embedding bags=lengths ", shape, pooling), lengths);
    HostOperands got = checked(cat("embedding bags=lengths pass=backward ", shape, pooling), lengths);
    const auto* const made = numbers<float>(got, "sample_weights_gradient");
    for (int at = 15; made != nullptr && at < 60; ++at) EXPECT_EQ(made[at], 0) << at;
  }
}

// Offsets that a launch has left are where a larger or smaller one has nothing that must be zero.
TEST_F(EmbeddingLengths, AWorkspaceServesOtherBatches) {
  for (const char* pass : {"forward", "backward"}) {
    const std::string shape = cat("embedding bags=lengths pooling=sum tables=2 rows=2,300 dim=20 pass=", pass);
    expect_workspace_serves(runtime().parse(shape + " count=open"), {6000, 20, 3100, 1, 6000}, [&](int batch) {
      return runtime().parse(cat(shape, " batch=", batch, " count=", 3 * batch));
    });
  }
}

TEST_F(EmbeddingLengths, AReplayReadsOtherLengths) {
  expect_replays("embedding bags=lengths batch=700 tables=2 dim=4 rows=20 pooling=sum count=4000");
}

}  // namespace
}  // namespace quern::test
