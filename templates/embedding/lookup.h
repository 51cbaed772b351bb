// The kernel that looks rows up: tuning space, default config, constants and launch.
#ifndef QUERN_EMBEDDING_LOOKUP_H_
#define QUERN_EMBEDDING_LOOKUP_H_

#include "embedding/embedding.h"
#include "quern/choice.h"

namespace quern::embedding {

inline constexpr const char* kHashes[] = {QUERN_EMBEDDING_HASHES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kModes[] = {QUERN_EMBEDDING_MODES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kPoolings[] = {QUERN_EMBEDDING_POOLINGS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kLayouts[] = {QUERN_EMBEDDING_LAYOUTS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kBags[] = {QUERN_EMBEDDING_BAGS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kPasses[] = {QUERN_EMBEDDING_PASSES(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kOptimizers[] = {QUERN_EMBEDDING_OPTIMIZERS(QUERN_CHOICE_NAME) nullptr};
inline constexpr const char* kRoundings[] = {QUERN_EMBEDDING_ROUNDINGS(QUERN_CHOICE_NAME) nullptr};

// In the order of kOperands of the family.
enum OperandNumber {
  kWeights,
  kIndex,
  kOffsets,
  kSampleWeights,
  kScales,
  kVocabularies,
  kDense,
  kOut,
  kReport,
  kGradient,
  kWeightsGradient,
  kUpdated,
  kMoments,
  kSquares,
  kDenseGradient,
  kSampleWeightsGradient,
  kWorkspace,
  kGivenScale,
  kOutScales,
  kLengths,
  kPacked,
  kPlaces
};
inline constexpr std::int32_t kElementCounts[] = {1, 2, 4, 8, 16, kNoMore};
inline constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
inline constexpr std::int32_t kThreadCounts[] = {64, 128, 256, 512, kNoMore};
inline constexpr std::int32_t kSwitch[] = {0, 1, kNoMore};

bool elements_divide(const Embedding& p, const Target&, const Config& c);
bool elements_fit(const Embedding& p, const Target&, const Config& c);
bool registers_suffice(const Embedding& p, const Target&, const Config& c);

struct Lookup {
  using Problem = Embedding;
  using Args = EmbeddingArgs;
  enum Parameters { kElements, kUnroll, kThreads, kLoadOnce, kStoreStream };  // in the order of kParameters
  template <bool (*F)(const Embedding&, const Target&, const Config&)>
  static constexpr auto holds = &holds_for<Embedding, F>;

  static constexpr Parameter kParameters[] = {
      {"elements", kElementCounts, true, "adjacent elements of a thread"},
      {"unroll", kUnrolls, true, "rows in flight per thread; pooled: ids of a bag"},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small"},
      {"load_once", kSwitch, true, "1: loads of rows are evict-first"},
      {"store_stream", kSwitch, true, "1: stores are evict-first"},
  };
  static constexpr Constraint kConstraints[] = {
      {"elements must divide dense, all dims and all strides", holds<elements_divide>},
      {"a thread's elements must fit 32 bytes, in out and in each table", holds<elements_fit>},
      {"elements times unroll must fit the registers: 128 bytes", holds<registers_suffice>},
  };

  static int variants(const Embedding& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);
  static std::uint32_t alignment(const Embedding& p, int operand, const Config& config);
  static void specialize(const Embedding& p, const Target& target, const Config& config, Spec& spec);
  static void launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch);
};

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_LOOKUP_H_
