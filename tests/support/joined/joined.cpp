#include "joined/joined.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "joined/params.h"
#include "quern_embedded/joined.h"

namespace quern::test {
namespace {

struct Formula {
  std::string_view text;
  float (*value)(float x);
};
constexpr Formula kFormulas[] = {
    {"x", [](float x) { return x; }},
    {"x * x", [](float x) { return x * x; }},
    {"x < 0 ? 0 : x + 1", [](float x) { return x < 0 ? 0 : x + 1; }},
};
// Formulas without blanks are the same ones.
constexpr std::pair<std::string_view, Text<64>> kSpellings[] = {{"x*x", "x * x"}, {"x<0?0:x+1", "x < 0 ? 0 : x + 1"}};
std::string_view canonical(const void* value) {
  const auto* text = static_cast<const Text<64>*>(value);
  for (const auto& [spelling, formula] : kSpellings) {
    if (text->view() == spelling) text = &formula;
  }
  return {reinterpret_cast<const char*>(text), sizeof(text->count) + text->view().size()};
}

const Formula* find_formula(const Joined& p) {
  const std::string_view text = canonical(&p.formula).substr(sizeof(p.formula.count));
  const auto found = std::find_if(std::begin(kFormulas), std::end(kFormulas),
                                  [&](const Formula& formula) { return formula.text == text; });
  return found == std::end(kFormulas) ? nullptr : found;
}

std::int64_t width_of(const Joined& p) {
  return std::accumulate(p.widths.values, p.widths.values + p.widths.count, std::int64_t{0});
}

Layout source_layout(const Joined& p, int entry) {
  return Layout::matrix(f32, p.rows, p.widths[entry], p.widths[entry]);
}
Layout out_layout(const Joined& p) { return Layout::matrix(f32, p.rows, width_of(p), width_of(p)); }
int source_count(const void* p) { return static_cast<int>(static_cast<const Joined*>(p)->widths.count); }

struct JoinedFamily {
  using Problem = Joined;
  using Args = JoinedArgs;
  static constexpr const char* kName = "joined";
  static constexpr const char* kSentence = "matrices side by side, each element through a formula";

  static constexpr Field kFields[] = {
      extent_field("rows", offsetof(Joined, rows), true, "rows of every source"),
      list_field("widths", offsetof(Joined, widths), Joined{}.widths, 0, 1 << 20, "elements in a row of each source"),
      text_field("formula", offsetof(Joined, formula), Joined{}.formula, "what becomes of an element x", &canonical),
  };
  static constexpr Operand kOperands[] = {
      {"sources", Role::input, offsetof(JoinedArgs, sources), true, &layout_of<Joined, source_layout>,
       "[rows, widths[N]]", "what is put side by side", &source_count},
      {"out", Role::output, offsetof(JoinedArgs, out), true, &layout_of<Joined, out_layout>, "[rows, all widths]",
       "all of them"},
  };
  static constexpr Scalar kScalars[] = {
      {"add", offsetof(JoinedArgs, add), "to each element", nullptr, DType::i64},
      {"unused", offsetof(JoinedArgs, unused), "of no problem", [](const void*) { return false; }, DType::f64},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {{"rows", offsetof(JoinedArgs, rows), nullptr}};
  static constexpr std::int32_t kThreadCounts[] = {64, 128, kNoMore};
  static constexpr Parameter kParameters[] = {{"threads", kThreadCounts, false, "threads per block"}};
  static constexpr Table<Constraint> kConstraints{};
  static constexpr const char* kBenchCases[] = {"joined rows=64"};

  static Table<Scalar> scalars() { return kScalars; }
  static Table<SourceFile> sources() { return embedded::joined_sources(); }
  static std::string check(const Joined& p) {
    return find_formula(p) == nullptr ? "formula is not one that the reference knows" : "";
  }
  static int variants(const Joined&, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]) {
    out[0].name = "any";
    out[0].config[0] = 128;
    return 1;
  }
  static std::uint32_t alignment(const Joined&, int, const Config&) { return 4; }
  static void specialize(const Joined& p, const Target&, const Config&, Spec& spec) {
    spec.integer("params_bytes", sizeof(joined::Params));
    spec.integer("sources", p.widths.count);
    spec.source("formula.cuh",
                "#include \"common/device.cuh\"\nnamespace quern::joined {\nQUERN_DEVICE float formula("
                "float x) { return " +
                    std::string(find_formula(p)->text) + "; }\n}\n");
  }
  static void launch(const Joined& p, const Args& a, const DeviceModel&, const Config& config, Launch& launch) {
    joined::Params params{};
    for (int i = 0; i < p.widths.count; ++i) {
      params.sources[i] = static_cast<const float*>(a.sources.entries[i].data);
      params.first[i + 1] = params.first[i] + p.widths[i];
    }
    params.out = static_cast<float*>(a.out.data);
    params.rows = p.rows;
    params.add = a.add;
    launch.empty = p.rows * width_of(p) == 0;
    launch.block[0] = static_cast<std::uint32_t>(config[0]);
    launch.grid[0] = 8;
    launch.set_params(params);
  }
  static void reference(const Joined& p, const Args& a) {
    auto* out = static_cast<float*>(a.out.data);
    for (std::int64_t r = 0; r < p.rows; ++r) {
      for (int i = 0; i < p.widths.count; ++i) {
        const float* row = static_cast<const float*>(a.sources.entries[i].data) + r * p.widths[i];
        for (std::int64_t c = 0; c < p.widths[i]; ++c)
          *out++ = find_formula(p)->value(row[c]) + static_cast<float>(a.add);
      }
    }
  }
  static Tolerance tolerance(const Joined&, int) { return {}; }
  static std::int64_t bytes(const Joined& p) { return 8 * p.rows * width_of(p); }
  // Distinguishes the sources.
  static bool generate(const Joined& p, int, int entry, std::uint64_t seed, void* data) {
    auto* out = static_cast<float*>(data);
    for (std::int64_t i = 0; i < p.rows * p.widths[entry]; ++i)
      out[i] = static_cast<float>(static_cast<std::int64_t>(seed % 7) - 3 + 100 * entry + i % 50) / 4;
    return true;
  }
};

}  // namespace

const Family& Joined::family() {
  static const Family family = make_family<JoinedFamily>();
  return family;
}

}  // namespace quern::test
