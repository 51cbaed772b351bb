// glu through NVRTC.
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "compile/support.h"

namespace quern::test {
namespace {

using GluCompile = CompileTest;

const char* const kPasses[] = {"forward", "backward", "backward recompute=out"};

#define QUERN_ACTIVATION_NAME(name, ...) #name,
const char* const kActivations[] = {QUERN_ACTIVATIONS(QUERN_ACTIVATION_NAME)};
#undef QUERN_ACTIVATION_NAME

// Types, roundings, gates and passes in turn.
TEST_F(GluCompile, EveryActivation) {
  const char* const types[] = {"bf16", "f16", "f32"};
  const char* const gatings[] = {"product", "clamped", "tanh"};
  std::vector<Job> jobs;
  for (const char* activation : kActivations) {
    for (int i = 0; i < 3; ++i) {
      const std::size_t turn = jobs.size();
      jobs.push_back({cat("glu activation=", activation, " dtype=", types[i], " pass=", kPasses[turn / 3 % 3],
                          " gating=", gatings[turn / 2 % 3], turn % 2 == 0 ? "" : " rounding=torch"),
                      kArchitectures[turn % 4]});
    }
  }
  expect_each_good(jobs);
}

TEST_F(GluCompile, EveryLayoutOfEveryPass) {
  std::vector<Job> jobs;
  for (const char* layout : {"halves", "swapped", "interleaved", "blocks", "split"}) {
    for (const char* pass : kPasses) {
      for (const char* rest :
           {"width=4096", "width=96 bias=f32", "width=96 scale=f32", "width=96 groups=3 counts=i64"}) {
        const std::size_t turn = jobs.size();
        jobs.push_back({cat("glu layout=", layout, " pass=", pass, " ", rest), kArchitectures[turn % 4]});
      }
    }
  }
  expect_each_good(jobs);
}

TEST_F(GluCompile, EveryKindOfSums) {
  std::vector<Job> jobs;
  for (const char* type : {"bf16", "f32"}) {
    for (const char* sums : {"bias_gradient=f32", "scale=f32", "bias_gradient=bf16 scale=f32 bias=bf16"}) {
      for (const char* layout : {"halves", "interleaved", "split"}) {
        const std::size_t turn = jobs.size();
        jobs.push_back({cat("glu pass=backward dtype=", type, " layout=", layout, " ", sums,
                            turn % 2 == 0 ? "" : " activation=gelu"),
                        kArchitectures[turn % 4]});
      }
    }
  }
  expect_each_good(jobs);
}

TEST_F(GluCompile, EveryKindOfScale) {
  std::vector<Job> jobs;
  for (const char* scaling : {"mx", "mx scale_layout=blocked mode=floor", "mx policy=te element=e5m2", "tensor", "row",
                              "row mode=exact", "block128", "block128 mode=exact element=e5m2"}) {
    for (const char* pass : {"forward", "backward", "forward layout=interleaved", "backward layout=interleaved"}) {
      for (const char* type : {"bf16", "f32"}) {
        const std::size_t turn = jobs.size();
        jobs.push_back({cat("glu scaling=", scaling, " pass=", pass, " dtype=", type), kArchitectures[turn % 4]});
      }
    }
  }
  expect_each_good(jobs);
}

TEST_F(GluCompile, EveryKindOfColumns) {
  std::vector<Job> jobs;
  for (const char* direction : {"col", "both"}) {
    for (const char* rest : {"scaling=mx", "scaling=mx scale_layout=blocked layout=interleaved activation=gelu",
                             "scaling=block128 layout=split bias=f32", "scaling=tensor layout=blocks scale=f32",
                             "scaling=mx pass=backward", "scaling=mx pass=backward layout=interleaved dtype=f32",
                             "scaling=mx pass=backward bias_gradient=f32 bias=bf16 activation=gelu_tanh",
                             "rows=4096 scaling=mx", "rows=4096 scaling=mx bias=f32 scale=f32 dtype=f16",
                             "rows=4096 scaling=mx pass=backward layout=interleaved"}) {
      const std::size_t turn = jobs.size();
      jobs.push_back({cat("glu direction=", direction, " ", rest), kArchitectures[turn % 4]});
    }
  }
  for (const char* rest : {"mx", "mx scale_layout=blocked layout=interleaved", "tensor layout=blocks bias=f32",
                           "block128 mode=exact dtype=f32", "mx rows=4096 layout=swapped activation=gelu"}) {
    const std::size_t turn = jobs.size();
    jobs.push_back({cat("glu pass=backward bias_gradient=f32 scaling=", rest), kArchitectures[turn % 4]});
  }
  for (const char* architecture : {"sm_90a", "sm_100a"}) {  // both gradients from one read
    for (const char* rest : {"", " layout=swapped activation=gelu", " bias_gradient=f32 bias=bf16"})
      jobs.push_back({cat("glu rows=4096 direction=both scaling=mx pass=backward", rest), architecture});
  }
  expect_each_costly_good(jobs);
}

// An access of each operand has 16 bytes, backward 8 if elements are many; of an interleaved one, half as many of out,
// twice.
TEST_F(GluCompile, RowsMoveInWideAccesses) {
  const Compiled forward = compile("glu width=4096", "sm_90a");
  EXPECT_EQ(accesses(forward, 0, false, 16), 2);
  EXPECT_EQ(accesses(forward, 0, true, 16), 1);
  EXPECT_EQ(widths(forward, 0, false), "16");
  const Compiled backward = compile("glu width=4096 pass=backward recompute=out", "sm_90a");
  EXPECT_EQ(accesses(backward, 0, false, 8), 3) << "narrower ones were faster";
  EXPECT_EQ(accesses(backward, 0, true, 8), 3);
  EXPECT_EQ(widths(backward, 0, false), "8");
  const Compiled few = compile("glu rows=222 width=1856 pass=backward", "sm_90a");
  EXPECT_EQ(accesses(few, 0, false, 8), 3);
  EXPECT_EQ(accesses(few, 0, true, 8), 2);
  const Compiled pairs = compile("glu width=4096 layout=interleaved", "sm_90a");
  EXPECT_EQ(accesses(pairs, 0, false, 16), 2);
  EXPECT_EQ(accesses(pairs, 0, true, 8), 2);
  EXPECT_EQ(widths(compile("glu width=4096", "sm_100a"), 0, false), "32");
}

// Found in review: lanes of a tile had eight adjacent elements each, in accesses that skipped every second sector.
TEST_F(GluCompile, TilesOfSumsMoveWholeSectors) {
  for (const char* type : {"bf16", "f32"}) {
    const Compiled tile = compile(cat("glu width=4096 pass=backward bias_gradient=f32 dtype=", type), "sm_90a");
    EXPECT_EQ(accesses(tile, 0, false, 16), 12) << "of one row of fp32, or two, before the loop and in it";
    EXPECT_EQ(parameter(tile, 0, "vector"), 16);
  }
}

// No extent is compiled in: one image for all problems whose rows take the same accesses.
TEST_F(GluCompile, AHundredShapesShareTwoImages) {
  std::vector<Job> jobs;
  for (int i = 0; i < 100; ++i)
    jobs.push_back({cat("glu rows=", 5000 + 91 * i, " width=", 8 * (1000 + i * 37)), "sm_90a"});
  EXPECT_EQ(images_of(jobs), 2U);
}

// Between 1 and 2^17, every magnitude as often.
int drawn_extent(std::uint64_t number) {
  const std::uint64_t random = random_at(22, number);
  return 1 + static_cast<int>(random % (std::uint64_t{1} << (random >> 32) % 18));
}

// Any rows and widths. Vectors have 16, 8 or 4 bytes, each for small problems and for large ones, whose hints and
// vectors in flight differ; a thread without vectors has 1, 2 or 4 elements, or forward 16 bytes across rows: 12 images
// with those in between. Backward vectors of 8 bytes of large problems are one or two in flight. Two, four or eight
// elements of a thread may be of several rows: 3 more, but not all of them among these.
TEST_F(GluCompile, AHundredDrawnShapesShareFewImages) {
  const std::pair<const char*, std::size_t> most[] = {{"forward", 12}, {"backward", 13}};
  for (const auto& [pass, bound] : most) {
    std::vector<Job> jobs;
    for (std::uint64_t i = 0; i < 100; ++i) {
      const int rows = drawn_extent(2 * i), width = drawn_extent(2 * i + 1);
      jobs.push_back({cat("glu rows=", rows, " width=", width, " pass=", pass), "sm_90a"});
    }
    const std::size_t images = images_of(jobs);
    EXPECT_LE(images, bound) << pass;
    EXPECT_GT(images, bound / 2) << pass << ": the shapes are of many kinds";
  }
}

}  // namespace
}  // namespace quern::test
