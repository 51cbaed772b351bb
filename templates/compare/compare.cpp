#include "compare/compare.h"

#include <algorithm>
#include <cstddef>

#include "common/host_types.h"
#include "compare/params.h"
#include "quern_embedded/compare.h"

namespace quern {
namespace {

enum Parameters { kVector, kUnroll, kThreads };
constexpr std::int32_t kVectors[] = {1, 16, kNoMore};
constexpr std::int32_t kUnrolls[] = {4, kNoMore};
constexpr std::int32_t kThreadCounts[] = {256, kNoMore};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;  // of one grid, with one byte per access

Layout range_layout(const Compare& p) { return Layout::list(u8, p.bytes); }
Layout first_layout(const Compare&) { return Layout::list(i64, 1); }

template <Layout (*F)(const Compare&)>
constexpr auto layout = &layout_of<Compare, F>;

struct CompareFamily {
  using Problem = Compare;
  using Args = CompareArgs;
  static constexpr const char* kName = "compare";
  static constexpr const char* kSentence = "the first byte in which two ranges differ";

  static constexpr Field kFields[] = {extent_field("bytes", offsetof(Compare, bytes), true, "of each range")};
  static constexpr Operand kOperands[] = {
      {"a", Role::input, offsetof(CompareArgs, a), true, layout<range_layout>, "[bytes]", "one range"},
      {"b", Role::input, offsetof(CompareArgs, b), true, layout<range_layout>, "[bytes]", "the other"},
      {"first", Role::update, offsetof(CompareArgs, first), false, layout<first_layout>, "[1]",
       "-1, or the first byte that differs"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"bytes", offsetof(CompareArgs, bytes), nullptr}};
  static constexpr Parameter kParameters[] = {
      {"vector", kVectors, true, "bytes per access"},
      {"unroll", kUnrolls, true, "accesses of each range in flight in a thread"},
      {"threads", kThreadCounts, true, "threads in a block"},
  };
  static constexpr Table<Constraint> kConstraints{};
  static constexpr const char* kBenchCases[] = {"compare bytes=268435456"};

  static Table<Scalar> scalars() { return {}; }
  static Table<SourceFile> sources() { return embedded::compare_sources(); }

  static std::string check(const Compare& p) {
    return p.bytes > kMostBytes ? "bytes is too large: one launch compares 2^40" : std::string();
  }

  static int variants(const Compare&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    Config config;
    config[kVector] = 16;
    config[kUnroll] = 4;
    config[kThreads] = 256;
    out[0] = {"vector", config};
    config[kVector] = 1;
    out[1] = {"byte", config};
    return 2;
  }
  static std::uint32_t alignment(const Compare&, int, const Config& config) {
    return static_cast<std::uint32_t>(config[kVector]);
  }

  static void specialize(const Compare&, const Target&, const Config& config, Spec& spec) {
    spec.integer("params_bytes", sizeof(compare::Params));
    spec.integer("vector", config[kVector]);
    spec.integer("unroll", config[kUnroll]);
    spec.integer("threads", config[kThreads]);
  }

  static void launch(const Compare& p, const Args& a, const DeviceModel&, const Config& config, Launch& launch) {
    const std::int64_t tile = std::int64_t{config[kVector]} * config[kUnroll] * config[kThreads];
    launch.empty = p.bytes == 0;
    launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
    launch.grid[0] = static_cast<std::uint32_t>((p.bytes + tile - 1) / tile);
    launch.set_params(compare::Params{a.a.data, a.b.data, static_cast<unsigned long long*>(a.first.data),
                                      static_cast<unsigned long long>(p.bytes)});
  }

  static void reference(const Compare& p, const Args& a) {
    const auto* one = static_cast<const unsigned char*>(a.a.data);
    const auto* other = static_cast<const unsigned char*>(a.b.data);
    const std::int64_t first = std::mismatch(one, one + p.bytes, other).first - one;
    auto& least = *static_cast<std::uint64_t*>(a.first.data);
    if (first != p.bytes) least = std::min(least, static_cast<std::uint64_t>(first));
  }

  static Tolerance tolerance(const Compare&, int) { return {0, 0, true}; }
  static std::int64_t bytes(const Compare& p) { return 2 * p.bytes; }
  static bool generate(const Compare&, int operand, std::uint64_t, void* data) {
    if (operand != 2) return false;
    common::write_integer(i64, data, 0, -1);
    return true;
  }
};

}  // namespace

const Family& Compare::family() {
  static const Family family = make_family<CompareFamily>();
  return family;
}

}  // namespace quern
