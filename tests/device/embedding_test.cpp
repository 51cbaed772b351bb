// embedding with data of its own: ids at the limits of their type, and offsets that no bags have.
#include "quern/embedding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "driver/stream.h"
#include "embedding/lookup.h"
#include "support/replay.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

template <class T>
T* numbers_of(HostOperands& host, embedding::OperandNumber operand) {
  return reinterpret_cast<T*>(host.data(host.place({operand, 0})));
}

class EmbeddingOnDevice : public ReplayTest {
 protected:
  HostOperands generated(const AnyProblem& problem) {
    HostOperands host(problem.family(), problem.data());
    host.generate(7, false);
    for (int i = 0; i < host.size(); ++i) {
      if (host.present(i) && host.name(i) == "report") std::memset(host.data(i), 0xff, sizeof(std::int64_t));
    }
    return host;
  }

  void expect_as_reference(const AnyProblem& problem, const HostOperands& host, const HostOperands& got) {
    EXPECT_EQ(compare(got, host.reference(AnyArgs(problem.family()))).difference, "") << problem.text();
  }
};

// As Python has it: (x + 1) wraps around, and a remainder has the sign of the divisor.
std::int64_t modulus_of(std::int64_t id, std::int64_t rows) {
  const auto next = static_cast<std::int64_t>(static_cast<std::uint64_t>(id) + 1);
  return ((next % rows) + rows) % rows;
}

TEST_F(EmbeddingOnDevice, IdsAtTheLimitsOfTheirTypeNameTheRowOfTheirModulus) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = -kMost - 1;
  for (const std::int64_t rows : {1, 2, 3, 7, 1000, 4096, 65537}) {
    const std::vector<std::int64_t> ids = {0,         1,         -1,         -2,           -rows,  -rows - 1,
                                           rows,      rows - 1,  4294967295, kMost,        kLeast, -kMost,
                                           kMost - 1, kMost / 3, rows * 5,   -rows * 5 - 1};
    const AnyProblem problem =
        runtime().parse(cat("embedding batch=", ids.size(), " tables=1 dim=1 dtype=f32 hash=modulus rows=", rows));
    HostOperands host = generated(problem);
    std::copy(ids.begin(), ids.end(), numbers_of<std::int64_t>(host, embedding::kIndex));
    float* const table = numbers_of<float>(host, embedding::kWeights);
    for (std::int64_t row = 0; row < rows; ++row) table[row] = static_cast<float>(row);
    HostOperands got = launched(host);
    const float* const out = numbers_of<float>(got, embedding::kOut);
    for (std::size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(out[i], static_cast<float>(modulus_of(ids[i], rows))) << ids[i] << " of " << rows;
    expect_as_reference(problem, host, got);
  }
}

TEST_F(EmbeddingOnDevice, AnIdOf32BitsWrapsIn32Bits) {
  const AnyProblem problem = runtime().parse("embedding batch=1 tables=1 dim=1 hash=modulus rows=1000 index=i32");
  HostOperands host = generated(problem);
  *numbers_of<std::int32_t>(host, embedding::kIndex) = std::numeric_limits<std::int32_t>::max();
  float* const table = numbers_of<float>(host, embedding::kWeights);
  for (int row = 0; row < 1000; ++row) table[row] = static_cast<float>(row);
  HostOperands got = launched(host);
  EXPECT_EQ(*numbers_of<float>(got, embedding::kOut), 352) << "-2147483648 modulo 1000";
}

// Bags that fall back, begin before the ids or end after them are cut to what is there.
TEST_F(EmbeddingOnDevice, OffsetsThatNoBagsHaveAreReportedAndReadNothingOutside) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  for (const char* mode : {"zero", "clamp", "first", "report", "report_first"}) {
    for (const char* pooling : {"sum", "mean", "max"}) {
      const AnyProblem problem =
          runtime().parse(cat("embedding batch=5 tables=2 dim=4 rows=20 count=40 pooling=", pooling, " mode=", mode));
      HostOperands host = generated(problem);
      const std::int64_t offsets[] = {0, 4, 4, 2, 50, 3, -7, 9, -kFar, kFar};
      std::copy(std::begin(offsets), std::end(offsets), numbers_of<std::int64_t>(host, embedding::kOffsets));
      std::int64_t* const ids = numbers_of<std::int64_t>(host, embedding::kIndex);
      for (int i = 0; i < 40; ++i) ids[i] = i % 20;
      HostOperands got = launched(host);
      expect_as_reference(problem, host, got);
      if (cat(mode).find("report") == std::string::npos) continue;
      EXPECT_EQ(*numbers_of<std::int64_t>(got, embedding::kReport), 40 + 2) << "the bag from 4 to 2";
    }
  }
}

// FBGEMM's ways to treat a bad id: it replaces it by row 0, and warns or does not.
TEST_F(EmbeddingOnDevice, ABadIdTakesTheFirstRowAndIsReportedByItsPosition) {
  for (const char* pooling : {"pooling=none", "pooling=sum count=6 offsets=i32"}) {
    const AnyProblem problem =
        runtime().parse(cat("embedding batch=3 tables=2 dim=4 rows=9,5 mode=report_first ", pooling));
    HostOperands host = generated(problem);
    const std::int64_t ids[] = {8, 4, 0, 5, -1, 4};  // the second 5 is past its table's end
    std::copy(std::begin(ids), std::end(ids), numbers_of<std::int64_t>(host, embedding::kIndex));
    if (cat(pooling) != "pooling=none")
      std::iota(numbers_of<std::int32_t>(host, embedding::kOffsets),
                numbers_of<std::int32_t>(host, embedding::kOffsets) + 6, 0);
    HostOperands got = launched(host);
    expect_as_reference(problem, host, got);
    EXPECT_EQ(*numbers_of<std::int64_t>(got, embedding::kReport), 3);
  }
}

// Where packed tables are, and their rows, is read by each launch.
TEST_F(EmbeddingOnDevice, AReplayReadsPackedTablesThatHaveMoved) {
  for (const char* rest : {"hash=modulus", "mode=zero", "pooling=sum count=400 mode=clamp"})
    expect_replays(cat("embedding batch=50 tables=3 dim=8,12,8 rows=30,70,12 layout=packed ", rest));
}

// Its cardinality is known on the device only, where nothing can refuse it.
TEST_F(EmbeddingOnDevice, APackedTableWithoutRowsGivesZerosAndReadsNothing) {
  for (const char* rest : {"hash=modulus", "mode=clamp", "mode=first", "mode=wrap_negative", "mode=report",
                           "pooling=sum count=60 mode=clamp", "pooling=mean count=60 hash=modulus"}) {
    for (const std::int64_t rows : {0, -7}) {
      const AnyProblem problem =
          runtime().parse(cat("embedding batch=9 tables=2 dim=4 rows=5 dense=1 layout=packed ", rest));
      HostOperands host = generated(problem);
      numbers_of<std::int64_t>(host, embedding::kPlaces)[3] = rows;
      HostOperands got = launched(host);
      expect_as_reference(problem, host, got);
      for (int b = 0; b < 9; ++b) {
        const float* const row = numbers_of<float>(got, embedding::kOut) + std::ptrdiff_t{9} * b;
        EXPECT_TRUE(std::all_of(row + 5, row + 9, [](float x) { return x == 0; })) << rest << " " << rows;
      }
    }
  }
}

TEST_F(EmbeddingOnDevice, GoodIdsLeaveTheReportAsItWas) {
  const AnyProblem problem = runtime().parse("embedding batch=3 tables=2 dim=4 rows=9 mode=report");
  HostOperands host = generated(problem);
  std::fill_n(numbers_of<std::int64_t>(host, embedding::kIndex), 6, 8);
  HostOperands got = launched(host);
  EXPECT_EQ(*numbers_of<std::int64_t>(got, embedding::kReport), -1);
}

}  // namespace
}  // namespace quern::test
