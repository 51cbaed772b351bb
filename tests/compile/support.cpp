#include "compile/support.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

#include "api/configs.h"
#include "api/images.h"
#include "api/runtime_state.h"
#include "base/text.h"
#include "compiler/ptx.h"

namespace quern::test {
namespace {

constexpr int kThreads = 2;
// Half of what a block of 512 threads may have. Slots of 16 elements (32 bytes of bf16, sm_100a) that straddle rows and
// look up two broadcasts element by element take some more.
constexpr int kMostRegisters = 64;
constexpr int kMostRegistersOfWideSlots = 96;
// Tiles of mxfp8 keep 64 registers of source, in blocks of 128 threads; sm_80 converts to fp8 in integers.
constexpr int kMostRegistersOfTiles = 160;
constexpr int kMostRegistersOfTilesOfSm80 = 192;
// A multiprocessor's, and a tile's threads: where the config asks for blocks side by side, their share is the bound.
constexpr int kRegisters = 64 * 1024, kTileThreads = 128;
// Of the longest activations (mish) some numbers wait in local memory: faster than fewer blocks. So do a few where the
// last block of a bias gradient has much to read.
constexpr int kMostRegistersOfPrologues = 192;
constexpr int kMostSpillsOfPrologues = 320;
constexpr int kMostSpillsOfSums = 96;
// Blocks of 128 are shared by all warps of a tile, so a thread has its patch from before a barrier until after it:
// three blocks of 16 bits; as many as fit of fp32, whose patch is 128 registers, and where ends are cut. sm_80 has its
// conversions beside it.
constexpr int kMostRegistersOfLongBlocks = 168;
constexpr int kMostSpillsOfLongBlocks = 128;       // with sums, or ends that are cut
constexpr int kMostSpillsOfLongBlocksOfGlu = 384;  // of numbers that are made, element by element
constexpr int kMostSpillsOfLongBlocksOfSm80 = 768;
// moe_map and index_sort have up to 16 loads of counts in flight, with their addresses, and at most one block of 512
// threads on a multiprocessor.
constexpr int kMostRegistersOfMaps = 128;
// The gradient of probs keeps 64 bytes of a token beside as many of a row, which narrow reads put together; that of
// factors also the sums.
constexpr int kMostRegistersOfProbGradients = 128;
// Sums of scatter have eight rows in flight, or four in two parts, and know where the segments of a window are. The
// gradient of a scale of columns holds four rows of gradient, four of source and the scales in registers.
constexpr int kMostRegistersOfSegments = 128;
// A thread adds up the gradients of 8 pairs of columns, with two rows of three operands in flight: two blocks of 256
// threads.
constexpr int kMostRegistersOfGradientTiles = 128;
constexpr int kMostSpillsOfGradientTiles = 32;  // of barriers, mostly
constexpr int kMostSpillsOfGatedRows = 32;      // around the loops
// Eight elements of three operands, one by one, and the derivative of the longest activation.
constexpr int kMostRegistersOfGated = 80;
// embedding's gradients are sorted as index_sort does; what adds them up has a row's old numbers and its state beside
// two rows of gradients, and knows where long runs are, in two or three blocks of 256 threads.
constexpr int kMostRegistersOfRuns = 128;
constexpr int kMostSpillsOfScaledRows = 16;  // of barriers, where threads of dense parts and of tables meet
// A warp of interaction has the sums of 32 vectors beside what it loads, in blocks of 128 threads.
constexpr int kMostRegistersOfInteraction = 216;
constexpr int kMostSpillsOfInteraction = 64;  // around the loops
constexpr int kMostSpillsOfSegments = 256;    // around the code for long segments
constexpr int kMostSpillsOfGivenScales = 16;  // the division of any number by another takes two registers more

// Of programs of pointwise: blocks of 448 threads or more are alone on a multiprocessor. Sums pass from warp to warp in
// shared memory, eight for each thread.
constexpr int kMostRegistersOfReductions = 128;
constexpr int kMostSpillsOfReductions = 32;  // around the loop over rows
constexpr int kMostSharedOfReductions = 34 * 1024;

// Where ptxas has no instruction it may need a little memory: the reduction of huge arguments of sin and cos, and the
// conversions of fp8 before sm_89.
bool may_use_memory(const std::string& problem, const std::string& arch) {
  const auto has = [&](const char* words) { return problem.find(words) != std::string::npos; };
  return has("activation=sin") || has("activation=cos") ||
         (arch == "sm_80" && has("scale=") && (has("dtype=e4m3") || has("dtype=e5m2"))) ||
         (arch == "sm_80" && has("mxfp8"));
}

// Of the images that a prewarm of the problem compiles. None is compiled.
std::vector<std::string> keys_of(const Job& job) {
  std::vector<std::string> keys;
  RuntimeState& state = shared_runtime().state();
  const AnyProblem problem = shared_runtime().parse(job.problem);
  const Family& family = problem.family();
  const Target target = parse_target(job.arch);
  for (const ConfigPlace& place : places_for(state, family, target, {})) {
    for (const Choice& choice : select_configs(state, family, problem.data(), place, job.config)) {
      for (const Variant& variant : choice.variants)
        keys.push_back(key_of_image(state, {&family, choice.step, problem.data(), target, variant, true}).path());
    }
  }
  return keys;
}

Compiled compile_one(const Job& job) {
  try {
    const AnyProblem problem = shared_runtime().parse(job.problem);
    return {job, shared_runtime().prewarm(problem.family(), problem.data(), job.arch, {}, job.config), {}};
  } catch (const Error& error) {
    return {job, {}, error.what()};
  }
}

}  // namespace

int parameter(const Compiled& compiled, int image, const std::string& name) {
  for (std::string_view part : split(compiled.result.images.at(static_cast<std::size_t>(image)).config, ' ')) {
    const std::size_t equals = part.find('=');
    if (part.substr(0, equals) == name) return static_cast<int>(parse_integer(part.substr(equals + 1)).value_or(0));
  }
  return 0;
}

namespace {

// What the bounds of an image's resources depend on.
struct Kind {
  int resident;  // blocks that the config asks for; 0: none
  bool tile, prologue, sums, long_blocks, given_scale, tail, fp32, sm_80, wide_slots, map, prob_gradient, segments,
      gated, gradient_tile, gated_row, columns, interaction, runs, scaled_rows, reduction;
};

Kind kind_of(const Compiled& compiled, std::size_t i) {
  const std::string problem = compiled.job.problem + " ", arch = compiled.job.arch;
  const auto has = [&](const char* words) { return problem.find(words) != std::string::npos; };
  const int form = parameter(compiled, static_cast<int>(i), "form");
  const bool columns = has("glu ") && form == 2;  // mxfp8's tiles, of any length
  const bool long_blocks = has("scaling=block128"), prologue = has("prologue=") || columns;
  const bool rows = has("moe_permute ") || has("moe_unpermute ");  // 8 of them, and their numbers and factors
  const bool wide =
      rows || has("order=given") || (arch == "sm_100a" && (compiled.result.images[i].variant == "flat" || prologue));
  const bool column_gradient = has("pass=backward") && has("scale=") && !has("scale_of=rows");
  return {parameter(compiled, static_cast<int>(i), "resident"),
          (has("mxfp8 ") && form == 1) || columns,
          prologue,
          has("bias_gradient="),
          long_blocks,
          has("scaling=tensor"),
          has("tail=pad") || columns,
          has("dtype=f32"),
          arch == "sm_80",
          wide || (arch == "sm_80" && long_blocks),
          has("moe_map ") || has("index_sort "),
          has("pass=backward") && ((has("moe_unpermute ") && has("probs=")) || (has("moe_permute ") && has("scale="))),
          has("scatter ") && has("op=add") && (has("order=given") || column_gradient),
          (has("glu ") || has("pointwise ")) && has("pass=backward") && !columns,
          has("pass=backward") && !columns &&
              (has("bias_gradient=") || has("multiplier_gradient=") || (has("glu ") && has(" scale="))),
          has("glu ") && has("scaling=row"),
          columns,
          has("interaction "),
          has("embedding ") && has("pass=backward"),
          has("embedding ") && has("scaling="),
          has("sum(") || has("mean(") || has("max(x)") || has("max(s)") || has("sum_rows(") || has("sum_all(")};
}

int most_registers(const Kind& k) {
  if (k.map) return kMostRegistersOfMaps;
  if (k.reduction) return kMostRegistersOfReductions;
  if (k.interaction) return kMostRegistersOfInteraction;
  if (k.runs) return kMostRegistersOfRuns;
  if (k.prob_gradient) return kMostRegistersOfProbGradients;
  if (k.segments) return kMostRegistersOfSegments;
  if (k.gated) return k.gradient_tile ? kMostRegistersOfGradientTiles : kMostRegistersOfGated;
  if (!k.tile) return k.wide_slots ? kMostRegistersOfWideSlots : kMostRegisters;
  if (k.resident > 0) return kRegisters / kTileThreads / k.resident / 8 * 8;  // handed out by eights
  if (k.long_blocks) return k.sm_80 || k.fp32 || k.tail ? 255 : kMostRegistersOfLongBlocks;
  if (k.sm_80) return kMostRegistersOfTilesOfSm80;
  return k.prologue ? kMostRegistersOfPrologues : kMostRegistersOfTiles;
}

// Bytes written and read back.
int most_spills(const Kind& k) {
  if (k.long_blocks && k.sm_80) return kMostSpillsOfLongBlocksOfSm80;
  if (k.long_blocks && k.columns) return kMostSpillsOfLongBlocksOfGlu;
  if (k.long_blocks && (k.sums || k.tail)) return kMostSpillsOfLongBlocks;
  if (k.prologue) return kMostSpillsOfPrologues;
  if (k.sums) return kMostSpillsOfSums;
  if (k.segments) return kMostSpillsOfSegments;
  if (k.interaction) return kMostSpillsOfInteraction;
  if (k.reduction) return kMostSpillsOfReductions;
  if (k.gradient_tile) return kMostSpillsOfGradientTiles;
  if (k.gated_row) return kMostSpillsOfGatedRows;
  if (k.scaled_rows) return kMostSpillsOfScaledRows;
  return k.given_scale ? kMostSpillsOfGivenScales : 0;
}

void expect_good_image(const Compiled& compiled, std::size_t i) {
  const ImageInfo& image = compiled.result.images[i];
  const std::string& ptx = compiled.result.ptx[i];
  const std::string what =
      cat(compiled.job.problem, " ", compiled.job.arch, " ", image.variant, " ", compiled.job.config);
  const Resources& r = image.resources;
  const Kind kind = kind_of(compiled, i);
  EXPECT_GT(r.registers, 0) << what;
  EXPECT_LE(r.registers, most_registers(kind)) << what;
  if (const int spills = most_spills(kind); spills > 0) {
    EXPECT_LE(r.spill_store_bytes + r.spill_load_bytes, spills) << what;
  } else if (!may_use_memory(compiled.job.problem, compiled.job.arch)) {
    EXPECT_EQ(r.spill_store_bytes + r.spill_load_bytes, 0) << what;
    EXPECT_EQ(r.stack_bytes, 0) << what;
  } else {
    EXPECT_LE(r.stack_bytes, 64) << what;
  }
  EXPECT_LE(r.shared_bytes, kind.reduction ? kMostSharedOfReductions : 0) << what;
  EXPECT_NE(ptx.find(cat(".target ", compiled.job.arch)), std::string::npos) << what;
  EXPECT_NE(ptx.find(cat(".visible .entry quern_", compiled.job.problem.substr(0, compiled.job.problem.find(' ')))),
            std::string::npos)
      << what;
}

}  // namespace

Runtime& shared_runtime() {
  struct Shared {
    Shared() : runtime(options()) {}
    static Options options() {
      Options options;
      options.cache.mode = CacheMode::off;
      return options;
    }
    Runtime runtime;
  };
  static Shared shared;
  return shared.runtime;
}

void CompileTest::SetUp() {
  try {
    shared_runtime().state().compiler.nvrtc().nvrtc();
  } catch (const Error& error) {
    GTEST_SKIP() << error.sentence;
  }
}

std::vector<Compiled> CompileTest::compile(const std::vector<Job>& jobs) {
  std::vector<Compiled> all(jobs.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) all[i] = compile_one(jobs[i]);
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < kThreads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return all;
}

std::size_t CompileTest::images_of(const std::vector<Job>& jobs) {
  std::set<std::string> keys;
  std::vector<Job> first;
  for (const Job& job : jobs) {
    bool is_first = false;
    for (const std::string& key : keys_of(job)) is_first |= keys.insert(key).second;
    if (is_first) first.push_back(job);
  }
  for (const Compiled& one : compile(part_of(first))) EXPECT_EQ(one.error, "") << one.job.problem;
  return keys.size();
}

std::vector<Compiled> CompileTest::compile_with_and_without(const char* config, const std::vector<Job>& jobs) {
  std::vector<Job> both;
  for (const Job& job : part_of(jobs)) {
    both.push_back(job);
    both.push_back({job.problem, job.arch, config});
  }
  return compile(both);
}

std::uint64_t CompileTest::stride() {
  const char* const given = std::getenv("QUERN_TEST_STRIDE");  // NOLINT(concurrency-mt-unsafe)
  const std::int64_t stride = given == nullptr ? 1 : parse_integer(given).value_or(1);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, stride));
}

std::uint64_t CompileTest::hash_of(std::size_t i) {
  const std::uint64_t hash = (i + 1) * 0x9e3779b97f4a7c15U;
  return (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9U >> 32;
}

void CompileTest::expect_good(const std::vector<Compiled>& all) {
  std::size_t images = 0;
  int most = 0;
  for (const Compiled& compiled : all) {
    EXPECT_EQ(compiled.error, "") << compiled.job.problem << " " << compiled.job.arch;
    images += compiled.result.images.size();
    for (std::size_t i = 0; i < compiled.result.images.size(); ++i) {
      expect_good_image(compiled, i);
      most = std::max(most, compiled.result.images[i].resources.registers);
    }
  }
  std::printf("%zu problems, %zu images, at most %d registers\n", all.size(), images, most);
}

int accesses(const Compiled& compiled, int image, bool store, int bytes) {
  for (const Access& access : count_global_accesses(compiled.result.ptx.at(static_cast<std::size_t>(image)))) {
    if (access.store == store && access.bytes == bytes) return access.count;
  }
  return 0;
}

std::string widths(const Compiled& compiled, int image, bool store) {
  std::string text;
  for (const Access& access : count_global_accesses(compiled.result.ptx.at(static_cast<std::size_t>(image)))) {
    if (access.store == store) text += cat(text.empty() ? "" : " ", access.bytes);
  }
  return text;
}

}  // namespace quern::test
