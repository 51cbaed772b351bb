// mxfp8 launched more than once: groups whose ends change between replays of one graph, wrong ones, and sums of columns
// that are made in one workspace.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "driver/stream.h"
#include "mxfp8/mxfp8.h"
#include "plan/problem.h"
#include "support/device.h"
#include "support/has.h"
#include "support/scales_128x4.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

class Mxfp8Device : public DeviceTest {
 protected:
  struct Work {
    Work(const Driver& driver, const AnyProblem& asked)
        : problem(asked), host(asked.family(), problem.data()), scalars(asked.family()) {
      host.generate(1, false);
      device = std::make_unique<DeviceOperands>(driver, host);
      args = std::make_unique<AnyArgs>(device->args(scalars));
    }
    int operand(const std::string& name) const {
      const auto& operands = host.family().operands;
      return static_cast<int>(
          std::find_if(operands.begin(), operands.end(), [&](const Operand& o) { return o.name == name; }) -
          operands.begin());
    }
    void set_offsets(const std::vector<std::int32_t>& ends, const char* name = "offsets") {
      std::copy(ends.begin(), ends.end(), reinterpret_cast<std::int32_t*>(host.data(operand(name))));
      std::memset(host.data(operand("status")), 0, sizeof(std::int32_t));
    }
    HostOperands result() const {
      HostOperands got = host;
      device->download(got);
      return got;
    }
    std::int32_t status(const HostOperands& got) const {
      std::int32_t status = -1;
      std::memcpy(&status, got.data(operand("status")), sizeof(status));
      return status;
    }
    AnyProblem problem;
    HostOperands host;
    AnyArgs scalars;
    std::unique_ptr<DeviceOperands> device;
    std::unique_ptr<AnyArgs> args;
  };

  HostOperands launched(Work& work) {
    const AnyPlan plan = runtime().prepare_any(work.problem.family(), work.problem.data());
    work.device->upload(work.host);
    plan.launch(nullptr, work.args->data());
    synchronize();
    return work.result();
  }
};

class Mxfp8Groups : public Mxfp8Device {
 protected:
  static constexpr const char* kProblems[] = {
      "mxfp8 rows=512 cols=96 groups=4",
      "mxfp8 rows=512 cols=96 groups=4 direction=both",
      "mxfp8 rows=512 cols=96 groups=4 direction=col scale_layout=blocked",
      "mxfp8 rows=512 cols=96 groups=4 block=square",
      "mx_scales rows=512 cols=96 groups=4",
      "mx_scales to=plain rows=512 cols=96 groups=4 direction=col",
      "row_pad rows=512 cols=96 groups=4 align=128",
      "row_pad rows=512 cols=96 groups=4 direction=unpad align=16",
  };
};

TEST_F(Mxfp8Groups, AReplayReadsNewOffsets) {
  for (const char* text : kProblems) {
    Work work(driver(), runtime().parse(text));
    const AnyPlan plan = runtime().prepare_any(work.problem.family(), work.problem.data());
    const StreamOwner stream(driver());
    const Graph graph(driver(), [&](CUstream capturing) { plan.launch(capturing, work.args->data()); });
    for (const std::vector<std::int32_t>& ends :
         {std::vector<std::int32_t>{128, 128, 256, 512}, {0, 0, 0, 0}, {32, 64, 96, 128}, {512, 512, 512, 512}}) {
      work.host.generate(static_cast<std::uint64_t>(ends[0]) + 7, true);
      work.set_offsets(ends);
      work.device->upload(work.host);
      graph.launch(stream.get());
      stream.synchronize();
      const HostOperands got = work.result();
      EXPECT_EQ(compare(got, work.host.reference(work.scalars)).difference, "") << text << " " << ends[0];
      EXPECT_EQ(work.status(got), 0) << text;
    }
  }
}

// Sizes of TransformerEngine's grouped tests whose rows differ; rows after the last group are of none.
TEST_F(Mxfp8Groups, PublishedRowsAreTheReferences) {
  // On the host as many rows as show some after the last group, and narrower.
  const int many = on_host() ? 5120 : 65536, wide = on_host() ? 96 : 512;
  const std::pair<std::string, std::vector<std::int32_t>> shapes[] = {
      {"rows=512 cols=128 groups=2", {128, 512}},
      {"rows=1024 cols=144 groups=3", {128, 512, 1024}},
      {"rows=1024 cols=144 groups=4", {128, 512, 512, 1024}},
      {"rows=1536 cols=160 groups=4", {128, 512, 1024, 1536}},
      {cat("rows=4096 groups=5 cols=", wide), {128, 384, 768, 1792, 4096}},
      {cat("rows=", many, " groups=5 cols=", wide), {128, 384, 768, 1792, 4096}},
      {"rows=512 cols=160 groups=4", {128, 128, 128, 384}},
  };
  for (const auto& [shape, ends] : shapes) {
    for (const char* rest : {"", "direction=col scale_layout=blocked", "direction=both tail=pad"}) {
      const std::string text = cat("mxfp8 ", shape, " ", rest);
      if (!has(text, "tail=pad") && has(text, "cols=144")) continue;  // a block of 16 at the end of a row
      Work work(driver(), runtime().parse(text));
      work.host.generate(3, true);
      work.set_offsets(ends);
      const HostOperands got = launched(work);
      EXPECT_EQ(compare(got, work.host.reference(work.scalars)).difference, "") << text;
      EXPECT_EQ(work.status(got), 0) << text;
    }
  }
}

TEST_F(Mxfp8Groups, WrongOffsetsAreReportedAndNothingIsWritten) {
  const std::pair<std::vector<std::int32_t>, std::int32_t> wrong[] = {
      {{128, 64, 256, 512}, 2},   // decreases
      {{128, 256, 384, 544}, 4},  // after the last row
      {{-32, 64, 96, 128}, 1},
      {{0x7fffffe0, 0, 0, 0}, 1},
  };
  for (const char* text : kProblems) {
    Work work(driver(), runtime().parse(text));
    for (const auto& [ends, status] : wrong) {
      work.set_offsets(ends);
      const HostOperands got = launched(work);
      EXPECT_EQ(work.status(got), status) << text;
      const HostOperands same = work.host;  // poison
      const Family& family = work.problem.family();
      for (int i = 0; i < family.operands.count; ++i) {
        if (family.operands[i].role != Role::output || !same.present(i)) continue;
        EXPECT_EQ(std::memcmp(got.data(i), same.data(i), static_cast<std::size_t>(same.bytes(i))), 0)
            << text << " " << family.operands[i].name;
      }
      EXPECT_EQ(work.device->damage(work.host), "") << text;
    }
  }
}

// Groups that are matrices of their own.
class Mxfp8Matrices : public Mxfp8Device {
 protected:
  using Ends = std::vector<std::int32_t>;
  static constexpr const char* kFields[] = {"", "direction=both", "direction=col scale_layout=blocked",
                                            "direction=both out_order=cols scale_layout=padded",
                                            "direction=both block=square_spread"};
  static void set(Work& work, const Ends& rows, const Ends& cols) {
    if (work.host.present(work.operand("offsets"))) work.set_offsets(rows);
    work.set_offsets(cols, "col_offsets");
  }
};

// Sizes of TransformerEngine's grouped tests whose last or both dimensions differ.
TEST_F(Mxfp8Matrices, PublishedShapesAreTheReferences) {
  struct Shape {
    const char* fields;
    Ends rows, cols;
  };
  const Shape shapes[] = {
      {"rows=256 cols=896 groups=3 varying=cols", {}, {128, 384, 896}},
      {"rows=384 cols=384 groups=2 varying=both capacity=81920", {128, 384}, {128, 384}},
      {"rows=768 cols=768 groups=2 varying=both capacity=360448", {256, 768}, {128, 768}},
      {"rows=256 cols=256 groups=3 varying=both capacity=32768", {128, 128, 256}, {128, 128, 256}},
  };
  for (const Shape& shape : shapes) {
    for (const char* fields : kFields) {
      const std::string text = cat("mxfp8 ", shape.fields, " ", fields);
      Work work(driver(), runtime().parse(text));
      set(work, shape.rows, shape.cols);
      const HostOperands got = launched(work);
      EXPECT_EQ(compare(got, work.host.reference(work.scalars)).difference, "") << text;
      EXPECT_EQ(work.status(got), 0) << text;
    }
  }
}

// The elements and scales of a group are those of its matrix alone.
TEST_F(Mxfp8Matrices, AGroupIsQuantizedAsAlone) {
  Work all(driver(), runtime().parse("mxfp8 rows=160 cols=448 groups=2 varying=both direction=col capacity=40960"));
  set(all, {64, 160}, {96, 448});
  const HostOperands got = launched(all);
  Work alone(driver(), runtime().parse("mxfp8 rows=96 cols=352 direction=col"));
  constexpr std::size_t kBefore = std::size_t{64} * 96, kElements = std::size_t{96} * 352, kBands = 3;
  const std::byte* const source = all.host.data(all.operand("source"));
  std::memcpy(alone.host.data(alone.operand("source")), source + kBefore * 2, kElements * 2);
  const HostOperands want = launched(alone);
  EXPECT_EQ(std::memcmp(got.data(all.operand("out")) + kBefore, want.data(alone.operand("out")), kElements), 0);
  EXPECT_EQ(std::memcmp(got.data(all.operand("scales")) + kBefore / 32, want.data(alone.operand("scales")),
                        kBands * std::size_t{352}),
            0);
}

TEST_F(Mxfp8Matrices, AReplayReadsNewEnds) {
  for (const char* fields : kFields) {
    Work work(driver(), runtime().parse(cat("mxfp8 rows=512 cols=512 groups=4 varying=both capacity=131072 ", fields)));
    const AnyPlan plan = runtime().prepare_any(work.problem.family(), work.problem.data());
    const StreamOwner stream(driver());
    const Graph graph(driver(), [&](CUstream capturing) { plan.launch(capturing, work.args->data()); });
    for (const auto& [rows, cols] : {std::pair<Ends, Ends>{{128, 256, 384, 512}, {128, 256, 384, 512}},
                                     {{0, 0, 0, 0}, {32, 64, 96, 128}},
                                     {{32, 32, 64, 512}, {512, 512, 512, 512}},
                                     {{256, 256, 256, 256}, {512, 512, 512, 512}},
                                     {{32, 128, 128, 512}, {32, 160, 512, 512}}}) {
      work.host.generate(static_cast<std::uint64_t>(rows[0]) + 7, true);
      set(work, rows, cols);
      work.device->upload(work.host);
      graph.launch(stream.get());
      stream.synchronize();
      const HostOperands got = work.result();
      EXPECT_EQ(compare(got, work.host.reference(work.scalars)).difference, "") << fields << " " << rows[0];
      EXPECT_EQ(work.status(got), 0) << fields;
    }
  }
}

TEST_F(Mxfp8Matrices, WrongEndsAreReportedAndNothingIsWritten) {
  struct Wrong {
    Ends rows, cols;
    std::int32_t status;
  };
  const Wrong wrong[] = {
      {{128, 64, 256, 512}, {32, 64, 96, 128}, 2},      // rows decrease
      {{32, 64, 96, 128}, {128, 256, 224, 512}, 3},     // columns decrease
      {{32, 64, 96, 128}, {128, 256, 384, 544}, 4},     // after the last column
      {{32, 64, 96, 128}, {16, 256, 384, 512}, 1},      // half a block
      {{256, 512, 512, 512}, {256, 512, 512, 512}, 2},  // more elements than there is room for
  };
  for (const char* fields : kFields) {
    Work work(driver(), runtime().parse(cat("mxfp8 rows=512 cols=512 groups=4 varying=both capacity=131071 ", fields)));
    for (const Wrong& each : wrong) {
      set(work, each.rows, each.cols);
      const HostOperands got = launched(work);
      EXPECT_EQ(work.status(got), each.status) << fields;
      EXPECT_EQ(work.status(work.host.reference(work.scalars)), each.status) << fields;
      const Family& family = work.problem.family();
      for (int i = 0; i < family.operands.count; ++i) {
        if (family.operands[i].role != Role::output || !work.host.present(i)) continue;
        EXPECT_EQ(std::memcmp(got.data(i), work.host.data(i), static_cast<std::size_t>(work.host.bytes(i))), 0)
            << fields << " " << family.operands[i].name;
      }
      EXPECT_EQ(work.device->damage(work.host), "") << fields;
    }
  }
}

// Regression: the difference of two ends overflowed, and an offset far outside was taken for a group.
TEST_F(Mxfp8Groups, EndsOfSixtyFourBitsThatAreFarApartAreWrong) {
  for (const char* text :
       {"mxfp8 rows=512 cols=96 groups=2 offset=i64", "mxfp8 rows=512 cols=96 groups=2 offset=i64 direction=both",
        "row_pad rows=512 cols=96 groups=2 offset=i64"}) {
    Work work(driver(), runtime().parse(text));
    for (const std::int64_t end :
         {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
      const std::int64_t ends[] = {64, end};
      work.set_offsets({});
      std::memcpy(work.host.data(work.operand("offsets")), ends, sizeof(ends));
      EXPECT_EQ(work.status(launched(work)), 2) << text;
    }
  }
}

// A whole cluster is idle if a group is wrong, or after the last group.
TEST_F(Mxfp8Groups, ClustersLeaveTogether) {
  if (describe_device(driver(), 0).arch < 90) GTEST_SKIP() << "clusters came with sm_90";
  PrepareOptions changed;
  changed.config = "form=1,unroll=1,threads=128,vector=16,rows=16,stack=2,panel=0,cluster=8";
  Work work(driver(), runtime().parse("mxfp8 rows=1024 cols=1184 groups=4 direction=both"));
  const AnyPlan plan = runtime().prepare_any(work.problem.family(), work.problem.data(), changed);
  const auto status = [&](const std::vector<std::int32_t>& ends) {
    work.set_offsets(ends);
    work.device->upload(work.host);
    plan.launch(nullptr, work.args->data());
    synchronize();
    return work.status(work.result());
  };
  EXPECT_EQ(status({128, 64, 256, 512}), 2);
  EXPECT_EQ(status({32, 64, 96, 96}), 0);
  EXPECT_EQ(compare(work.result(), work.host.reference(work.scalars)).difference, "");
}

TEST_F(Mxfp8Groups, RowsThatMustBeWholeBlocksAreAskedFor) {
  Work work(driver(), runtime().parse(kProblems[1]));
  work.set_offsets({32, 64, 97, 128});
  EXPECT_EQ(work.status(launched(work)), 3);
  Work rows(driver(), runtime().parse(kProblems[0]));
  rows.set_offsets({32, 64, 97, 128});
  EXPECT_EQ(rows.status(launched(rows)), 0) << "no block lies across rows";
}

TEST_F(Mxfp8Groups, AFlagCallsALaunchOff) {
  for (const char* text : kProblems) {
    Work work(driver(), runtime().parse(std::string(text) + " noop=flag"));
    for (const float flag : {1.0F, 0.0F, 2.0F}) {
      work.set_offsets({128, 128, 256, 512});
      std::memcpy(work.host.data(work.operand("noop")), &flag, sizeof(flag));
      const HostOperands got = launched(work);
      EXPECT_EQ(compare(got, work.host.reference(work.scalars)).difference, "") << text << " " << flag;
      EXPECT_EQ(compare(got, work.host).equal, flag == 1.0F) << text << " " << flag;
    }
  }
}

class Mxfp8Layout : public Mxfp8Device {};

// Kernel and reference could both be wrong: the table is not ours.
TEST_F(Mxfp8Layout, ScalesLieWhereTheDocumentationOfCublasHasThem) {
  constexpr std::int64_t kRows = 256, kBlocks = 8;
  Work work(driver(), runtime().parse("mx_scales rows=256 cols=256"));
  const HostOperands got = launched(work), reference = work.host.reference(work.scalars);
  const std::byte* const scales = work.host.data(work.operand("source"));
  const int out = work.operand("out");
  ASSERT_EQ(got.bytes(out), kRows * kBlocks);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t block = 0; block < kBlocks; ++block) {
      const std::int64_t place = (row / 128 * 2 + block / 4) * 512 + kScales128x4[row % 128][block % 4];
      EXPECT_EQ(got.data(out)[place], scales[row * kBlocks + block]) << row << " " << block;
      EXPECT_EQ(reference.data(out)[place], scales[row * kBlocks + block]) << row << " " << block;
    }
  }
}

// Quantization writes its scales to the same places as mx_scales.
TEST_F(Mxfp8Layout, QuantizedScalesLieThereToo) {
  Work plain(driver(), runtime().parse("mxfp8 rows=256 cols=256"));
  Work blocked(driver(), runtime().parse("mxfp8 rows=256 cols=256 scale_layout=blocked"));
  const HostOperands from = launched(plain), to = launched(blocked);
  const std::byte* const scales = from.data(plain.operand("scales"));
  const std::byte* const places = to.data(blocked.operand("scales"));
  for (std::int64_t row = 0; row < 256; ++row) {
    for (std::int64_t block = 0; block < 8; ++block)
      EXPECT_EQ(places[(row / 128 * 2 + block / 4) * 512 + kScales128x4[row % 128][block % 4]], scales[row * 8 + block])
          << row << " " << block;
  }
}

class Mxfp8Sums : public Mxfp8Device {
 protected:
  static double finite_share(const HostOperands& operands, int operand) {
    const auto count = static_cast<std::size_t>(operands.bytes(operand)) / sizeof(float);
    std::vector<float> sums(count);
    std::memcpy(sums.data(), operands.data(operand), count * sizeof(float));
    const auto finite = std::count_if(sums.begin(), sums.end(), [](float sum) { return std::isfinite(sum); });
    return static_cast<double>(finite) / static_cast<double>(count);
  }
};

// 102 tiles of rows in four chunks. The next launch starts with the workspace of the previous one.
TEST_F(Mxfp8Sums, AWorkspaceIsZeroedOnce) {
  for (const char* text : {"mxfp8 rows=13000 cols=96 tail=pad bias_gradient=sums",
                           "mxfp8 rows=4096 cols=160 direction=both bias_gradient=sums experts=2",
                           "mxfp8 rows=96 cols=96 direction=col bias_gradient=sums scale_layout=blocked"}) {
    Work work(driver(), runtime().parse(text));
    const AnyPlan plan = runtime().prepare_any(work.problem.family(), work.problem.data());
    const StreamOwner stream(driver());
    const Graph graph(driver(), [&](CUstream capturing) { plan.launch(capturing, work.args->data()); });
    const int workspace = work.operand("workspace");
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const HostOperands before = work.result();
      work.host.generate(seed, true);
      if (seed > 1) std::copy_n(before.data(workspace), before.bytes(workspace), work.host.data(workspace));
      work.device->upload(work.host);
      graph.launch(stream.get());
      stream.synchronize();
      const HostOperands reference = work.host.reference(work.scalars);
      EXPECT_EQ(compare(work.result(), reference).difference, "") << text << " " << seed;
      EXPECT_GE(finite_share(reference, work.operand("bias_gradient")), 0.6)
          << text << ": a sum that is NaN or infinite shows nothing";
    }
  }
}

TEST_F(Mxfp8Sums, APlanSaysWhatTheWorkspaceTakes) {
  Mxfp8Args args;
  args.rows = 64;
  args.experts = 1;
  EXPECT_EQ(runtime().prepare(Mxfp8{}).workspace_bytes(args), 0) << "nothing is summed";
  Mxfp8 problem;
  problem.cols = 96;
  problem.bias_gradient = Mxfp8BiasGradient::sums;
  const Plan<Mxfp8> plan = runtime().prepare(problem);
  for (const std::int64_t rows : {32, 4096, 13000}) {
    args.rows = rows;
    const std::int64_t tiles = (rows + 127) / 128, chunks = (tiles + 31) / 32;
    EXPECT_EQ(plan.workspace_bytes(args), 4 * (tiles * 96 + chunks * 96 + 3 * (chunks + 1))) << rows;
  }
  EXPECT_THROW(static_cast<void>(plan.workspace_bytes({})), Error) << "rows are open";
  args.rows = std::int64_t{1} << 46;
  EXPECT_THROW(static_cast<void>(plan.workspace_bytes(args)), Error) << "exceeds any memory";
  args.rows = 0;
  EXPECT_EQ(plan.workspace_bytes(args), 0);
}

}  // namespace
}  // namespace quern::test
