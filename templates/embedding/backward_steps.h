// The kernels of the backward pass: tuning spaces, default configs, constants and launches.
#ifndef QUERN_EMBEDDING_BACKWARD_STEPS_H_
#define QUERN_EMBEDDING_BACKWARD_STEPS_H_

#include "embedding/backward.h"
#include "embedding/lookup.h"
#include "sort/workspace.h"

namespace quern::embedding {

template <bool (*F)(const Embedding&, const Target&, const Config&)>
inline constexpr auto holds = &holds_for<Embedding, F>;

inline constexpr std::int32_t kLaneCounts[] = {1, 2, 4, 8, 16, 32, kNoMore};
inline constexpr std::int32_t kSlotElements[] = {1, 2, 4, 8, kNoMore};

// What the gradients need of a bag besides its offsets.
struct ReadBags {
  using Problem = Embedding;
  using Args = EmbeddingArgs;
  enum Parameters { kElements, kLanes, kThreads };

  static bool has_slots(const Embedding& p, const Config&) { return is_weighted(p); }
  static constexpr auto kOfSlots = &applies_to<Embedding, has_slots>;
  static bool elements_divide(const Embedding& p, const Target&, const Config& c);
  static bool lanes_have_a_row(const Embedding& p, const Target&, const Config& c);

  static constexpr Parameter kParameters[] = {
      {"elements", kSlotElements, true, "adjacent elements of a thread", kOfSlots, 1},
      {"lanes", kLaneCounts, true, "adjacent threads that share a bag; of pooling=max 32", kOfSlots, 32},
      {"threads", kThreadCounts, false, "threads per block; fewer where a problem is small"},
  };
  static constexpr Constraint kConstraints[] = {
      {"elements must divide dense, all dims and all strides, and fit 32 bytes in out and in each table",
       holds<elements_divide>},
      {"fewer than 32 lanes need rows of at most lanes times elements", holds<lanes_have_a_row>},
  };

  static int variants(const Embedding& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);
  static std::uint32_t alignment(const Embedding& p, int operand, const Config& config);
  static void specialize(const Embedding& p, const Target& target, const Config& config, Spec& spec);
  static void launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch);
};

// A radix sort of the ids by the rows that they name.
struct SortIds {
  using Problem = Embedding;
  using Args = EmbeddingArgs;
  enum Parameters { kThreads, kUnroll, kBits };
  static constexpr std::int32_t kSortThreads[] = {256, 512, 1024, kNoMore};
  static constexpr std::int32_t kSortUnrolls[] = {1, 2, 4, 8, 16, kNoMore};
  static constexpr std::int32_t kBitCounts[] = {4, 5, 6, 7, 8, kMostBits, kNoMore};

  static bool threads_have_digits(const Embedding&, const Target&, const Config& c) {
    return 1 << c[kBits] <= c[kThreads];
  }

  static bool registers_suffice(const Embedding&, const Target&, const Config& c) {
    return sort::items_fit(c[kThreads], c[kUnroll]);
  }

  static constexpr Parameter kParameters[] = {
      {"threads", kSortThreads, true, "threads per block"},
      {"unroll", kSortUnrolls, true, "ids that a thread has at once"},
      {"bits", kBitCounts, true, "bits of a key that a pass sorts by"},
  };
  static constexpr Constraint kConstraints[] = {
      {"a block must have a thread for each digit: at most log2(threads) bits", holds<threads_have_digits>},
      {"threads times unroll must be at most 8192, to fit the registers", holds<registers_suffice>},
  };

  static int variants(const Embedding& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);
  static std::uint32_t alignment(const Embedding&, int, const Config&) { return 1; }
  static void specialize(const Embedding& p, const Target& target, const Config& config, Spec& spec);
  static void launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch);
};

// The sums of the gradients of each row, and its update.
struct SumRows {
  using Problem = Embedding;
  using Args = EmbeddingArgs;
  enum Parameters { kElements, kLanes, kBatch, kPositions, kThreads, kResident };
  static constexpr std::int32_t kBatches[] = {1, 2, 4, kNoMore};
  static constexpr std::int32_t kPositionCounts[] = {2, 8, 32, kNoMore};
  static constexpr std::int32_t kSumThreads[] = {128, 256, 512, kNoMore};
  static constexpr std::int32_t kResidents[] = {1, 2, 3, 4, 6, 8, kNoMore};

  static bool elements_divide(const Embedding& p, const Target&, const Config& c);
  static bool lanes_have_a_row(const Embedding& p, const Target&, const Config& c);
  static bool blocks_are_resident(const Embedding&, const Target& target, const Config& c);

  static constexpr Parameter kParameters[] = {
      {"elements", kSlotElements, true, "adjacent elements of a thread"},
      {"lanes", kLaneCounts, true, "adjacent threads that share a row"},
      {"batch", kBatches, true, "gradients of a row, or rows of one or two ids, that are read before they are added"},
      {"positions", kPositionCounts, true, "sorted ids for a warp"},
      {"threads", kSumThreads, true, "threads per block"},
      {"resident", kResidents, true, "blocks of a multiprocessor: fewer have more registers"},
  };
  static constexpr Constraint kConstraints[] = {
      {"elements must divide dense, all dims and all strides, and fit 32 bytes in out and in each table",
       holds<elements_divide>},
      {"fewer than 32 lanes need rows of at most lanes times elements", holds<lanes_have_a_row>},
      {"a multiprocessor must have room for resident blocks of so many threads", holds<blocks_are_resident>},
  };

  static int variants(const Embedding& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]);
  static std::uint32_t alignment(const Embedding& p, int operand, const Config& config);
  static void specialize(const Embedding& p, const Target& target, const Config& config, Spec& spec);
  static void launch(const Embedding& p, const Args& a, const DeviceModel& model, const Config& config, Launch& launch);
};

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_STEPS_H_
