#include "hash_table/hash_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "common/geometry.h"
#include "common/host_types.h"
#include "common/scattered.h"
#include "hash/reference.h"
#include "hash_table/data.h"
#include "hash_table/params.h"
#include "hash_table/problem.h"
#include "quern_embedded/hash_table.h"

namespace quern {
namespace {

using hash::Entry;
using hash_table::capacity_of;

constexpr const char* kOps[] = {QUERN_HASH_TABLE_OPS(QUERN_CHOICE_NAME) nullptr};

// In the order of kOperands.
enum Operands { kKeys, kTable, kOut, kWorkspace };
// In the order of kParameters; the insertion has the first one alone.
enum Parameters { kThreads, kUnroll, kVector };
constexpr std::int32_t kThreadCounts[] = {64, 128, 256, common::kMaxThreads, kNoMore};
constexpr std::int32_t kUnrolls[] = {1, 2, 4, 8, kNoMore};
constexpr std::int32_t kVectors[] = {8, 16, kNoMore};

bool builds(const HashTable& p) { return p.op == HashTableOp::build; }
bool finds(const HashTable& p) { return p.op == HashTableOp::find; }

Layout keys_layout(const HashTable& p) { return Layout::list(p.dtype, p.count); }
Layout entries_layout(const HashTable& p) { return Layout::matrix(i64, capacity_of(p), 2, 2); }
Layout table_layout(const HashTable& p) { return finds(p) ? entries_layout(p) : Layout::list(DType::none, 0); }
Layout out_layout(const HashTable& p) { return finds(p) ? Layout::list(i64, p.count) : entries_layout(p); }
Layout workspace_layout(const HashTable& p) {
  return finds(p) ? Layout::list(DType::none, 0) : Layout::list(i32, capacity_of(p));
}

template <Layout (*F)(const HashTable&)>
constexpr auto layout = &layout_of<HashTable, F>;

template <class Params>
void specialize_step(const HashTable& p, Spec& spec) {
  spec.integer("params_bytes", sizeof(Params));
  spec.integer("max_threads", common::kMaxThreads);
  spec.type("Key", common::spec_type(p.dtype));
}

unsigned mask_of(const HashTable& p) { return static_cast<unsigned>(capacity_of(p) - 1); }

constexpr Parameter kThreadsParameter = {"threads", kThreadCounts, false,
                                         "threads per block; fewer where a problem is small"};

struct Insert {
  using Problem = HashTable;
  using Args = HashTableArgs;
  static constexpr Parameter kParameters[] = {kThreadsParameter};
  static constexpr Table<Constraint> kConstraints{};

  static int variants(const HashTable&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    out[0].name = "key";
    out[0].config[kThreads] = 256;
    return 1;
  }
  static std::uint32_t alignment(const HashTable&, int, const Config&) { return 1; }
  static void specialize(const HashTable& p, const Target&, const Config&, Spec& spec) {
    specialize_step<hash_table::InsertParams>(p, spec);
  }
  static void launch(const HashTable& p, const Args& a, const DeviceModel& model, const Config& config,
                     Launch& launch) {
    launch.set_params(hash_table::InsertParams{a.keys.data, static_cast<unsigned*>(a.workspace.data),
                                               static_cast<unsigned>(p.count), mask_of(p)});
    common::launch_slots(static_cast<std::uint64_t>(p.count), 1, config[kThreads], model, launch);
  }
};

// The steps that move entries: in whole ones, or in halves where the table is aligned to 8 bytes only.
template <int Entries>
struct MovesEntries {
  using Problem = HashTable;
  using Args = HashTableArgs;
  static constexpr Parameter kParameters[] = {
      kThreadsParameter,
      {"unroll", kUnrolls, true, "slots, or keys that are looked up, of a thread at once"},
      {"vector", kVectors, true, "bytes per access of the table"},
  };
  static constexpr Table<Constraint> kConstraints{};

  static int variants(const HashTable&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    out[0].name = "entry";
    out[0].config[kThreads] = 256;
    out[0].config[kUnroll] = 4;
    out[0].config[kVector] = 16;
    out[1] = out[0];
    out[1].name = "half";
    out[1].config[kVector] = 8;
    return 2;
  }
  static std::uint32_t alignment(const HashTable&, int operand, const Config& config) {
    return operand == Entries ? static_cast<std::uint32_t>(config[kVector]) : 1;
  }
  template <class Params>
  static void specialize_entries(const HashTable& p, const Config& config, Spec& spec) {
    specialize_step<Params>(p, spec);
    spec.integer("unroll", config[kUnroll]);
    spec.integer("vector", config[kVector]);
  }
  static void launch_items(std::int64_t items, const DeviceModel& model, const Config& config, Launch& launch) {
    common::launch_slots(static_cast<std::uint64_t>(items), config[kUnroll], config[kThreads], model, launch);
  }
};

struct Write : MovesEntries<kOut> {
  static void specialize(const HashTable& p, const Target&, const Config& config, Spec& spec) {
    specialize_entries<hash_table::WriteParams>(p, config, spec);
  }
  static void launch(const HashTable& p, const Args& a, const DeviceModel& model, const Config& config,
                     Launch& launch) {
    launch.set_params(
        hash_table::WriteParams{a.keys.data, static_cast<unsigned*>(a.workspace.data), a.out.data, mask_of(p)});
    launch_items(capacity_of(p), model, config, launch);
  }
};

struct Find : MovesEntries<kTable> {
  static void specialize(const HashTable& p, const Target&, const Config& config, Spec& spec) {
    specialize_entries<hash_table::FindParams>(p, config, spec);
  }
  static void launch(const HashTable& p, const Args& a, const DeviceModel& model, const Config& config,
                     Launch& launch) {
    launch.set_params(
        hash_table::FindParams{a.keys.data, a.table.data, static_cast<long long*>(a.out.data), p.count, mask_of(p)});
    launch_items(p.count, model, config, launch);
  }
};

struct HashTableFamily {
  using Problem = HashTable;
  using Args = HashTableArgs;
  static constexpr const char* kName = "hash_table";
  static constexpr const char* kSentence = "a table on the device from keys to their first positions, and its look-up";

  static constexpr Field kFields[] = {
      choice_field("op", offsetof(HashTable, op), kOps, "build: the table; find: positions of keys in it"),
      extent_field("count", offsetof(HashTable, count), true, "keys"),
      extent_field("capacity", offsetof(HashTable, capacity), false,
                   "slots of the table, a power of two; build: at least 2 * count, 0: the least"),
      dtype_field("dtype", offsetof(HashTable, dtype), only(i64) | only(i32), "type of the keys"),
  };
  static constexpr Operand kOperands[] = {
      {"keys", Role::input, offsetof(HashTableArgs, keys), false, layout<keys_layout>, "[count]",
       "the keys of the table, or those to find"},
      {"table", Role::input, offsetof(HashTableArgs, table), true, layout<table_layout>, "[capacity, 2]",
       "find: what build wrote"},
      {"out", Role::output, offsetof(HashTableArgs, out), true, layout<out_layout>, "[capacity, 2]; find: [count]",
       "a key and its position for each slot, 0 and -1 where it is empty; find: positions, 0 where there is none"},
      {"workspace", Role::workspace, offsetof(HashTableArgs, workspace), false, layout<workspace_layout>, "[capacity]",
       "build: scratch memory, zeros before the first launch"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"count", offsetof(HashTableArgs, count), nullptr}};
  static constexpr const char* kBenchCases[] = {
      "hash_table count=1000000",
      "hash_table count=1000000 dtype=i32",
      "hash_table count=20000",
      "hash_table op=find count=1000000 capacity=2097152",
      "hash_table op=find count=65536 capacity=2097152",
      "hash_table op=find count=1000000 capacity=65536 dtype=i32",
  };
  static constexpr const char* kDraws[] = {
      "count=1..4194304",
      "op=build | op=find capacity=1024 | op=find capacity=65536 | op=find capacity=4194304",
      "dtype=i64 | dtype=i32",
  };

  static Table<Step> steps() {
    static constexpr Step kSteps[] = {
        make_step<Insert>("insert", "hash_table/insert.cu", &is_so<HashTable, builds>),
        make_step<Write>("write", "hash_table/write.cu", &is_so<HashTable, builds>),
        make_step<Find>("find", "hash_table/find.cu", &is_so<HashTable, finds>),
    };
    return kSteps;
  }
  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::hash_table_sources(); }
  static std::string check(const HashTable& p) { return hash_table::check(p); }

  static void reference(const HashTable& p, const Args& a) {
    if (finds(p)) return find_reference(p, a);
    hash::build_reference(
        p.count, [&](std::int64_t i) { return common::read_integer(p.dtype, a.keys.data, i); }, capacity_of(p),
        static_cast<Entry*>(a.out.data));
  }

  // By binary search, without the order of the slots.
  static void find_reference(const HashTable& p, const Args& a) {
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    const auto* const entries = static_cast<const Entry*>(a.table.data);
    for (std::int64_t i = 0; i < p.capacity; ++i) {
      if (entries[i].position >= 0) found.emplace_back(entries[i].key, entries[i].position);
    }
    std::sort(found.begin(), found.end());
    parallel_for(p.count, std::int64_t{1} << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::pair<std::int64_t, std::int64_t> key = {common::read_integer(p.dtype, a.keys.data, i), 0};
        const auto at = std::lower_bound(found.begin(), found.end(), key);
        static_cast<std::int64_t*>(a.out.data)[i] = at != found.end() && at->first == key.first ? at->second : 0;
      }
    });
  }

  static Tolerance tolerance(const HashTable&, int) { return {0, 0, true}; }

  static std::int64_t bytes(const HashTable& p) {
    const std::int64_t key = quern::bytes(p.dtype), entry = sizeof(Entry);
    if (builds(p)) return p.count * key + capacity_of(p) * entry;
    return p.count * (key + 8) + common::scattered_bytes(p.count, entry, p.capacity * entry);
  }

  static bool generate(const HashTable& p, int operand, std::uint64_t seed, void* data) {
    if (operand == kKeys)
      hash_table::generate_keys(p, seed, data);
    else
      hash_table::generate_table(p, seed, static_cast<Entry*>(data));
    return true;
  }
};

}  // namespace

const Family& HashTable::family() {
  static const Family family = make_family<HashTableFamily>();
  return family;
}

}  // namespace quern
