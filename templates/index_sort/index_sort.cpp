#include "index_sort/index_sort.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "common/geometry.h"
#include "common/host_types.h"
#include "index_sort/params.h"
#include "quern_embedded/index_sort.h"
#include "sort/workspace.h"

namespace quern {
namespace {

using index_sort::kMostBits;
using sort::kFlag;

// In the order of kOperands.
enum Operands { kIndex, kOrder, kSorted, kWorkspace };
// In the order of kParameters.
enum Parameters { kBlocks, kThreads, kUnroll, kBits };
constexpr std::int32_t kBlockCounts[] = {0, 1, 8, 16, 32, 64, kNoMore};
constexpr std::int32_t kThreadCounts[] = {256, 512, 1024, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, 16, kNoMore};
constexpr std::int32_t kBitCounts[] = {4, 5, 6, 7, kMostBits, kNoMore};

constexpr std::int64_t kMostCount = (std::int64_t{1} << 31) - 1;
static_assert(kMostCount < kFlag, "keys and positions leave the highest bit of a word free");
constexpr std::int64_t kMostBlocks = 256;  // whose digits the workspace has room for
// Passes over 31 bits by the most bits of a digit. Narrower digits take more passes, but fewer entries.
constexpr std::int64_t kTableWords = 4 * kMostBlocks << kMostBits;
// Few items have narrow blocks of few items: 2048 of 50000 rows take 8.1 us on an H200 in 8 blocks of 256 threads. Of
// many, a block has more items, since it reads the digits of all blocks: 65536 of 8192 rows take 16.2 us with 1024
// items a block, with 2048 20.3, with 4096 31.0.
constexpr std::int64_t kFew = 4096;
constexpr std::int64_t kFewBlockItems = 256, kBlockItems = 1024;
bool is_few(const IndexSort& p) { return p.count <= kFew; }
// Up to so many a block of 512 threads has its part at once, with the 128 blocks of a large device. More have 1024
// threads: a second tile doubles what is read, 1048576 indices take 58.5 us on an H200, with 512 threads 89.6.
constexpr std::int64_t kMany = std::int64_t{1} << 19;
std::int32_t threads_of_many(const IndexSort& p) { return p.count == kOpen || p.count > kMany ? 1024 : 512; }

// Bits of a key: an index, or `rows`.
int key_bits(const IndexSort& p) {
  if (p.rows == kOpen) return 31;
  int bits = 1;
  while (p.rows >> bits != 0) ++bits;
  return bits;
}
int passes_of(const IndexSort& p, int bits) { return static_cast<int>(common::divide_up(key_bits(p), bits)); }
// The fewest passes, with digits of one size.
std::int32_t preferred_bits(const IndexSort& p) {
  const int passes = passes_of(p, kMostBits);
  return std::max(kBitCounts[0], (key_bits(p) + passes - 1) / passes);
}

Layout index_layout(const IndexSort& p) { return Layout::list(p.index, p.count); }
Layout order_layout(const IndexSort& p) { return Layout::list(i32, p.count); }
Layout workspace_layout(const IndexSort& p) {
  if (p.count == kOpen) return Layout::list(i32, kOpen);
  return Layout::list(i32, kTableWords + 4 * p.count + 3);
}

template <Layout (*F)(const IndexSort&)>
constexpr auto layout = &layout_of<IndexSort, F>;

bool registers_suffice(const IndexSort&, const Target&, const Config& c) {
  return sort::items_fit(c[kThreads], c[kUnroll]);
}

struct IndexSortFamily {
  using Problem = IndexSort;
  using Args = IndexSortArgs;
  static constexpr const char* kName = "index_sort";
  static constexpr const char* kSentence = "the order of indices by value, as a stable sort gives it";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(IndexSort, rows), true, "indices are below it; others are last"),
      extent_field("count", offsetof(IndexSort, count), true, "indices"),
      dtype_field("index", offsetof(IndexSort, index), only(i64) | only(i32), "type of the indices"),
  };
  static constexpr Operand kOperands[] = {
      {"index", Role::input, offsetof(IndexSortArgs, index), false, layout<index_layout>, "[count]", "the indices"},
      {"order", Role::output, offsetof(IndexSortArgs, order), false, layout<order_layout>, "[count]",
       "positions in index, by value"},
      {"sorted", Role::output, offsetof(IndexSortArgs, sorted), false, layout<order_layout>, "[count]",
       "the indices in that order; rows where one is not in [0, rows)"},
      {"workspace", Role::workspace, offsetof(IndexSortArgs, workspace), false, layout<workspace_layout>,
       "[262147 + 4 * count]", "scratch memory, zeros before the first launch"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(IndexSortArgs, rows), nullptr},
                                                    {"count", offsetof(IndexSortArgs, count), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"blocks", kBlockCounts, false,
       "most thread blocks; 0: one for each 256 of up to 4096 indices, else for each 1024"},
      {"threads", kThreadCounts, true, "threads per block"},
      {"unroll", kUnrolls, true, "indices that a thread has at once"},
      {"bits", kBitCounts, true, "bits of a key that a pass sorts by"},
  };
  static constexpr Constraint kConstraints[] = {
      {"threads times unroll must be at most 8192, to fit the registers", &holds_for<IndexSort, registers_suffice>},
  };
  static constexpr const char* kBenchCases[] = {
      "index_sort rows=8192 count=65536",
      "index_sort rows=65536 count=65536",
      "index_sort rows=1000000 count=1048576",
      "index_sort rows=50000 count=2048",
  };
  static constexpr const char* kDraws[] = {
      "rows=2..10000000",
      "count=1..4194304",
      "index=i64 | index=i32",
  };

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::index_sort_sources(); }

  static std::string check(const IndexSort& p) {
    if (p.rows != kOpen && p.rows > kMostCount) return "rows must be fewer than 2^31: sorted has i32";
    if (p.count != kOpen && p.count > kMostCount) return "count must be fewer than 2^31: order has i32";
    return {};
  }

  static int variants(const IndexSort& p, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    int count = 0;
    const auto add = [&](const char* name, std::int32_t threads, std::int32_t unroll, bool (*fits)(const void*)) {
      Variant& variant = out[count++];
      variant.name = name;
      variant.config[kThreads] = threads;
      variant.config[kUnroll] = unroll;
      variant.config[kBits] = preferred_bits(p);
      variant.fits = fits;
    };
    const bool open = p.count == kOpen;
    if (open || is_few(p)) add("few", 256, 1, open ? &is_so<IndexSort, is_few> : nullptr);
    if (open || !is_few(p)) add("many", threads_of_many(p), 8, nullptr);
    return count;
  }

  static std::uint32_t alignment(const IndexSort&, int, const Config&) { return 1; }

  static void specialize(const IndexSort& p, const Target&, const Config& config, Spec& spec) {
    spec.integer("params_bytes", sizeof(index_sort::Params));
    spec.integer("max_threads", config[kThreads]);
    spec.integer("unroll", config[kUnroll]);
    spec.integer("bits", config[kBits]);
    spec.flag("wide_keys", false);
    spec.type("Index", common::spec_type(p.index));
  }

  static std::int64_t blocks_of(const IndexSort& p, const DeviceModel& model, const Config& config) {
    const std::int64_t most = std::min<std::int64_t>(kMostBlocks, model.multiprocessors);
    const std::int64_t enough = common::divide_up(p.count, is_few(p) ? kFewBlockItems : kBlockItems);
    const std::int64_t asked = config[kBlocks] == 0 ? enough : config[kBlocks];
    return std::clamp<std::int64_t>(asked, 1, most);
  }

  static void launch(const IndexSort& p, const Args& a, const DeviceModel& model, const Config& config,
                     Launch& launch) {
    const std::int64_t each =
        (p.count + blocks_of(p, model, config) * 32 - 1) / (blocks_of(p, model, config) * 32) * 32;
    const std::int64_t blocks = each == 0 ? 0 : (p.count + each - 1) / each;
    const auto words = [&](std::int64_t first) { return sort::words_at(a.workspace.data, first); };
    auto& params = launch.make_params<index_sort::Params>();
    params.index = a.index.data;
    params.out = {static_cast<unsigned*>(a.sorted.data), static_cast<unsigned*>(a.order.data)};
    params.table = words(0);
    params.spare[0] = {sort::pairs_at(a.workspace.data, kTableWords)};
    params.spare[1] = {sort::pairs_at(a.workspace.data, kTableWords + 2 * p.count)};
    params.ended = words(kTableWords + 4 * p.count);
    params.barrier = words(kTableWords + 4 * p.count + 1);
    params.rows = p.rows;
    params.count = static_cast<unsigned>(p.count);
    params.block_items = static_cast<unsigned>(each);
    params.passes = static_cast<unsigned>(passes_of(p, config[kBits]));
    launch.empty = p.count == 0;
    launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
    launch.grid[0] = static_cast<std::uint32_t>(std::max<std::int64_t>(1, blocks));
    launch.shared_bytes = sort::shared_bytes(config[kThreads], config[kUnroll], config[kBits]);
    launch.cooperative = blocks > 1;
  }

  static std::int64_t key_at(const IndexSort& p, const Args& a, std::int64_t i) {
    const std::int64_t index = common::read_integer(p.index, a.index.data, i);
    return index < 0 || index >= p.rows ? p.rows : index;
  }

  static void reference(const IndexSort& p, const Args& a) {
    // Key and position, so that no two are equal.
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(p.count));
    parallel_for(p.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        keys[static_cast<std::size_t>(i)] =
            static_cast<std::uint64_t>(key_at(p, a, i)) << 32 | static_cast<std::uint64_t>(i);
    });
    sort_in_parts(keys);
    parallel_for(p.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint64_t key = keys[static_cast<std::size_t>(i)];
        static_cast<std::int32_t*>(a.order.data)[i] = static_cast<std::int32_t>(key & 0xffffffffU);
        static_cast<std::int32_t*>(a.sorted.data)[i] = static_cast<std::int32_t>(key >> 32);
      }
    });
  }

  static constexpr std::int64_t kGrain = 1 << 16;

  // Parts on threads of their own, and then pairs of neighbours.
  static void sort_in_parts(std::vector<std::uint64_t>& keys) {
    constexpr std::int64_t kParts = 16;
    const auto size = static_cast<std::int64_t>(keys.size());
    const auto at = [&](std::int64_t part) { return keys.begin() + size * part / kParts; };
    const std::int64_t grain = size < kGrain ? kParts : 1;
    parallel_for(kParts, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) std::sort(at(part), at(part + 1));
    });
    for (std::int64_t n = 1; n < kParts; n *= 2) {
      parallel_for(kParts / n / 2, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t pair = begin; pair < end; ++pair)
          std::inplace_merge(at(2 * pair * n), at((2 * pair + 1) * n), at((2 * pair + 2) * n));
      });
    }
  }

  static Tolerance tolerance(const IndexSort&, int) { return {0, 0, true}; }
  static std::int64_t bytes(const IndexSort& p) { return p.count * (quern::bytes(p.index) + 8); }

  // In benchmarks, seed 1, uniform. Else some are not in [0, rows), and of every second seed most are few different
  // ones.
  static bool generate(const IndexSort& p, int operand, std::uint64_t seed, void* data) {
    if (operand != kIndex) return false;
    const std::uint64_t problem = seed / kSeedsOfProblem;
    const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(1, p.rows));
    const auto index_at = [&](std::int64_t i) {
      const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
      const bool few = problem % 2 == 0 && random % 8 != 0;
      const auto index = static_cast<std::int64_t>((random >> 8) % (few ? std::min<std::uint64_t>(rows, 3) : rows));
      if (problem != 1 && random % 16 == 1) return p.rows + static_cast<std::int64_t>(random >> 8 & 1);
      if (problem != 1 && random % 16 == 2) return -1 - static_cast<std::int64_t>(random >> 8 & 1);
      return index;
    };
    const std::int64_t most = p.index == i32 ? (std::int64_t{1} << 31) - 1 : std::numeric_limits<std::int64_t>::max();
    parallel_for(p.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) common::write_integer(p.index, data, i, std::min(most, index_at(i)));
    });
    return true;
  }
};

}  // namespace

const Family& IndexSort::family() {
  static const Family family = make_family<IndexSortFamily>();
  return family;
}

}  // namespace quern
