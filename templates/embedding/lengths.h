// Bags by their lengths, on the host: a launch of its own makes offsets of them, in the workspace.
#ifndef QUERN_EMBEDDING_LENGTHS_H_
#define QUERN_EMBEDDING_LENGTHS_H_

#include <cstdint>
#include <vector>

#include "embedding/embedding.h"
#include "embedding/lookup.h"
#include "embedding/shape.h"

namespace quern::embedding {

// The first words of the workspace: the sums of blocks, a barrier and a counter, zeros between launches.
inline std::int64_t words_of_lengths(const Embedding& p) { return has_lengths(p) ? 2 * kMostSums + 2 : 0; }
// The offsets, two words each. The forward pass leaves them in the workspace, after these words; the backward pass
// clears them.
inline std::int64_t words_of_offsets(const Embedding& p) { return has_lengths(p) ? 2 * (bags_of(p) + 1) : 0; }
unsigned long long* made_offsets(const Embedding& p, const EmbeddingArgs& a);

// Where kernels find the offsets.
inline const void* offsets_at(const Embedding& p, const EmbeddingArgs& a) {
  return has_lengths(p) ? made_offsets(p, a) : a.offsets.data;
}
inline DType offset_type(const Embedding& p) { return has_lengths(p) ? i64 : p.offsets; }

// For references: the offsets of all bags, and the end of the last.
std::vector<std::int64_t> offsets_of(const Embedding& p, const EmbeddingArgs& a);

struct SumLengths {
  using Problem = Embedding;
  using Args = EmbeddingArgs;
  enum Parameters { kThreads, kUnroll };
  static constexpr std::int32_t kScanThreads[] = {256, 512, 1024, kNoMore};
  static_assert(kScanThreads[0] >= kMostSums, "a block has a thread for each block");

  static constexpr Parameter kParameters[] = {
      {"threads", kScanThreads, true, "threads per block"},
      {"unroll", kUnrolls, true, "bags of a thread that are loaded together"},
  };
  static constexpr Table<Constraint> kConstraints{};

  static int variants(const Embedding& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);
  static std::uint32_t alignment(const Embedding&, int, const Config&) { return 1; }
  static void specialize(const Embedding& p, const Target& target, const Config& config, Spec& spec);
  static void launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch);
};

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_LENGTHS_H_
