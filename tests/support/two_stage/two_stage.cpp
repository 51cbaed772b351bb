#include "two_stage/two_stage.h"

#include <algorithm>
#include <cstddef>

#include "quern_embedded/two_stage.h"
#include "two_stage/params.h"

namespace quern::test {
namespace {

constexpr std::int64_t kFew = 1000;
constexpr std::int32_t kVectors[] = {4, 16, kNoMore};
constexpr std::int32_t kThreadCounts[] = {32, 128, kNoMore};
enum Parameters { kVector, kThreads };

std::int64_t chunks_of(const TwoStage& p) {
  return p.count == kOpen ? kOpen : (p.count + two_stage::kChunk - 1) / two_stage::kChunk;
}

Layout x_layout(const TwoStage& p) { return Layout::list(f32, p.count); }
Layout chunks_layout(const TwoStage& p) { return Layout::list(f32, chunks_of(p)); }
Layout total_layout(const TwoStage& p) { return Layout::list(p.stages == 2 ? f32 : DType::none, 1); }

bool is_few(const TwoStage& p) { return p.count <= kFew; }
bool has_total(const TwoStage& p) { return p.stages == 2; }

// A chunk begins at a multiple of its length.
bool takes_vectors(const TwoStage&, const Target&, const Config& c) { return c[kVector] <= 16; }

void specialize_sum(const Config& config, Spec& spec) {
  spec.integer("params_bytes", sizeof(two_stage::Params));
  spec.integer("vector", config[kVector]);
}

// `length`: of a chunk.
void launch_sum(const void* x, void* sums, std::int64_t count, std::int64_t length, const Config& config,
                Launch& launch) {
  const std::int64_t chunks = (count + length - 1) / length;
  launch.empty = chunks == 0;
  launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
  launch.grid[0] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(chunks / config[kThreads], 1, 64));
  launch.set_params(two_stage::Params{static_cast<const float*>(x), static_cast<float*>(sums), count, length});
}

struct Chunks {
  using Problem = TwoStage;
  using Args = TwoStageArgs;
  static constexpr Parameter kParameters[] = {{"vector", kVectors, true, "bytes per load"},
                                              {"threads", kThreadCounts, false, "threads per block"}};
  static constexpr Constraint kConstraints[] = {{"vectors have up to 16 bytes", &holds_for<TwoStage, takes_vectors>}};

  static int variants(const TwoStage&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    Config config;
    config[kVector] = 16;
    config[kThreads] = 128;
    Config any;
    any[kVector] = 4;
    any[kThreads] = 32;
    out[0] = {"few", any, &is_so<TwoStage, is_few>};
    out[1] = {"vector", config};
    out[2] = {"any", any};
    return 3;
  }
  // Only x is read in vectors.
  static std::uint32_t alignment(const TwoStage&, int operand, const Config& config) {
    return operand == 0 ? static_cast<std::uint32_t>(config[kVector]) : 4;
  }
  static void specialize(const TwoStage&, const Target&, const Config& config, Spec& spec) {
    specialize_sum(config, spec);
  }
  static void launch(const TwoStage& p, const Args& a, const DeviceModel&, const Config& config, Launch& launch) {
    launch_sum(a.x.data, a.chunks.data, p.count, two_stage::kChunk, config, launch);
  }
};

struct Total {
  using Problem = TwoStage;
  using Args = TwoStageArgs;
  static constexpr Parameter kParameters[] = {{"vector", kVectors, true, "bytes per load"},
                                              {"threads", kThreadCounts, false, "threads per block"}};
  static constexpr Table<Constraint> kConstraints{};

  static int variants(const TwoStage&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    out[0].name = "any";
    out[0].config[kVector] = 4;
    out[0].config[kThreads] = 32;
    return 1;
  }
  static std::uint32_t alignment(const TwoStage&, int, const Config& config) {
    return static_cast<std::uint32_t>(config[kVector]);
  }
  static void specialize(const TwoStage&, const Target&, const Config& config, Spec& spec) {
    specialize_sum(config, spec);
  }
  static void launch(const TwoStage& p, const Args& a, const DeviceModel&, const Config& config, Launch& launch) {
    launch_sum(a.chunks.data, a.total.data, chunks_of(p), std::max<std::int64_t>(chunks_of(p), 1), config, launch);
  }
};

struct TwoStageFamily {
  using Problem = TwoStage;
  using Args = TwoStageArgs;
  static constexpr const char* kName = "two_stage";
  static constexpr const char* kSentence = "sums of chunks, and the sum of these";

  static constexpr Field kFields[] = {
      extent_field("count", offsetof(TwoStage, count), true, "numbers"),
      integer_field("stages", offsetof(TwoStage, stages), 1, 2, "1: sums of chunks alone"),
  };
  static constexpr Operand kOperands[] = {
      {"x", Role::input, offsetof(TwoStageArgs, x), true, &layout_of<TwoStage, x_layout>, "[count]", "the numbers"},
      {"chunks", Role::output, offsetof(TwoStageArgs, chunks), true, &layout_of<TwoStage, chunks_layout>,
       "[count / 256]", "the sum of each chunk"},
      {"total", Role::output, offsetof(TwoStageArgs, total), false, &layout_of<TwoStage, total_layout>, "[1]",
       "the sum of all"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"count", offsetof(TwoStageArgs, count), nullptr}};
  static constexpr const char* kBenchCases[] = {"two_stage count=4096"};

  static Table<Step> steps() {
    static constexpr Step kSteps[] = {
        make_step<Chunks>("chunks", "two_stage/chunks.cu"),
        make_step<Total>("total", "two_stage/total.cu", &is_so<TwoStage, has_total>),
    };
    return kSteps;
  }
  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::two_stage_sources(); }
  static std::string check(const TwoStage&) { return {}; }
  static void reference(const TwoStage& p, const Args& a) {
    const auto* x = static_cast<const float*>(a.x.data);
    auto* chunks = static_cast<float*>(a.chunks.data);
    float total = 0;
    for (std::int64_t c = 0; c < chunks_of(p); ++c) {
      chunks[c] = 0;
      for (std::int64_t i = c * two_stage::kChunk; i < std::min(p.count, (c + 1) * two_stage::kChunk); ++i)
        chunks[c] += x[i];
      total += chunks[c];
    }
    if (p.stages == 2) *static_cast<float*>(a.total.data) = total;
  }
  static Tolerance tolerance(const TwoStage&, int) { return {}; }
  static std::int64_t bytes(const TwoStage& p) { return 4 * (p.count + chunks_of(p)); }
  static bool generate(const TwoStage& p, int, std::uint64_t seed, void* data) {
    for (std::int64_t i = 0; i < p.count; ++i)
      static_cast<float*>(data)[i] = static_cast<float>((i + static_cast<std::int64_t>(seed)) % 9 - 4);
    return true;
  }
};

}  // namespace

const Family& TwoStage::family() {
  static const Family family = make_family<TwoStageFamily>();
  return family;
}

}  // namespace quern::test
